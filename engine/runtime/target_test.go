package runtime

import (
	"io"
	"net"
	"net/http"
	"testing"
)

func TestAddressesOfEveryFormAreRead(t *testing.T) {
	for in, want := range map[string]string{
		"":                            "http://127.0.0.1:11434",
		"studio":                      "http://studio:11434",
		"studio:1234":                 "http://studio:1234",
		":1234":                       "http://127.0.0.1:1234",
		"127.0.0.1":                   "http://127.0.0.1:11434",
		"0.0.0.0":                     "http://127.0.0.1:11434", // T-07: where it listens is not where one calls
		"0.0.0.0:9000":                "http://127.0.0.1:9000",
		"[::]:9000":                   "http://[::1]:9000",
		"::1":                         "http://[::1]:11434",
		"[::1]":                       "http://[::1]:11434",
		"[::1]:80":                    "http://[::1]:80",
		"http://studio":               "http://studio:80",
		"https://studio":              "https://studio:443",
		"HTTP://studio:5000/":         "http://studio:5000",
		"https://studio/ollama/":      "https://studio:443/ollama",
		"studio:1234/ollama":          "http://studio:1234/ollama",
		` "studio" `:                  "http://studio:11434",
		"http://[fe80::1%25eth0]:100": "http://[fe80::1%25eth0]:100",
	} {
		u, err := ParseTarget(in)
		if err != nil || u.String() != want {
			t.Errorf("%q: got %v, %v, want %s", in, u, err, want)
		}
	}
}

func TestWhatIsNoAddressIsRefused(t *testing.T) {
	for _, in := range []string{"ftp://studio", "studio:port", "studio:0", "studio:70000", "http://me:secret@studio", "stu dio", "http://studio/a?b", "unix:///x", "studio:http", "stud\x00io", "http://a\r\nb", "stüdio"} {
		if u, err := ParseTarget(in); err == nil {
			t.Errorf("%q was read as %s", in, u)
		}
	}
}

func FuzzParseTarget(f *testing.F) {
	for _, s := range []string{"", "a:1", "[::1]:2", "http://x/y", "::", "\x00"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		u, err := ParseTarget(s)
		if err != nil {
			return
		}
		again, err := ParseTarget(u.String())
		if err != nil || again.String() != u.String() {
			t.Fatalf("%q became %s, which became %v (%v)", s, u, again, err)
		}
	})
}
func TestAddressesOfOneServerAreOnePlace(t *testing.T) {
	same := []string{"http://localhost:11434", "http://127.0.0.1:11434/", "http://[::1]:11434", "http://0.0.0.0:11434", "HTTP://LocalHost:11434//", "localhost"}
	for _, a := range same[1:] {
		if Place(a) != Place(same[0]) {
			t.Errorf("%s and %s are one server", a, same[0])
		}
	}
	for _, other := range []string{"http://127.0.0.1:8080", "http://127.0.0.2:11434", "http://10.0.0.7:11434", "http://localhost:11434/other", "http://localhost"} {
		if Place(other) == Place(same[0]) {
			t.Errorf("%s and %s are two servers", other, same[0])
		}
	}
	if Place("http://Studio") != Place("http://studio:80/") || Place("https://studio") != Place("https://studio:443") {
		t.Error("a port that the scheme gives makes a difference")
	}
}

// Loopback and the machine's own address on the network lead to one server.
func TestAnInventorySaysWhichServerAnswered(t *testing.T) {
	l, err := net.Listen("tcp", ":0") // of all addresses
	if err != nil {
		t.Fatal(err)
	}
	s := &http.Server{Handler: http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		_, _ = io.WriteString(w, `{"version":"1.0","models":[]}`)
	})}
	go func() { _ = s.Serve(l) }()
	t.Cleanup(func() { _ = s.Close() })
	_, port, _ := net.SplitHostPort(l.Addr().String())
	served := func(host, path string) string {
		a, err := NewOllama(Target{Name: "x", Kind: KindOllama, URL: "http://" + net.JoinHostPort(host, port) + path})
		if err != nil {
			t.Fatal(err)
		}
		defer a.Close()
		inv, err := a.Inventory(t.Context())
		if err != nil {
			t.Fatalf("at %s: %v", host, err)
		}
		return inv.Server
	}
	home := served("127.0.0.1", "")
	if got := served("localhost", ""); home == "" || got != home {
		t.Errorf("localhost leads to %q, 127.0.0.1 to %q", got, home)
	}
	if got := served("127.0.0.1", "/other"); got == home {
		t.Errorf("another path leads to %q too", got)
	}
	addrs, _ := net.InterfaceAddrs()
	for _, a := range addrs {
		if n, ok := a.(*net.IPNet); ok && n.IP.To4() != nil && !n.IP.IsLoopback() {
			if got := served(n.IP.String(), ""); got != home {
				t.Errorf("this machine's own %s leads to %q, loopback to %q", n.IP, got, home)
			}
		}
	}
}
