package engine

import (
	"encoding/hex"
	"errors"
	"fmt"
	"net"
	"net/netip"
	"net/url"
	"path"
	"slices"
	"strconv"
	"strings"
	"time"

	"go.yaml.in/yaml/v3"

	"bellwether/engine/fleet"
	"bellwether/engine/route"
)

// The valid... functions say what is wrong with a text; errValue when the
// kind's own description says all.

func notEmpty(s string) error {
	if strings.TrimSpace(s) == "" {
		return errors.New("the name is empty")
	}
	return nil
}

// validName is a name that can stand in node/runtime/model and in a header.
func validName(s string) error {
	for _, r := range s {
		if r <= ' ' || r == '/' || r == 0x7f || r > 0x2fff {
			return errValue
		}
	}
	if len(s) > 100 {
		return errValue
	}
	return nil
}

// validListen is host:port with a port from 0 (any free one) to 65535.
func validListen(s string) error {
	host, port, err := net.SplitHostPort(s)
	if err != nil {
		return errValue
	}
	if n, err := strconv.Atoi(port); err != nil || n < 0 || n > 65535 {
		return errValue
	}
	if host == "" || host == "*" {
		return nil
	}
	return validHost(host)
}

// everyInterface writes the address of every interface in one way.
func everyInterface(s string) string {
	host, port, err := net.SplitHostPort(s)
	if err == nil && (host == "" || host == "*") {
		return net.JoinHostPort("0.0.0.0", port)
	}
	return s
}

// validHost is a host name or an address, with or without a port.
func validHost(s string) error {
	host := s
	if h, port, err := net.SplitHostPort(s); err == nil {
		if n, err := strconv.Atoi(port); err != nil || n < 1 || n > 65535 {
			return errValue
		}
		host = h
	}
	if _, err := netip.ParseAddr(strings.Trim(host, "[]")); err == nil {
		return nil
	}
	if host == "" || strings.ContainsAny(host, " /\\:@?#[]") {
		return errValue
	}
	return nil
}

// validPeer is a host, also written as a URL, as an earlier fleet router had it.
func validPeer(s string) error {
	if u, err := url.Parse(s); err == nil && u.Scheme != "" && u.Host != "" {
		s = u.Host
	}
	return validHost(s)
}

// validHostPattern is a host name that may begin with *.
func validHostPattern(s string) error {
	return validHost(strings.TrimPrefix(s, "*."))
}

// validOrigin is an Origin header's value, with * for the host or the port.
func validOrigin(s string) error {
	scheme, host, ok := strings.Cut(s, "://")
	if s == "*" {
		return errors.New("not allowed alone: every web page could use your models; name each origin")
	}
	if !ok || scheme == "" || host == "" || strings.ContainsAny(scheme, " */:") || strings.ContainsAny(host, " /?#@") {
		return errValue
	}
	return nil
}

func validCIDR(s string) error {
	if _, err := netip.ParsePrefix(s); err == nil {
		return nil
	}
	if _, err := netip.ParseAddr(s); err == nil {
		return nil // a single machine
	}
	return errValue
}

// validURL is the address of a runtime.
func validURL(s string) error {
	u, err := url.Parse(s)
	if err != nil || (u.Scheme != "http" && u.Scheme != "https") || u.Host == "" || u.Hostname() == "" {
		return errValue
	}
	if u.User != nil || u.RawQuery != "" || u.Fragment != "" {
		return errors.New("not allowed: only scheme, host, port and path; a key goes to api_key")
	}
	return nil
}

func validPattern(s string) error {
	if _, err := path.Match(s, ""); err != nil {
		return errValue
	}
	return nil
}

func validCapability(s string) error {
	if slices.Contains(fleet.AllCapabilities, fleet.Capability(s)) {
		return nil
	}
	names := make([]string, len(fleet.AllCapabilities))
	for i, c := range fleet.AllCapabilities {
		names[i] = string(c)
	}
	return unknownWord("capability", s, names)
}

