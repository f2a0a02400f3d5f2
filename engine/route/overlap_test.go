package route

import (
	"strings"
	"testing"
)

func TestPatternsWithANameInCommonAreKnown(t *testing.T) {
	for pair, want := range map[string]string{
		"gpt-*|*-mini":      "gpt-mini",
		"house*|*se:1b":     "house:1b",
		"a*|b*":             "",
		"*|*":               "",
		"*a*|*b*":           "ab",
		"a?c|ab?":           "abc",
		"a?|?b?":            "",
		"Qwen*|*:8B":        "qwen:8b",
		"gpt-4|gpt-4":       "gpt-4",
		"gpt-4|gpt-?o":      "",
		"?|?":               "x",
		"a*b*c|*x*":         "abxc",
		"**a**|a":           "a",
		"qwen3:*b|qwen3:8*": "qwen3:8b",
	} {
		a, b, _ := strings.Cut(pair, "|")
		for range 2 {
			got, ok := CommonName(a, b)
			if any := a == "*" && b == "*"; ok != (want != "" || any) {
				t.Errorf("%s and %s: %q, %t", a, b, got, ok)
			}
			if ok && (!glob(a, got) || !glob(b, got)) {
				t.Errorf("%s and %s: %q is not of both", a, b, got)
			}
			if want != "" && a < b && len(got) != len(want) {
				t.Errorf("%s and %s: %q, want one like %q", a, b, got, want)
			}
			a, b = b, a
		}
	}
}

// A settings file may hold patterns that are made to take long.
func TestPatternsOfManyStarsTakeNoTime(t *testing.T) {
	if _, ok := CommonName(strings.Repeat("*a", 200)+"b", strings.Repeat("a*", 200)+"c"); ok {
		t.Error("one ends in b, the other may end in anything that begins with c")
	}
}

func FuzzCommonNameIsMatchedByBoth(f *testing.F) {
	f.Add("gpt-*", "*-mini")
	f.Fuzz(func(t *testing.T, a, b string) {
		if len(a) > 50 || len(b) > 50 || strings.ToLower(a) != a || strings.ToLower(b) != b {
			return
		}
		got, ok := CommonName(a, b)
		if ok && (!glob(a, got) || !glob(b, got)) {
			t.Errorf("%q and %q: %q", a, b, got)
		}
		if !ok && !strings.ContainsAny(b, "*?") && glob(a, b) {
			t.Errorf("%q and %q: none", a, b)
		}
	})
}
