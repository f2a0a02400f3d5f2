package admin

import (
	"bytes"
	"encoding/json"
	"flag"
	"os"
	"path/filepath"
	"reflect"
	"testing"
)

var rewrite = flag.Bool("rewrite", false, "write the golden files anew; then read the diff")

// The golden files hold every shape of the wire with values as they really
// come. The front end's tests read the same files.
func TestWireShapesAreThoseOfTheGoldenFiles(t *testing.T) {
	for name, v := range golden() {
		t.Run(name, func(t *testing.T) {
			var b bytes.Buffer
			out := json.NewEncoder(&b)
			out.SetEscapeHTML(false)
			out.SetIndent("", "  ")
			if err := out.Encode(v); err != nil {
				t.Fatal(err)
			}
			path := filepath.Join("testdata", "wire", name+".json")
			if *rewrite {
				if err := os.WriteFile(path, b.Bytes(), 0o644); err != nil {
					t.Fatal(err)
				}
				return
			}
			want, err := os.ReadFile(path)
			if err != nil {
				t.Fatal(err)
			}
			if !bytes.Equal(b.Bytes(), want) {
				t.Errorf("%s differs from what is sent: run go test ./engine/admin -run TestWire -rewrite, read the diff, and tell the front end", path)
			}
			back := reflect.New(reflect.TypeOf(v))
			in := json.NewDecoder(bytes.NewReader(want))
			in.DisallowUnknownFields()
			if err := in.Decode(back.Interface()); err != nil {
				t.Errorf("%s cannot be read back: %v", path, err)
			}
		})
	}
}

func TestEverySectionOfTheStateHasItsName(t *testing.T) {
	state := reflect.TypeFor[State]()
	for i, s := range Sections {
		if tag := state.Field(i).Tag.Get("json"); tag != string(s) {
			t.Errorf("field %d of State is %q, section %q", i, tag, s)
		}
	}
	if state.NumField() != len(Sections)+1 {
		t.Errorf("State has %d fields, want the sections and the rows", state.NumField())
	}
}
