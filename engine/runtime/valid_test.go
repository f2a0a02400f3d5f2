package runtime

import (
	"strings"
	"testing"

	"github.com/go-json-experiment/json/jsontext"
)

// What is JSON by the library's word, with the two freedoms we give.
func validByLibrary(b []byte) bool {
	return jsontext.Value(b).IsValid(jsontext.AllowDuplicateNames(true), jsontext.AllowInvalidUTF8(true))
}

func FuzzJSONIsValidWhereTheLibrarySaysSo(f *testing.F) {
	for _, s := range []string{
		"", " ", "{}", "[]", `{"a":1,"a":[true,false,null,"x"]}`, ` { "a" : [ 1 , 2 ] } `, "01", "-0.5e+10", "-", "1.", "1e", `"\u00e9\n\/"`, `"\ud800"`, `"\x"`, "\"\xff\"", "\"\n\"",
		`{"a"}`, `{"a":}`, `{,}`, `[1,]`, `{"a":1,}`, "nul", "true1", "{} {}", "\u00a0{}", strings.Repeat("[", 9000) + strings.Repeat("]", 9000), strings.Repeat("[", 11000) + strings.Repeat("]", 11000),
	} {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, b []byte) {
		if got, want := validJSON(b), validByLibrary(b); got != want {
			t.Errorf("%.200q: got %v", b, got)
		}
	})
}

func BenchmarkValidFrame(b *testing.B) {
	frame := []byte(`{"model":"bench:latest","created_at":"2026-11-03T09:00:00.123456Z","message":{"role":"assistant","content":" answers"},"done":false}`)
	b.SetBytes(int64(len(frame)))
	for b.Loop() {
		if !validJSON(frame) {
			b.Fatal("invalid")
		}
	}
}
