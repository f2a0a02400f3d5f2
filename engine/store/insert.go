package store

import (
	"context"
	"database/sql"
	"slices"
	"strings"
)

// insert writes records: its prepared statements, and the memory they are fed
// from. Guarded by write.mu, like the file.
type insert struct {
	statements
	packer packer
	args   []any
	kinds  map[kind]any // numbers of those met in the batch being written
}

// statements are those of an insert.
type statements struct {
	next  *sql.Stmt // number of the next block
	kind  *sql.Stmt // number of a kind, that no record of it arrived later than given
	block *sql.Stmt
	many  *sql.Stmt // rowsAtOnce rows
	one   *sql.Stmt
}

const (
	// rowsAtOnce rows go with one statement, which is a quarter cheaper than one
	// by one; what is left over of a block goes singly.
	rowsAtOnce = 32
	// rowBytes is about what a row of decisions takes in the file, with its
	// entry in the index.
	rowBytes = 120
)

func prepareInsert(ctx context.Context, db *sql.DB) (*insert, error) {
	const values = `(?, ?, ?, ?, ?)`
	// A request id that comes again replaces its record.
	const row = `INSERT OR REPLACE INTO decisions (at, id, kind, block, line) VALUES ` + values
	i := &insert{kinds: make(map[kind]any)}
	for _, p := range []struct {
		stmt **sql.Stmt
		text string
	}{
		{&i.next, `SELECT coalesce(max(seq), 0) + 1 FROM blocks`},
		{&i.kind, `INSERT INTO kinds (last, app, model, served, node, node_id, outcome) VALUES (?, ?, ?, ?, ?, ?, ?)
			ON CONFLICT DO UPDATE SET last = max(last, excluded.last) RETURNING seq`},
		{&i.block, `INSERT INTO blocks (seq, first, last, packed, records) VALUES (?, ?, ?, 1, ?)`},
		{&i.many, row + strings.Repeat(`, `+values, rowsAtOnce-1)},
		{&i.one, row},
	} {
		var err error
		if *p.stmt, err = db.PrepareContext(ctx, p.text); err != nil {
			i.close()
			return nil, err
		}
	}
	return i, nil
}

func (i *insert) close() {
	for _, stmt := range []*sql.Stmt{i.next, i.kind, i.block, i.many, i.one} {
		if stmt != nil {
			_ = stmt.Close()
		}
	}
}

// in returns the statements for use within tx.
func (s statements) in(ctx context.Context, tx *sql.Tx) statements {
	return statements{
		next: tx.StmtContext(ctx, s.next), kind: tx.StmtContext(ctx, s.kind), block: tx.StmtContext(ctx, s.block),
		many: tx.StmtContext(ctx, s.many), one: tx.StmtContext(ctx, s.one),
	}
}

// batch writes records in one transaction, all of them or none, and returns
// about how many bytes the file grew by.
func (i *insert) batch(ctx context.Context, db *sql.DB, batch []row) (grown int64, err error) {
	tx, err := db.BeginTx(ctx, nil)
	if err != nil {
		return 0, err
	}
	defer func() { _ = tx.Rollback() }()
	do := i.in(ctx, tx)
	var seq int64
	if err := do.next.QueryRowContext(ctx).Scan(&seq); err != nil {
		return 0, err
	}
	if err := i.writeKinds(ctx, do, batch); err != nil {
		return 0, err
	}
	for ; len(batch) > 0; seq++ {
		n := blockLen(batch)
		bytes, err := i.writeBlock(ctx, do, seq, batch[:n])
		if err != nil {
			return 0, err
		}
		grown += bytes
		batch = batch[n:]
	}
	return grown, tx.Commit()
}

// writeKinds finds or writes the kinds of a batch. It asks the file each time:
// a number kept from the batch before could have been cleaned up since, by
// another process, or never have been committed.
func (i *insert) writeKinds(ctx context.Context, do statements, batch []row) error {
	clear(i.kinds)
	last := slices.MaxFunc(batch, byArrival).at
	for j := range batch {
		k := batch[j].kind
		if _, met := i.kinds[k]; met {
			continue
		}
		var seq int64
		err := do.kind.QueryRowContext(ctx, last, k.app, k.model, k.served, k.node, k.nodeID, k.outcome).Scan(&seq)
		if err != nil {
			return err
		}
		i.kinds[k] = seq
	}
	return nil
}

// writeBlock writes the rows of a block, then the block. Not the other way
// round: where a record replaces another of its own block, the trigger would
// find that block without rows for a moment, and remove it.
func (i *insert) writeBlock(ctx context.Context, do statements, seq int64, rows []row) (grown int64, err error) {
	for line := 0; line < len(rows); {
		stmt, n := do.many, rowsAtOnce
		if len(rows)-line < n {
			stmt, n = do.one, 1
		}
		if _, err := stmt.ExecContext(ctx, i.argsOf(rows[line:line+n], seq, line)...); err != nil {
			return 0, err
		}
		line += n
	}
	packed := i.packer.pack(rows)
	first, last := slices.MinFunc(rows, byArrival).at, slices.MaxFunc(rows, byArrival).at
	_, err = do.block.ExecContext(ctx, seq, first, last, packed)
	return int64(len(packed) + len(rows)*rowBytes), err
}

// argsOf returns the rows' values for a statement, valid until the next call.
func (i *insert) argsOf(rows []row, seq int64, line int) []any {
	var block any = seq // once for all
	i.args = i.args[:0]
	for j := range rows {
		r := &rows[j]
		i.args = append(i.args, r.at, r.id, i.kinds[r.kind], block, line+j)
	}
	return i.args
}
