package picture

import (
	"net"
	"net/netip"
	"slices"
)

// reserved are the networks within IPv4, and within what IPv6 gives to the
// public (2000::/3), that are somebody's own, or nobody's (IANA's registries of
// special-purpose addresses).
var reserved = prefixes(
	"0.0.0.0/8",        // this host
	"10.0.0.0/8",       // private
	"100.64.0.0/10",    // behind a carrier's NAT; a cloud's metadata service
	"127.0.0.0/8",      // loopback
	"168.63.129.16/32", // a cloud's metadata service, at an address like any
	"169.254.0.0/16",   // link-local; most clouds' metadata service
	"172.16.0.0/12",    // private
	"192.0.0.0/24",     // protocols
	"192.0.2.0/24",     // documentation
	"192.88.99.0/24",   // 6to4 relays
	"192.168.0.0/16",   // private
	"198.18.0.0/15",    // benchmarks
	"198.51.100.0/24",  // documentation
	"203.0.113.0/24",   // documentation
	"224.0.0.0/4",      // multicast
	"240.0.0.0/4",      // reserved, and broadcast
	"2001::/23",        // protocols, Teredo among them
	"2001:db8::/32",    // documentation
	"2002::/16",        // 6to4, which holds an IPv4 address
	"3fff::/20",        // documentation
)

var globalUnicast = netip.MustParsePrefix("2000::/3")

func prefixes(texts ...string) (out []netip.Prefix) {
	for _, t := range texts {
		out = append(out, netip.MustParsePrefix(t))
	}
	return out
}

// Public reports whether an address is one of the public internet. Those of
// IPv6 that stand for one of IPv4 are not: only mapped ones are known to be.
func Public(a netip.Addr) bool {
	a = a.Unmap()
	if !a.IsValid() || a.Zone() != "" || a.Is6() && !globalUnicast.Contains(a) {
		return false
	}
	return !slices.ContainsFunc(reserved, func(p netip.Prefix) bool { return p.Contains(a) })
}

// onLink reports whether an address is in a network that this machine stands
// in: with IPv6 a home's own machines have public addresses. When the system
// does not tell, all of them are.
func onLink(a netip.Addr) bool {
	nets, err := net.InterfaceAddrs()
	if err != nil {
		return true
	}
	ip := net.IP(a.Unmap().AsSlice())
	return slices.ContainsFunc(nets, func(n net.Addr) bool {
		own, is := n.(*net.IPNet)
		return is && own.Contains(ip)
	})
}
