package route

import (
	"encoding/json"
	"math"
	"math/rand/v2"
	"reflect"
	"strings"
	"testing"
	"time"
)

// fill sets every field that v holds to something, to zero now and then where
// some is allowed.
func fill(r *rand.Rand, v reflect.Value, some bool) {
	if some && r.IntN(4) == 0 {
		return
	}
	switch v.Kind() {
	case reflect.Bool:
		v.SetBool(true)
	case reflect.Int, reflect.Int64:
		v.SetInt(1 + r.Int64N(1<<40))
	case reflect.Uint8:
		v.SetUint(1 + r.Uint64N(2))
	case reflect.Uint64:
		v.SetUint(1 + r.Uint64())
	case reflect.Float64:
		v.SetFloat([]float64{1, -2.5, 0.1, 1e-9, 3e22, 123456.789, math.Copysign(0, -1), r.NormFloat64()}[r.IntN(8)])
	case reflect.String:
		v.SetString([]string{"x", "qwen3:8b", `a "quoted" \ one`, "tab\tand\nline", "émigré 漢字", "<b>&", "bad \xff", "\u2028"}[r.IntN(8)])
	case reflect.Pointer:
		v.Set(reflect.New(v.Type().Elem()))
		fill(r, v.Elem(), some)
	case reflect.Slice:
		v.Set(reflect.MakeSlice(v.Type(), 1+r.IntN(2), 2))
		for i := range v.Len() {
			fill(r, v.Index(i), some)
		}
	case reflect.Map:
		some = some && v.Type().Elem().Kind() != reflect.Slice // no list of exclusions is missing
		v.Set(reflect.MakeMap(v.Type()))
		for range 1 + r.IntN(3) {
			k, e := reflect.New(v.Type().Key()).Elem(), reflect.New(v.Type().Elem()).Elem()
			fill(r, k, false)
			fill(r, e, some)
			v.SetMapIndex(k, e)
		}
	case reflect.Struct:
		if v.Type() == reflect.TypeFor[time.Time]() {
			v.Set(reflect.ValueOf(time.Unix(r.Int64N(1<<33), r.Int64N(1e9)).In(time.FixedZone("", r.IntN(3)*3600))))
			return
		}
		for i := range v.NumField() {
			if v.Field(i).CanSet() {
				fill(r, v.Field(i), some)
			}
		}
	}
}

// A field that is missing here is missing in AppendJSON.
func TestRecordsAreWrittenWithAllTheirFields(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	for n := range 2000 {
		var rec Record
		if n > 0 {
			fill(r, reflect.ValueOf(&rec).Elem(), n > 50)
		}
		want, err := json.Marshal(&rec)
		if err != nil {
			t.Fatal(err)
		}
		got := rec.AppendJSON([]byte("before"))[len("before"):]
		var a, b any
		if err := json.Unmarshal(want, &a); err != nil {
			t.Fatal(err)
		}
		if err := json.Unmarshal(got, &b); err != nil {
			t.Fatalf("%v: %s", err, got)
		}
		if !reflect.DeepEqual(a, b) {
			t.Fatalf("got  %s\nwant %s", got, want)
		}
		if strings.ContainsRune(string(got), '\n') {
			t.Fatalf("a record is one line: %s", got)
		}
	}
}

func TestNumbersThatAreNoneAreWrittenAsNull(t *testing.T) {
	rec := Record{OverheadMs: math.NaN(), Timing: Timing{TotalMs: math.Inf(1)}}
	var back Record
	if err := json.Unmarshal(rec.AppendJSON(nil), &back); err != nil || back.OverheadMs != 0 {
		t.Errorf("got %+v, %v", back, err)
	}
}

func BenchmarkRecordJSON(b *testing.B) {
	known := 12
	rec := &Record{RequestID: "01a22a7ab94b425576e334cf0d86450e", At: time.Now(), RequestedModel: "qwen3:8b", App: "curl", Protocol: "openai-chat",
		Candidates: []Candidate{{Evidence: "p75:measured:120", NodeScore: 45.123}}, Reasons: []string{"loaded on studio"}, Usage: &RecordUsage{Input: &known, Output: &known}, Outcome: "ok", Status: 200}
	b.Run("ours", func(b *testing.B) {
		var buf []byte
		for b.Loop() {
			buf = rec.AppendJSON(buf[:0])
		}
	})
	b.Run("encoding/json", func(b *testing.B) {
		for b.Loop() {
			_, _ = json.Marshal(rec)
		}
	})
}
