package picture

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"net/url"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"
)

// S-03, S-04: what is somebody's own is not dialled, however it is written.
func TestOnlyThePublicInternetIsPublic(t *testing.T) {
	for _, s := range []string{
		"127.0.0.1", "127.8.9.10", "0.0.0.0", "0.1.2.3", "10.0.0.1", "172.16.0.1", "172.31.255.255", "192.168.1.1",
		"169.254.169.254", "169.254.170.2", "100.64.0.1", "100.100.100.200", "100.127.255.255", "168.63.129.16", "192.0.0.192",
		"192.0.2.1", "198.51.100.1", "203.0.113.1", "198.18.0.1", "192.88.99.1", "224.0.0.251", "239.255.255.250", "240.0.0.1", "255.255.255.255",
		"::", "::1", "::ffff:127.0.0.1", "::ffff:169.254.169.254", "::ffff:10.0.0.1", "::127.0.0.1", "fe80::1", "fe80::1%eth0", "fec0::1", "fc00::1", "fd00:ec2::254", "ff02::1",
		"64:ff9b::a9fe:a9fe", "64:ff9b:1::1", "100::1", "2001::1", "2001:db8::1", "2002:7f00:1::", "3fff::1", "4000::1",
	} {
		if Public(netip.MustParseAddr(s)) {
			t.Errorf("%s is public", s)
		}
	}
	for _, s := range []string{"1.1.1.1", "8.8.8.8", "93.184.215.14", "100.63.255.255", "100.128.0.1", "172.15.0.1", "172.32.0.1", "169.253.1.1", "192.167.1.1", "223.255.255.255", "::ffff:8.8.8.8", "2606:4700:4700::1111", "2a00:1450:4001:800::200e", "2001:4860:4860::8888"} {
		if !Public(netip.MustParseAddr(s)) {
			t.Errorf("%s is not public", s)
		}
	}
	if Public(netip.Addr{}) {
		t.Error("no address is public")
	}
	if !onLink(netip.MustParseAddr("127.0.0.1")) || onLink(netip.MustParseAddr("2606:4700:4700::1111")) {
		t.Error("the networks of this machine are not known")
	}
}

// site is a server of the public internet, as far as its Fetcher knows: tests
// reach their own machine only.
func site(t *testing.T, serve http.HandlerFunc) (*Fetcher, string) {
	s := httptest.NewServer(serve)
	t.Cleanup(s.Close)
	f := New()
	own := netip.MustParseAddrPort(s.Listener.Addr().String())
	f.allowed = func(a netip.AddrPort) bool { return a == own }
	return f, s.URL
}

// Nothing is connected to: a trap listens, and is seen by nobody.
func TestWhatIsNotPublicIsNeverDialled(t *testing.T) {
	var hits atomic.Int32
	trap := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { hits.Add(1) }))
	defer trap.Close()
	port := trap.URL[strings.LastIndexByte(trap.URL, ':'):]
	for _, host := range []string{"127.0.0.1", "localhost", "[::1]", "[::ffff:127.0.0.1]", "0.0.0.0", "127.1.2.3", "user:word@127.0.0.1"} {
		if _, err := New().Fetch(t.Context(), "http://"+host+port+"/a.png"); !errors.Is(err, ErrAddress) && !errors.Is(err, ErrUnreached) {
			t.Errorf("%s: %v", host, err)
		}
	}
	// A name is judged by what it leads to, and so is a redirect.
	f, at := site(t, func(w http.ResponseWriter, r *http.Request) {
		http.Redirect(w, r, trap.URL+"/a.png", http.StatusFound)
	})
	if _, err := f.Fetch(t.Context(), at); !errors.Is(err, ErrAddress) {
		t.Errorf("a redirect: %v", err)
	}
	if n := hits.Load(); n != 0 {
		t.Errorf("the trap was asked %d times", n)
	}
}

