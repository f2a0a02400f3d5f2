package store

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"reflect"
	"slices"
	"testing"
	"time"

	"bellwether/engine/fleet"
	"bellwether/engine/route"
)

func TestARecordIsSeenAtOnceAndReadBackWhole(t *testing.T) {
	path := dbPath(t)
	s := open(t, path, Options{Now: atEpoch})
	want := record(1)
	fill(reflect.ValueOf(want).Elem(), 1) // every field there is, also those added later
	want.At = epoch.Add(time.Nanosecond)
	s.Record(want)
	if got, err := s.Decision(t.Context(), want.RequestID); err != nil || got != want {
		t.Fatalf("before it was written: %v, %v", got, err)
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	got, err := open(t, path, Options{Now: atEpoch}).Decision(t.Context(), want.RequestID)
	if err != nil {
		t.Fatal(err)
	}
	if !reflect.DeepEqual(got, want) {
		t.Errorf("read back:\n%+v\nwant\n%+v", got, want)
	}
}

// fill sets every exported field below v to something that is not zero.
func fill(v reflect.Value, n int) {
	switch v.Interface().(type) {
	case time.Time:
		v.Set(reflect.ValueOf(epoch.Add(time.Duration(n))))
		return
	case fleet.DeploymentID:
		v.Set(reflect.ValueOf(fleet.DeploymentID{Node: "n", Runtime: "r", Model: fmt.Sprint("org/m", n)}))
		return
	case fleet.Tri, fleet.Source, fleet.Residency:
		v.SetUint(1)
		return
	}
	switch v.Kind() {
	case reflect.Struct:
		for i := range v.NumField() {
			if v.Type().Field(i).IsExported() {
				fill(v.Field(i), n+i)
			}
		}
	case reflect.Pointer:
		v.Set(reflect.New(v.Type().Elem()))
		fill(v.Elem(), n)
	case reflect.Slice:
		v.Set(reflect.MakeSlice(v.Type(), 2, 2))
		fill(v.Index(0), n)
		fill(v.Index(1), n+1)
	case reflect.Map:
		v.Set(reflect.MakeMap(v.Type()))
		key, value := reflect.New(v.Type().Key()).Elem(), reflect.New(v.Type().Elem()).Elem()
		fill(key, n)
		fill(value, n)
		v.SetMapIndex(key, value)
	case reflect.String:
		v.SetString(fmt.Sprintf("text %d \"<&>\" ä", n))
	case reflect.Bool:
		v.SetBool(true)
	case reflect.Float64:
		v.SetFloat(float64(n) + 0.5)
	case reflect.Int, reflect.Int64:
		v.SetInt(int64(n) + 1)
	case reflect.Uint64, reflect.Uint8:
		v.SetUint(uint64(n) + 1)
	default:
		panic("fill cannot make a " + v.Type().String())
	}
}

func TestARecordThatComesAgainReplacesTheFirst(t *testing.T) {
	path := dbPath(t)
	s := open(t, path, Options{Now: atEpoch, Recent: 1})
	run(t, s)
	first, second := record(1), record(1)
	second.Outcome, second.At = fleet.OutcomeFailed, second.At.Add(time.Hour)
	s.Record(first)
	flush(t, s)
	s.Record(second)
	s.Record(record(2))
	flush(t, s)
	got, err := s.Decision(t.Context(), "req_000001")
	if err != nil || got.Outcome != fleet.OutcomeFailed {
		t.Errorf("got %+v, %v", got, err)
	}
	if got := ids(t, s, Filter{}); !slices.Equal(got, []string{"req_000001", "req_000002"}) {
		t.Errorf("listed: %v", got)
	}
	integrity(t, path)
}

func TestFiltersAndPages(t *testing.T) {
	s := open(t, dbPath(t), Options{Now: atEpoch, Recent: 3}) // 3 in memory, 7 only in the file
	run(t, s)
	for n := range 10 {
		r := record(n)
		if n%2 == 0 {
			r.App = "agent"
		}
		if n >= 8 {
			r.Node, r.Chosen = "laptop", "n2/ollama/mistral:latest"
			r.Outcome = fleet.OutcomeFailed
		}
		if n == 5 {
			r.Node, r.Chosen, r.RequestedModel = "", "", "nobody-has-this"
			r.Outcome = fleet.OutcomeRefused
		}
		s.Record(r)
	}
	flush(t, s)
	for name, c := range map[string]struct {
		f    Filter
		want string
	}{
		"all, latest first":         {Filter{}, "[9 8 7 6 5 4 3 2 1 0]"},
		"limit":                     {Filter{Limit: 4}, "[9 8 7 6]"},
		"app":                       {Filter{App: "agent"}, "[8 6 4 2 0]"},
		"node by name":              {Filter{Node: "laptop"}, "[9 8]"},
		"node by id":                {Filter{Node: "n2"}, "[9 8]"},
		"outcome":                   {Filter{Outcome: "refused"}, "[5]"},
		"model as asked":            {Filter{Model: "nobody-has-this:latest"}, "[5]"},
		"model as served":           {Filter{Model: "Mistral"}, "[9 8]"},
		"model in another spelling": {Filter{Model: "QWEN3:8b", Limit: 3}, "[9 8 7]"},
		"since is inclusive":        {Filter{Since: epoch.Add(7 * time.Second)}, "[9 8 7]"},
		"before is exclusive":       {Filter{Before: epoch.Add(2 * time.Second)}, "[1 0]"},
		"between":                   {Filter{Since: epoch.Add(2 * time.Second), Before: epoch.Add(4 * time.Second)}, "[3 2]"},
		"several":                   {Filter{App: "agent", Node: "studio", Limit: 2}, "[6 4]"},
		"next page, from memory":    {Filter{After: "req_000008", Limit: 3}, "[7 6 5]"},
		"next page, from the file":  {Filter{After: "req_000003", Limit: 3}, "[2 1 0]"},
		"last page":                 {Filter{After: "req_000000"}, "[]"},
		"nothing":                   {Filter{App: "nobody"}, "[]"},
	} {
		t.Run(name, func(t *testing.T) {
			var got []int
			for _, id := range ids(t, s, c.f) {
				var n int
				if _, err := fmt.Sscanf(id, "req_%d", &n); err != nil {
					t.Fatal(err)
				}
				got = append(got, n)
			}
			if fmt.Sprint(got) != c.want {
				t.Errorf("got %v, want %s", got, c.want)
			}
		})
	}
	if _, err := s.Decisions(t.Context(), Filter{After: "req_missing"}); !errors.Is(err, ErrNotFound) {
		t.Errorf("after a record that is not there: %v", err)
	}
	if _, err := s.Decision(t.Context(), "req_missing"); !errors.Is(err, ErrNotFound) {
		t.Errorf("a record that is not there: %v", err)
	}
}

// The filter exists twice, for memory and for the file; they must agree, also
// on records that arrived in the same instant, and paging must lose none.
func TestMemoryAndFileAnswerAlike(t *testing.T) {
	rnd := rand.New(rand.NewPCG(1, 2))
	memory := open(t, dbPath(t), Options{Now: atEpoch, Recent: 120})
	file := open(t, dbPath(t), Options{Now: atEpoch, Recent: 1})
	run(t, file)
	pick := func(of ...string) string { return of[rnd.IntN(len(of))] }
	some := func(r *rand.Rand) route.Record {
		rec := *record(0)
		rec.At = epoch.Add(time.Duration(r.IntN(20)) * time.Second)
		rec.App = pick("a", "b", "")
		rec.RequestedModel = pick("M", "m:latest", "x/y:1", "")
		rec.Chosen = pick("n1/r/m", "n2/r/X/Y:1", "")
		rec.Node = pick("one", "two", "n1")
		rec.Outcome = fleet.Outcome(pick("ok", "failed"))
		return rec
	}
	for n := range 120 {
		r := some(rnd)
		r.RequestID = fmt.Sprintf("req_%03d", rnd.Perm(1000)[n%1000]*1000+n)
		memory.Record(&r)
		file.Record(&r)
	}
	flush(t, file)
	for range 80 {
		f := Filter{
			App: pick("", "", "a", "b"), Model: pick("", "", "m", "X/y:1"), Node: pick("", "", "one", "n1", "n2"),
			Outcome: pick("", "", "ok"), Limit: 1 + rnd.IntN(30),
		}
		if rnd.IntN(3) == 0 {
			f.Since = epoch.Add(time.Duration(rnd.IntN(20)) * time.Second)
		}
		if rnd.IntN(3) == 0 {
			f.Before = epoch.Add(time.Duration(rnd.IntN(20)) * time.Second)
		}
		everything := f
		everything.Limit = pageMax
		want := ids(t, memory, everything)
		var paged []string
		for {
			a, b := ids(t, memory, f), ids(t, file, f)
			if !slices.Equal(a, b) {
				t.Fatalf("%+v:\nmemory %v\nfile   %v", f, a, b)
			}
			paged = append(paged, a...)
			if len(a) < f.Limit {
				break
			}
			f.After = a[len(a)-1]
		}
		if !slices.Equal(paged, want) {
			t.Fatalf("%+v: pages give %v\nall at once %v", f, paged, want)
		}
	}
}

func TestARecordThatCannotBeReadBackIsCountedNotFatal(t *testing.T) {
	for name, c := range map[string]struct {
		harm string // to the block of records 0 to 2; 3 and 4 lie in another
		left int
	}{
		"a broken line":      {`packed = 0, records = '{"request_id":' || char(10) || '{"request_id":"req_000001"}' || char(10) || '{"request_id":"req_000002"}'`, 4},
		"a line too few":     {`packed = 0, records = '{"request_id":"req_000000"}' || char(10) || '{"request_id":"req_000001"}'`, 4},
		"no S2 block":        {`records = x'ff'`, 2},
		"cut short":          {`records = substr(records, 1, length(records) / 2)`, 2},
		"4 GB by its header": {`records = x'ffffffff0f' || substr(records, 3)`, 2},
		"empty":              {`records = x''`, 2},
	} {
		t.Run(name, func(t *testing.T) {
			s := open(t, dbPath(t), Options{Now: atEpoch, Recent: 1})
			run(t, s)
			for n := range 5 {
				s.Record(record(n))
				if n == 2 {
					flush(t, s)
				}
			}
			flush(t, s)
			if _, err := s.write.db.Exec(`UPDATE blocks SET ` + c.harm + ` WHERE seq = 1`); err != nil {
				t.Fatal(err)
			}
			if got := ids(t, s, Filter{}); len(got) != c.left {
				t.Errorf("found %v", got)
			}
			if h := s.Health(); h.Unreadable != uint64(5-c.left) {
				t.Errorf("health: %+v", h)
			}
			for n, readable := 0, 0; n < 5; n++ {
				_, err := s.Decision(t.Context(), record(n).RequestID)
				if err == nil {
					readable++
				} else if errors.Is(err, ErrNotFound) {
					t.Errorf("record %d: %v, but it was written", n, err)
				}
				if n == 4 && readable != c.left {
					t.Errorf("%d are read by their ids", readable)
				}
			}
		})
	}
}
