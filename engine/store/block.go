package store

import (
	"bytes"
	"cmp"
	"context"
	"database/sql"
	"encoding/json"
	"errors"
	"slices"

	"github.com/klauspost/compress/s2"

	"bellwether/engine/route"
)

// Records lie in the file in blocks: those written together, as lines of JSON,
// compressed as one. Records of one fleet are much alike, so that a block of
// 256 takes a tenth of what they take alone, and one row where there were as
// many. S2 is used because it costs a sixth of zstd's fastest level and keeps
// no memory; zstd would make blocks of half the size, but beside the rows of
// decisions that is little.
const (
	blockRecords = 256     // most records in a block: what reading one has to unpack
	blockBytes   = 1 << 20 // most bytes of JSON in a block, unless one record alone has more
)

// blockLen returns how many of the rows make the next block.
func blockLen(rows []row) int {
	bytes := 0
	for i := range rows {
		bytes += len(rows[i].body)
		if i == blockRecords || i > 0 && bytes > blockBytes {
			return i
		}
	}
	return len(rows)
}

func byArrival(a, b row) int { return cmp.Compare(a.at, b.at) }

// packer compresses blocks. Its memory serves one block after the other.
type packer struct{ raw, packed []byte }

// pack returns the bodies of rows as a block; it is valid until the next call.
func (p *packer) pack(rows []row) []byte {
	p.raw = p.raw[:0]
	for i := range rows {
		p.raw = append(p.raw, rows[i].body...)
	}
	p.packed = s2.Encode(p.packed[:cap(p.packed)], p.raw)
	packed := p.packed
	if cap(p.raw) > 2*blockBytes { // one huge record should not stay for good
		*p = packer{}
	}
	return packed
}

// unpack returns the lines of a block, none if it is not sound.
func unpack(records []byte, packed bool) [][]byte {
	if packed {
		n, err := s2.DecodedLen(records)
		if err != nil || n > backlogMax { // no block has more: do not allocate what damage says
			return nil
		}
		if records, err = s2.Decode(nil, records); err != nil {
			return nil
		}
	}
	return bytes.Split(records, []byte("\n"))
}

// place is where a record lies: a block and a line in it, from 0.
type place struct {
	block int64
	line  int
}

// read returns the records at the places, in their order; nil for one that
// cannot be read back, which is counted.
func (s *Store) read(ctx context.Context, tx *sql.Tx, places []place) ([]*route.Record, error) {
	stmt, err := tx.PrepareContext(ctx, `SELECT packed, records FROM blocks WHERE seq = ?`)
	if err != nil {
		return nil, err
	}
	defer func() { _ = stmt.Close() }()
	// Block by block, so that each is unpacked once and one at a time.
	order := make([]int, len(places))
	for i := range order {
		order[i] = i
	}
	slices.SortStableFunc(order, func(a, b int) int { return cmp.Compare(places[a].block, places[b].block) })
	found := make([]*route.Record, len(places))
	var lines [][]byte
	for i, at := range order {
		p := places[at]
		if i == 0 || places[order[i-1]].block != p.block {
			var packed bool
			var records []byte
			if err := stmt.QueryRowContext(ctx, p.block).Scan(&packed, &records); err != nil && !errors.Is(err, sql.ErrNoRows) {
				return nil, err
			}
			lines = unpack(records, packed)
		}
		found[at] = s.decode(lines, p.line)
	}
	return found, nil
}

// decode reads one record of a block back, nil if it cannot be.
func (s *Store) decode(lines [][]byte, line int) *route.Record {
	r := new(route.Record)
	if line < 0 || line >= len(lines) || json.Unmarshal(lines[line], r) != nil {
		s.state.unreadable.Add(1)
		return nil
	}
	return r
}