func TestOnlyTheWebIsFetched(t *testing.T) {
	for _, at := range []string{"", "file:///etc/passwd", "ftp://example.com/a.png", "gopher://example.com", "//example.com/a.png", "http://", "https:///a", "http://%zz", "javascript:alert(1)", "http://a b/"} {
		if _, err := New().Fetch(t.Context(), at); !errors.Is(err, ErrURL) {
			t.Errorf("%q: %v", at, err)
		}
	}
	f, at := site(t, func(w http.ResponseWriter, r *http.Request) {
		http.Redirect(w, r, "file:///etc/passwd", http.StatusFound)
	})
	if _, err := f.Fetch(t.Context(), at); !errors.Is(err, ErrURL) {
		t.Errorf("a redirect to a file: %v", err)
	}
}

func TestAnImageIsFetchedAlsoBehindRedirects(t *testing.T) {
	var asked http.Header
	f, at := site(t, func(w http.ResponseWriter, r *http.Request) {
		var n int
		_, _ = fmt.Sscanf(r.URL.Path, "/%d", &n)
		if asked = r.Header; n > 0 {
			http.Redirect(w, r, fmt.Sprintf("/%d", n-1), http.StatusMovedPermanently)
			return
		}
		_, _ = io.WriteString(w, "the bytes")
	})
	u, _ := url.Parse(at)
	for n := range 4 {
		if b, err := f.Fetch(t.Context(), fmt.Sprintf("http://me:secret@%s/%d?sig=x", u.Host, n)); err != nil || string(b) != "the bytes" {
			t.Errorf("%d redirects: %q %v", n, b, err)
		}
		if asked.Get("Authorization") != "" || asked.Get("Referer") != "" || asked.Get("Cookie") != "" {
			t.Errorf("sent %v", asked)
		}
	}
	if _, err := f.Fetch(t.Context(), at+"/4"); !errors.Is(err, ErrRedirects) {
		t.Errorf("four redirects: %v", err)
	}
}

func TestAnImageMayTakeSoMuch(t *testing.T) {
	f, at := site(t, func(w http.ResponseWriter, r *http.Request) {
		piece := make([]byte, 1<<20)
		for i := range 40 {
			if r.URL.Path == "/whole" && i == 20 {
				return
			}
			if r.URL.Path == "/told" {
				w.Header().Set("Content-Length", fmt.Sprint(40<<20))
			}
			if _, err := w.Write(piece); err != nil {
				return
			}
		}
	})
	if b, err := f.Fetch(t.Context(), at+"/whole"); err != nil || len(b) != MaxBytes {
		t.Errorf("20 MB: %d bytes, %v", len(b), err)
	}
	for _, path := range []string{"/told", "/untold"} {
		if _, err := f.Fetch(t.Context(), at+path); !errors.Is(err, ErrTooLarge) {
			t.Errorf("%s: %v", path, err)
		}
	}
}

// wire answers without a network, so that its time is the test's.
type wire func(*http.Request) (*http.Response, error)

func (w wire) RoundTrip(r *http.Request) (*http.Response, error) { return w(r) }

func TestAnImageMayTakeSoLong(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := New()
		f.client.Transport = wire(func(r *http.Request) (*http.Response, error) {
			<-r.Context().Done()
			return nil, r.Context().Err()
		})
		began := time.Now()
		if _, err := f.Fetch(t.Context(), "http://a.example/x"); !errors.Is(err, ErrTime) || time.Since(began) != patience {
			t.Errorf("%v after %v", err, time.Since(began))
		}
		ctx, leave := context.WithCancel(t.Context())
		leave()
		if _, err := f.Fetch(ctx, "http://a.example/x"); !errors.Is(err, context.Canceled) {
			t.Errorf("a client that left: %v", err)
		}
	})
}

func TestErrorsSayNothingOfTheAddress(t *testing.T) {
	f, at := site(t, func(w http.ResponseWriter, r *http.Request) { http.Error(w, "who is heron-7", http.StatusForbidden) })
	var status StatusError
	_, err := f.Fetch(t.Context(), at+"/heron-7")
	if !errors.As(err, &status) || status != 403 {
		t.Errorf("got %v", err)
	}
	_, gone := New().Fetch(t.Context(), "http://heron-7.invalid/x")
	_, own := New().Fetch(t.Context(), at)
	for _, err := range []error{err, gone, own} {
		if err == nil || strings.Contains(err.Error(), "heron") || strings.Contains(err.Error(), "127.0.0.1") {
			t.Errorf("says %v", err)
		}
	}
}
