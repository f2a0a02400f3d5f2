package gateway

import (
	"net"
	"net/http"
	"net/netip"
	"os"
	"slices"
	"strconv"
	"strings"

	"bellwether/engine/dialect"
)

// caller is who sent a request, as far as the edge can tell.
type caller struct {
	key      *Key // nil = none presented or none that we know
	loopback bool // from this machine, not through a proxy
}

// mayManage reports whether the caller may change models (pull, delete ...).
func (c caller) mayManage() bool { return c.key != nil && c.key.Manage }

// app is the caller's name from its key, "" = tell by other means.
func (c caller) app() string {
	if c.key == nil {
		return ""
	}
	return c.key.Name
}

// edge decides who may come in. It is immutable.
//
//  1. The Host header must name this machine: a page of a rebound DNS name
//     carries its own name and is refused on every route.
//  2. A browser's Origin must be listed; the admin surface takes only its own.
//  3. From beyond loopback (or through a proxy) an API key is needed.
type edge struct {
	hosts   map[string]bool
	under   []string // ".example.org": every name below it
	origins []originPattern
	nets    []netip.Prefix // empty = any
	keys    func() []Key
}

func newEdge(c *Config, r *Rules) edge {
	e := edge{hosts: map[string]bool{"": true, "localhost": true}, under: []string{".localhost"}, keys: c.Keys}
	// How containers call the machine they run on. Not all of .internal, nor of
	// .local: whoever answers for names on the network could rebind those.
	for _, h := range []string{"host.docker.internal", "gateway.docker.internal", "host.containers.internal"} {
		e.addHost(h)
	}
	for _, own := range []string{hostname(), c.NodeName} {
		e.addHost(own)
		if own != "" && !strings.Contains(own, ".") {
			e.addHost(own + ".local")
		}
	}
	for _, h := range r.AllowedHosts {
		e.addHost(h)
	}
	for _, s := range r.CIDR {
		if p, err := netip.ParsePrefix(s); err == nil { // config checked them
			e.nets = append(e.nets, p.Masked())
		}
	}
	patterns := r.AllowedOrigins
	if patterns == nil {
		patterns = DefaultOrigins()
	}
	for _, p := range patterns {
		e.origins = append(e.origins, parseOrigin(p))
	}
	return e
}

// hostname is the machine's own name, "" if the system tells none.
func hostname() string {
	name, err := os.Hostname()
	if err != nil {
		return ""
	}
	return name
}

// addHost adds a name, or with *.example.org every name below one.
func (e *edge) addHost(h string) {
	h = strings.ToLower(strings.TrimSuffix(h, "."))
	switch below, isPattern := strings.CutPrefix(h, "*"); {
	case h == "":
	case isPattern:
		e.under = append(e.under, below)
	default:
		e.hosts[h] = true
	}
}

// DefaultOrigins are the origins of apps on this machine: pages served from
// it, editors and note apps with their own schemes, browser extensions.
func DefaultOrigins() []string {
	return []string{
		"http://localhost:*", "https://localhost:*", "http://127.0.0.1:*", "https://127.0.0.1:*",
		"http://[::1]:*", "https://[::1]:*", "http://0.0.0.0:*", "https://0.0.0.0:*",
		"app://*", "file://*", "tauri://*", "vscode-webview://*", "vscode-file://*",
		"chrome-extension://*", "moz-extension://*", "safari-web-extension://*",
	}
}

// originPattern is scheme://host with an optional :* or /*-like tail.
type originPattern struct {
	scheme  string
	host    string // "*" = any
	anyPort bool
}

func parseOrigin(p string) originPattern {
	if p == "*" {
		return originPattern{scheme: "*", host: "*", anyPort: true}
	}
	scheme, host, _ := strings.Cut(strings.ToLower(p), "://")
	o := originPattern{scheme: scheme, host: host}
	if h, ok := strings.CutSuffix(host, ":*"); ok {
		o.host, o.anyPort = h, true
	}
	return o
}

func (o originPattern) matches(scheme, host string) bool {
	if o.scheme != "*" && o.scheme != scheme {
		return false
	}
	if o.host == "*" || o.host == host {
		return true
	}
	if !o.anyPort {
		return false
	}
	port, ok := strings.CutPrefix(host, o.host)
	if port == "" {
		return ok
	}
	_, err := strconv.ParseUint(strings.TrimPrefix(port, ":"), 10, 16)
	return ok && port[0] == ':' && err == nil
}

// routerMark is the value of X-Fleet-Router on every answer. Nobody changes it.
var routerMark = []string{"bellwether"}

