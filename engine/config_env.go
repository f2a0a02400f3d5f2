package engine

import (
	"errors"
	"fmt"
	"net"
	"net/netip"
	"net/url"
	"slices"
	"strings"

	"bellwether/engine/runtime"
)

// Some variables set a part of a setting only.
const (
	varHost      = "FLEET_HOST"
	varPort      = "FLEET_PORT"
	varAPIKey    = "FLEET_ANTHROPIC_API_KEY"
	varPoolLimit = "FLEET_POOL_MEMORY_GB"
	varPoolSpare = "FLEET_POOL_MARGIN_GB"
	varOllama    = "OLLAMA_HOST" // Ollama's own: also set to make its tools speak to us
)

// variables reads the environment over the file. It keeps the settings that
// several variables share.
type variables struct {
	l     *loader
	names map[string]*Setting
	rank  map[string]int // by name: older names first, so that the documented one wins

	listen   string
	runtimes []RuntimeConfig
	pools    []PoolConfig
	keys     []APIKey
}

func newVariables(l *loader) *variables {
	v := &variables{l: l, names: map[string]*Setting{}, rank: map[string]int{}}
	for i := range settings {
		for j, name := range settings[i].Env {
			v.names[name], v.rank[name] = &settings[i], -j
		}
	}
	v.listen, _ = l.k.Get("listen").(string)
	v.runtimes, _ = l.k.Get("runtimes").([]RuntimeConfig)
	v.pools, _ = l.k.Get("pools").([]PoolConfig)
	v.keys, _ = l.k.Get("security.api_keys").([]APIKey)
	return v
}

// ordered returns the variables in the order they are to be read.
func (v *variables) ordered(environ []string) []string {
	sorted := slices.Clone(environ)
	slices.SortStableFunc(sorted, func(a, b string) int {
		an, _, _ := strings.Cut(a, "=")
		bn, _, _ := strings.Cut(b, "=")
		if c := v.rank[an] - v.rank[bn]; c != 0 {
			return c
		}
		return strings.Compare(an, bn)
	})
	return sorted
}

// read returns the key and value that a variable sets, no key for none.
func (v *variables) read(name, text string) (string, any) {
	s, ok := v.names[name]
	if !ok {
		v.warnUnknown(name)
		return "", nil
	}
	if text == "" {
		return "", nil
	}
	value, err := v.value(s, name, text)
	if err != nil {
		shown := text
		if name == varAPIKey {
			shown = hidden
		}
		v.l.wrong = append(v.l.wrong, wrongValue(s, name, shown, err))
		return "", nil
	}
	if value == nil {
		return "", nil
	}
	v.l.origin[s.Key] = "env " + name
	return s.Key, value
}

func (v *variables) warnUnknown(name string) {
	if !strings.HasPrefix(name, "FLEET_") {
		return
	}
	known := make([]string, 0, len(v.names))
	for n := range v.names {
		known = append(known, n)
	}
	slices.Sort(known)
	if near := nearest(name, known); near != "" {
		v.l.warn("%s is no setting; did you mean %s?", name, near)
		return
	}
	v.l.warn("%s is no setting and is ignored", name)
}

// value reads a variable; nil without error means that it does not count.
func (v *variables) value(s *Setting, name, text string) (any, error) {
	switch name {
	case varHost, varPort:
		return v.address(name, text)
	case varAPIKey:
		return v.apiKey(text)
	case varPoolLimit, varPoolSpare:
		return v.pool(name, text)
	}
	if s.Key == "runtimes" {
		return v.ollama(name, text)
	}
	return s.kind.text(text)
}

func (v *variables) address(name, text string) (any, error) {
	host, port, err := net.SplitHostPort(v.listen)
	if err != nil {
		return nil, err
	}
	if name == varHost {
		host = strings.Trim(text, "[]")
	} else {
		port = text
	}
	next := net.JoinHostPort(host, port)
	if err := validListen(next); err != nil {
		return nil, errors.New("not allowed; allowed: a host name or address in FLEET_HOST, a port from 0 to 65535 in FLEET_PORT")
	}
	v.listen = everyInterface(next)
	return v.listen, nil
}

func (v *variables) apiKey(text string) (any, error) {
	if err := validKey(text); err != nil {
		return nil, errors.New("not allowed; allowed: " + apiKeyKind.fields["key"].allowed())
	}
	v.keys = append(v.keys, APIKey{Name: "anthropic", Key: Secret(text)})
	return v.keys, nil
}

