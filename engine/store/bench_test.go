package store

import (
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"testing"
	"time"

	"bellwether/engine/fleet"
	"bellwether/engine/route"
)

// wide is a record of a request that met 5 nodes with 20 deployments each.
func wide(n int) *route.Record {
	r := record(n)
	for i := range 5 {
		id := fleet.DeploymentID{Node: fmt.Sprintf("node%d", i), Runtime: "ollama", Model: "qwen3:8b"}
		c := r.Candidates[0]
		c.Deployment = id
		r.Candidates = append(r.Candidates, c)
	}
	return r
}

// BenchmarkRecord is what one record costs in all, from Record to the file.
func BenchmarkRecord(b *testing.B) {
	for name, makeRecord := range map[string]func(int) *route.Record{"typical": record, "wide": wide} {
		b.Run(name, func(b *testing.B) {
			s := open(b, dbPath(b), Options{Now: atEpoch})
			run(b, s)
			records := make([]*route.Record, b.N)
			for i := range records {
				records[i] = makeRecord(i)
				records[i].RequestID = fmt.Sprintf("%012x%04x%016x", i/4, rand.Uint32N(1<<16), rand.Uint64()) // 4 a millisecond
			}
			b.ReportAllocs()
			b.ResetTimer()
			for i, r := range records {
				s.Record(r)
				if i%2048 == 2047 {
					flush(b, s)
				}
			}
			flush(b, s)
			if d := s.Health().Dropped; d > 0 {
				b.Fatalf("%d dropped", d)
			}
		})
	}
}

// BenchmarkRecordCall is what a request waits for its record.
func BenchmarkRecordCall(b *testing.B) {
	s := open(b, dbPath(b), Options{Now: atEpoch})
	r := record(1)
	b.ReportAllocs()
	for b.Loop() {
		s.Record(r)
	}
}

func BenchmarkEncode(b *testing.B) {
	r := record(1)
	e := new(encoder)
	b.ReportAllocs()
	for b.Loop() {
		e.row(r)
		e.out.reset()
	}
	body, _ := json.Marshal(r)
	b.ReportMetric(float64(len(body)), "bytes/record")
}

func BenchmarkSaveLedger(b *testing.B) {
	s := open(b, dbPath(b), Options{Now: atEpoch})
	ledger := make([]byte, 2048)
	for b.Loop() {
		if err := s.SaveLedger(ledger); err != nil {
			b.Fatal(err)
		}
	}
}

// BenchmarkQuery looks through 50,000 records: the first page, and a filter
// that nothing matches.
func BenchmarkQuery(b *testing.B) {
	s := open(b, dbPath(b), Options{Recent: 1, Now: atEpoch})
	run(b, s)
	for i := range 50_000 {
		s.Record(record(i))
		if i%2000 == 1999 {
			flush(b, s)
		}
	}
	flush(b, s)
	for name, f := range map[string]Filter{
		"latest": {}, "nothing": {App: "nobody"}, "week": {Since: epoch.Add(49_000 * time.Second), App: "editor"},
	} {
		b.Run(name, func(b *testing.B) {
			for b.Loop() {
				if _, err := s.Decisions(b.Context(), f); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}
