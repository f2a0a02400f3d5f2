package runtime

import (
	"fmt"
	"net"
	"net/url"
	"regexp"
	"strings"
)

// ollamaPort is where Ollama listens unless told otherwise.
const ollamaPort = "11434"

// ParseTarget reads where a runtime is, in every form that OLLAMA_HOST and
// people write: host, host:port, :port, [::1], a URL with or without a path.
// Without a port it is 11434, or 80 and 443 after http:// and https://, as
// Ollama reads it. A bind address that means "everywhere" (0.0.0.0, ::) is
// where a server listens, not where one can call: loopback is meant.
func ParseTarget(s string) (*url.URL, error) {
	text := strings.Trim(strings.TrimSpace(s), `"'`)
	scheme, rest, has := strings.Cut(text, "://")
	port := ollamaPort
	switch {
	case !has:
		scheme, rest = "http", text
	case strings.EqualFold(scheme, "http"):
		scheme, port = "http", "80"
	case strings.EqualFold(scheme, "https"):
		scheme, port = "https", "443"
	default:
		return nil, fmt.Errorf("runtime address %q: %s is not http or https", s, scheme)
	}
	authority, path, _ := strings.Cut(rest, "/")
	if strings.Contains(authority, "@") {
		return nil, fmt.Errorf("runtime address: it holds a user or password; use api_key")
	}
	host, p, err := net.SplitHostPort(authority)
	if err != nil {
		host, p = strings.Trim(authority, "[]"), ""
	}
	if p == "" {
		p = port
	}
	host = strings.Replace(host, "%25", "%", 1) // an IPv6 zone as URLs write it
	if n, err := net.LookupPort("tcp", p); err != nil || n < 1 || strings.TrimLeft(p, "0123456789") != "" {
		return nil, fmt.Errorf("runtime address %q: %q is no port", s, p)
	}
	if ip := net.ParseIP(host); host == "" || ip != nil && ip.IsUnspecified() {
		host = "127.0.0.1"
		if ip != nil && ip.To4() == nil {
			host = "::1"
		}
	}
	path = strings.TrimRight("/"+path, "/")
	if !isHost(host) || !reTargetPath.MatchString(path) {
		return nil, fmt.Errorf("runtime address %q is not a host and port", s)
	}
	return &url.URL{Scheme: scheme, Host: net.JoinHostPort(host, p), Path: path}, nil
}

// thisMachine stands for loopback in a Place.
const thisMachine = "this machine"

// Place is an address in one spelling: two addresses whose places are equal are
// one. This machine's names for itself (localhost, 127.0.0.1, ::1), case, a port
// that the scheme gives and slashes at the end make no difference. What is no
// address is its own place.
func Place(address string) string {
	u, err := ParseTarget(address)
	if err != nil {
		return address
	}
	host := strings.ToLower(u.Hostname())
	if host == "localhost" || isOwnLoopback(net.ParseIP(host)) {
		host = thisMachine
	}
	return net.JoinHostPort(host, u.Port()) + u.Path
}

// isOwnLoopback leaves out the other addresses of 127.0.0.0/8: servers of one
// machine are told apart by them.
func isOwnLoopback(ip net.IP) bool {
	return ip.Equal(net.IPv4(127, 0, 0, 1)) || ip.Equal(net.IPv6loopback)
}

// Names are ASCII, as they stand in DNS; both become part of a request's head.
var (
	reTargetHost = regexp.MustCompile(`^[A-Za-z0-9]([A-Za-z0-9._-]*[A-Za-z0-9])?$`)
	reTargetZone = regexp.MustCompile(`^[A-Za-z0-9._-]+$`)
	reTargetPath = regexp.MustCompile(`^[A-Za-z0-9._~/-]*$`)
)

func isHost(host string) bool {
	ip, zone, zoned := strings.Cut(host, "%")
	if net.ParseIP(ip) != nil {
		return !zoned || reTargetZone.MatchString(zone)
	}
	return reTargetHost.MatchString(host)
}
