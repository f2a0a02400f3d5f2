package gateway

import (
	"strings"
	"testing"
)

func TestWrongBaseURLsLeadToTheRightPath(t *testing.T) {
	for in, want := range map[string]string{
		"/v1/v1/messages": "/v1/messages", "/api/v1/chat/completions": "/v1/chat/completions", "/api/api/chat": "/api/chat",
		"//v1//models": "/v1/models", "/v1/models/": "/v1/models", "/": "/", "/v1/v1/v1/models": "/v1/models",
		"/v1/models/hf.co/a/b:Q4": "/v1/models/hf.co/a/b:Q4", "/ui/": "/ui/", "/admin//status": "/admin/status", "/v1": "/v1",
	} {
		if got := cleanPath(in); got != want {
			t.Errorf("cleanPath(%q) = %q, want %q", in, got, want)
		}
	}
}

func TestModelNamesKeepToTheGrammar(t *testing.T) {
	for name, want := range map[string]bool{
		"qwen3": true, "qwen3:8b": true, "hf.co/unsloth/Qwen3-8B-GGUF:Q4_K_M": true, "registry.example:5000/a/b:latest": true,
		"node/ollama/qwen3:8b": true, "claude-sonnet-4-5": true, "m@v1": true, "a+b": true,
		"": false, "../etc/passwd": false, "a/../b": false, "a//b": false, "/a": false, "a/": false, ".hidden": false, "a b": false,
		"a\\b": false, "a\x00b": false, "a:b:": false, "http://evil/x": false, "a..b": false, "%2e%2e/x": false, "é": false,
	} {
		if got := checkModelName(name) == nil; got != want {
			t.Errorf("name %q well formed = %v, want %v", name, got, want)
		}
	}
	long := make([]byte, MaxModelName+1)
	for i := range long {
		long[i] = 'a'
	}
	if checkModelName(string(long)) == nil {
		t.Error("a name of 257 bytes was taken")
	}
}

func TestDigestsKeepToTheGrammar(t *testing.T) {
	hex := "0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef"
	for digest, want := range map[string]bool{
		"sha256:" + hex: true, "sha256-" + hex: true, "sha256:" + hex[:63]: false, "sha256:" + hex + "0": false,
		"sha256:../../../../../../etc/passwd" + hex[:37]: false, "md5:" + hex: false, "sha256:" + hex + "/../x": false, "": false,
	} {
		if got := checkDigest(digest) == nil; got != want {
			t.Errorf("digest %q well formed = %v, want %v", digest, got, want)
		}
	}
}

func TestRegistriesAreToldFromNamespaces(t *testing.T) {
	for name, want := range map[string]string{
		"qwen3": "", "library/qwen3:8b": "", "hf.co/a/b": "hf.co", "registry.example:5000/a/b": "registry.example:5000", "localhost/a": "localhost", "HF.co/a/b": "hf.co",
	} {
		if got := registryOf(name); got != want {
			t.Errorf("registryOf(%q) = %q, want %q", name, got, want)
		}
	}
	allow := []string{"", "hf.co"}
	for host, want := range map[string]bool{"": true, "hf.co": true, "huggingface.co": true, "evil.example": false, "registry.example:5000": false} {
		if got := registryAllowed(allow, host); got != want {
			t.Errorf("registry %q allowed = %v, want %v", host, got, want)
		}
	}
}

func TestVersionsCompareByNumber(t *testing.T) {
	for _, c := range []struct {
		a, b string
		want bool
	}{{"0.33.1", "0.33.0", true}, {"0.4.0", "0.33.0", false}, {"0.33.0", "0.33.0", false}, {"1", "0.99.9", true}, {"0.33.0-rc2", "0.33.0", false}, {"0.34.0-rc1", "0.33.9", true}, {"", "0.1", false}} {
		if got := newer(c.a, c.b); got != c.want {
			t.Errorf("newer(%q, %q) = %v, want %v", c.a, c.b, got, c.want)
		}
	}
}

// S-01 holds for names of any script too.
func TestNamesThatLeadElsewhereAreHarmlessInNoScript(t *testing.T) {
	for name, want := range map[string]bool{
		"My Model Q4": true, "模型-编码": true, "büro/ollama/qwen3:8b": true, "a..b": true, "می\u200cخواهم": true, "a\u00a0b": true,
		"": false, "模型/../x": false, `ü\..\x`: false, "..": false, "é/.": false, "é:..": false, "a\x00b": false, "a\nb": false, "é\x7f": false, "é\u0085": false,
		"a\u202eb": false, "a\u2028b": false, "\xff\xfe": false, strings.Repeat("é", 129): false,
	} {
		if got := harmless(name); got != want {
			t.Errorf("%q is harmless: %v, want %v", name, got, want)
		}
	}
}

func TestANewNameThatIsNoneIsNotToldToBeLookedUp(t *testing.T) {
	for _, name := range []string{"", "a//b"} {
		p := CheckPull(name, nil)
		if p == nil || strings.Contains(p.Remedy, "/v1/models") || !strings.Contains(p.Remedy, "model[:tag]") {
			t.Errorf("%q: %+v", name, p)
		}
	}
}
