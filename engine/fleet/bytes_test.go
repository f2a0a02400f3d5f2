package fleet

import (
	"encoding/json"
	"os"
	"testing"
)

func TestBytesAreSaidAsMemoryIsSold(t *testing.T) {
	text, err := os.ReadFile("testdata/bytes.json") // the UI's test reads it too
	if err != nil {
		t.Fatal(err)
	}
	var cases [][2]any
	if err := json.Unmarshal(text, &cases); err != nil {
		t.Fatal(err)
	}
	if len(cases) < 10 {
		t.Fatalf("%d cases only", len(cases))
	}
	for _, c := range cases {
		if got := Bytes(int64(c[0].(float64))); got != c[1] {
			t.Errorf("Bytes(%.0f) = %q, want %q", c[0], got, c[1])
		}
	}
	if got := Bytes(-1); got != "0 B" {
		t.Errorf("Bytes(-1) = %q, want 0 B", got)
	}
}