// pool changes the first pool, which stands for the main one if there is none.
func (v *variables) pool(name, text string) (any, error) {
	field := "memory_gb"
	if name == varPoolSpare {
		field = "margin_gb"
	}
	kind := poolKind.fields[field]
	value, err := kind.text(text)
	if err != nil {
		return nil, errors.New("not allowed; allowed: " + kind.allowed())
	}
	if len(v.pools) == 0 {
		v.pools = []PoolConfig{poolKind.start.(PoolConfig)}
	}
	if field == "memory_gb" {
		v.pools[0].MemoryGB = value.(float64)
	} else {
		v.pools[0].MarginGB = value.(float64)
	}
	return slices.Clone(v.pools), nil
}

// ollama gives the runtime named ollama its address. Ollama's own variable
// counts only where it can mean a server on this machine: people also set it
// to have Ollama's tools speak to a router, even to this one.
func (v *variables) ollama(name, text string) (any, error) {
	address, err := ollamaURL(text)
	if err != nil {
		return nil, err
	}
	if name == varOllama {
		if u, _ := url.Parse(address); u == nil || !isLoopback(u.Hostname()) || sameAddress(address, v.listen) {
			v.l.warn("%s=%s is not taken for a runtime: it is not an Ollama of this machine; declare it under runtimes if it is", name, text)
			return nil, nil
		}
	}
	if slices.ContainsFunc(v.runtimes, func(r RuntimeConfig) bool { return runtime.Place(r.URL) == runtime.Place(address) }) {
		return nil, nil // it is declared, by whatever name
	}
	i := slices.IndexFunc(v.runtimes, func(r RuntimeConfig) bool { return r.Name == "ollama" })
	if i < 0 {
		next := runtimeKind.start.(RuntimeConfig)
		next.Name, next.Kind = "ollama", "ollama"
		v.runtimes = append(v.runtimes, next)
		i = len(v.runtimes) - 1
	}
	v.runtimes[i].URL = address
	return slices.Clone(v.runtimes), nil
}

// ollamaURL reads an address as Ollama does: scheme and port may be missing,
// and an address to listen on everywhere is reached by loopback.
func ollamaURL(text string) (string, error) {
	text = strings.Trim(strings.TrimSpace(text), `"'`)
	scheme, rest, ok := strings.Cut(text, "://")
	port := "11434"
	switch {
	case !ok:
		scheme, rest = "http", text
	case scheme == "http":
		port = "80"
	case scheme == "https":
		port = "443"
	}
	hostport, path, _ := strings.Cut(rest, "/")
	host, given, err := net.SplitHostPort(hostport)
	if err != nil {
		host = strings.Trim(hostport, "[]")
	} else if given != "" {
		port = given
	}
	if addr, err := netip.ParseAddr(host); host == "" || err == nil && addr.IsUnspecified() {
		host = "127.0.0.1"
	}
	out := fmt.Sprintf("%s://%s", scheme, net.JoinHostPort(host, port))
	if path = strings.Trim(path, "/"); path != "" {
		out += "/" + path
	}
	if validURL(out) != nil {
		return "", errors.New("not allowed; allowed: host, host:port or http://host:port")
	}
	return out, nil
}

// isLoopback reports whether a host name or address is this machine only.
func isLoopback(host string) bool {
	host = strings.ToLower(strings.Trim(host, "[]"))
	if host == "localhost" || strings.HasSuffix(host, ".localhost") {
		return true
	}
	addr, err := netip.ParseAddr(host)
	return err == nil && addr.Unmap().IsLoopback()
}

// sameAddress reports whether a URL leads to the address we listen on.
func sameAddress(raw, listen string) bool {
	u, err := url.Parse(raw)
	if err != nil {
		return false
	}
	host, port, err := net.SplitHostPort(listen)
	if err != nil || port == "0" || portOf(u) != port {
		return false
	}
	ours := host == "" || host == "*" || isLoopback(host)
	if addr, err := netip.ParseAddr(host); err == nil && addr.IsUnspecified() {
		ours = true
	}
	return ours && isLoopback(u.Hostname()) || strings.EqualFold(u.Hostname(), host)
}

func portOf(u *url.URL) string {
	switch p := u.Port(); {
	case p != "":
		return p
	case u.Scheme == "https":
		return "443"
	}
	return "80"
}