// admit checks one request and writes the CORS headers of an allowed origin.
func (e *edge) admit(w http.ResponseWriter, r *http.Request, path string) (caller, *dialect.Problem) {
	h := w.Header()
	h["X-Fleet-Router"] = routerMark
	if r.Header.Get("X-Fleet-Router") != "" {
		return caller{}, &dialect.Problem{Status: http.StatusLoopDetected, Code: "loop",
			Message: "This request was sent on by a Bellwether already.",
			Remedy:  "A runtime's address points at a Bellwether: set runtimes[].url to the runtime itself."}
	}
	if !e.hostAllowed(r.Host) {
		return caller{}, &dialect.Problem{Status: http.StatusForbidden, Code: "host_not_allowed",
			Message: "The Host name " + printable(r.Host) + " is not one of this machine's.",
			Remedy:  "Use localhost, or add the name to security.allowed_hosts."}
	}
	if p := e.checkOrigin(h, r, path); p != nil {
		return caller{}, p
	}
	c := caller{loopback: fromLoopback(r), key: e.keyOf(r)}
	if !c.loopback && !e.fromListedNet(r) {
		return c, &dialect.Problem{Status: http.StatusForbidden, Code: "address_not_allowed",
			Message: "Requests from this address are not let in.", Remedy: "The machine's owner can add its network to security.cidr."}
	}
	if c.loopback || c.key != nil || r.Method == http.MethodOptions {
		return c, nil
	}
	return c, &dialect.Problem{Status: http.StatusUnauthorized, Code: "invalid_api_key",
		Message: "Requests from other machines, or through a proxy, need an API key of this fleet.",
		Remedy:  "Send it as Authorization: Bearer KEY or x-api-key; keys are made under security.api_keys."}
}

func (e *edge) hostAllowed(host string) bool {
	name := host
	if h, _, err := net.SplitHostPort(host); err == nil {
		name = h
	}
	name = strings.ToLower(strings.TrimSuffix(strings.Trim(name, "[]"), "."))
	if e.hosts[name] || slices.ContainsFunc(e.under, func(u string) bool { return strings.HasSuffix(name, u) }) {
		return true
	}
	// An IP literal cannot be rebound: whoever dialled it dialled this machine.
	_, err := netip.ParseAddr(name)
	return err == nil
}

func (e *edge) checkOrigin(h http.Header, r *http.Request, path string) *dialect.Problem {
	origin := r.Header.Get("Origin")
	if origin == "" {
		return nil
	}
	h.Add("Vary", "Origin")
	scheme, host, whole := strings.Cut(strings.ToLower(origin), "://")
	if host == strings.ToLower(r.Host) {
		return nil // our own page
	}
	if ownsPath(path) { // for good: no setting opens it
		return &dialect.Problem{Status: http.StatusForbidden, Code: "origin_not_allowed",
			Message: "Web pages of " + printable(origin) + " may not use the admin surface; only its own may.",
			Remedy:  "Open its page at /ui/ of this address. A program of this machine uses the bellwether command."}
	}
	if !whole || !e.originListed(scheme, host) {
		return &dialect.Problem{Status: http.StatusForbidden, Code: "origin_not_allowed",
			Message: "Web pages of " + printable(origin) + " may not use this address.",
			Remedy:  "Its owner can add the origin to security.allowed_origins."}
	}
	h.Set("Access-Control-Allow-Origin", origin)
	h.Set("Access-Control-Expose-Headers", "*")
	if r.Method == http.MethodOptions {
		h.Set("Access-Control-Allow-Methods", "GET, POST, PUT, PATCH, DELETE, HEAD, OPTIONS")
		if asked := r.Header.Get("Access-Control-Request-Headers"); asked != "" {
			h.Set("Access-Control-Allow-Headers", asked)
		}
		if r.Header.Get("Access-Control-Request-Private-Network") == "true" {
			h.Set("Access-Control-Allow-Private-Network", "true")
		}
		h.Set("Access-Control-Max-Age", "600")
	}
	return nil
}

func (e *edge) originListed(scheme, host string) bool {
	for _, o := range e.origins {
		if o.matches(scheme, host) {
			return true
		}
	}
	return false
}

// fromLoopback reports whether a request comes from a program of this machine
// itself. One passed on by a proxy does not: the proxy's client is elsewhere.
func fromLoopback(r *http.Request) bool {
	if r.Header.Get("X-Forwarded-For") != "" || r.Header.Get("Forwarded") != "" {
		return false
	}
	ap, err := netip.ParseAddrPort(r.RemoteAddr)
	return err == nil && ap.Addr().Unmap().IsLoopback()
}

// fromListedNet reports whether a request's connection comes from one of the
// networks that may call.
func (e *edge) fromListedNet(r *http.Request) bool {
	if len(e.nets) == 0 {
		return true
	}
	ap, err := netip.ParseAddrPort(r.RemoteAddr)
	if err != nil {
		return false
	}
	for _, n := range e.nets {
		if n.Contains(ap.Addr().Unmap()) {
			return true
		}
	}
	return ap.Addr().IsLoopback() // a proxy of this machine; its key decides
}

func (e *edge) keyOf(r *http.Request) *Key {
	secret := r.Header.Get("x-api-key")
	if auth := r.Header.Get("Authorization"); len(auth) > 7 && strings.EqualFold(auth[:7], "bearer ") {
		secret = auth[7:]
	}
	if secret == "" || e.keys == nil {
		return nil
	}
	for _, k := range e.keys() {
		if k.Matches(secret) {
			return &k
		}
	}
	return nil
}
