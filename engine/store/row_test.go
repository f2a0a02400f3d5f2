package store

import (
	"bytes"
	"strings"
	"testing"
)

// The bodies of a batch share memory, which serves the next batch: none may
// run into another, whatever their lengths.
func TestBodiesKeepTheirTextUntilTheBatchIsWritten(t *testing.T) {
	e := new(encoder)
	for batch := range 3 {
		var rows []row
		var want [][]byte
		for n := range 2 * batchSize {
			r := record(n)
			r.Problem = strings.Repeat("x", n*n%7919)
			if n%500 == 7 {
				r.Problem = strings.Repeat("y", 2*linesPiece)
			}
			line := e.row(r)
			rows = append(rows, line)
			want = append(want, bytes.Clone(line.body))
		}
		for n := range rows {
			if !bytes.Equal(rows[n].body, want[n]) {
				t.Fatalf("batch %d: the body of record %d was written over", batch, n)
			}
		}
		if kept := len(e.out.pieces); kept > linesKept {
			t.Errorf("batch %d: %d pieces are kept, %d at most", batch, kept, linesKept)
		}
		e.out.reset()
	}
}