// validTask accepts the tasks that quality is told apart by, and any.
func validTask(s string) error {
	if s == "any" || fleet.IsTask(s) {
		return nil
	}
	return unknownWord("task", s, append(slices.Clone(fleet.Tasks), "any"))
}

// unknownWord says that a name is none of those there are, and which one was
// meant, else which there are.
func unknownWord(what, name string, known []string) error {
	if near := nearest(name, known); near != "" {
		return fmt.Errorf("no such %s; did you mean %s?", what, near)
	}
	return fmt.Errorf("no such %s; there are %s", what, strings.Join(known, ", "))
}

func validKey(s string) error {
	if digest, ok := strings.CutPrefix(s, keyDigestPrefix); ok {
		if raw, err := hex.DecodeString(digest); err != nil || len(raw) != 32 {
			return errValue
		}
		return nil
	}
	if len(s) < 8 || strings.ContainsAny(s, " \t\r\n") {
		return errValue
	}
	return nil
}

// validHours is [days] from-to, such as "mon-fri 09:00-17:30" or "22:00-07:00".
func validHours(s string) error {
	days, hours, ok := strings.Cut(strings.ToLower(s), " ")
	if !ok {
		days, hours = "", days
	}
	from, to, ok := strings.Cut(strings.TrimSpace(hours), "-")
	_, err1 := time.Parse("15:04", from)
	_, err2 := time.Parse("15:04", to)
	if !ok || err1 != nil || err2 != nil && to != "24:00" {
		return errValue
	}
	for day := range strings.SplitSeq(days, "-") {
		if days != "" && !strings.Contains(" mon tue wed thu fri sat sun ", " "+day+" ") {
			return errValue
		}
	}
	return nil
}

// triKind is yes, no or unknown.
type triKind struct{}

func (k triKind) text(s string) (any, error) {
	switch strings.ToLower(strings.TrimSpace(s)) {
	case "unknown":
		return fleet.Unknown, nil
	case "supported":
		return fleet.Yes, nil
	case "unsupported":
		return fleet.No, nil
	}
	b, err := flagKind{}.text(s)
	if err != nil {
		return nil, err
	}
	return fleet.TriOf(b.(bool)), nil
}
func (k triKind) node(n *yaml.Node) (any, error) { return scalarNode(k, n) }
func (k triKind) check(any) error                { return nil }
func (k triKind) allowed() string                { return "yes, no, unknown" }
func (k triKind) show(v any) any                 { return v.(fleet.Tri).String() }

// choiceOrURL is an http(s) URL, or off.
type choiceOrURL struct{}

func (k choiceOrURL) text(s string) (any, error) {
	if s = strings.TrimSpace(s); s == "off" {
		s = ""
	}
	return checked(k, s)
}
func (k choiceOrURL) node(n *yaml.Node) (any, error) { return scalarNode(k, n) }
func (k choiceOrURL) allowed() string                { return "http://host:port, https://host:port, or off" }
func (k choiceOrURL) check(v any) error {
	if s := v.(string); s != "" {
		return validURL(s)
	}
	return nil
}
func (k choiceOrURL) show(v any) any {
	if v.(string) == "" {
		return "off"
	}
	return v
}

// unknownKey says that a name is none of those known, and which one was meant.
func unknownKey(name string, known []string) error {
	if near := nearest(name, known); near != "" {
		return fmt.Errorf("no such setting; did you mean %s?", near)
	}
	return errors.New("no such setting")
}

// nearest returns the known name most like the given one, "" if none is like
// it. The last parts alone are compared too: max_body_mb means
// security.max_body_mb.
func nearest(name string, known []string) string {
	best, least := "", len(name)/3+2
	tail := name[strings.LastIndexByte(name, '.')+1:]
	for _, k := range known {
		d := route.EditDistance(name, k)
		if k[strings.LastIndexByte(k, '.')+1:] == tail {
			d = min(d, 1)
		}
		if d < least {
			best, least = k, d
		}
	}
	return best
}
