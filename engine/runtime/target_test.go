package runtime

import "testing"

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
