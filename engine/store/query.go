package store

import (
	"cmp"
	"context"
	"database/sql"
	"fmt"
	"slices"
	"strings"
	"time"

	"bellwether/engine/fleet"
	"bellwether/engine/route"
)

// Limits of one page of a query.
const (
	pageDefault = 50
	pageMax     = 1000
)

// Filter says which decisions are wanted. Fields left empty do not restrict.
type Filter struct {
	Limit   int    // most records returned; 50 if 0, 1,000 at most
	App     string // as recorded
	Model   string // as asked or as served, in any spelling of the name
	Node    string // name or id of the node that served
	Outcome string // ok, failed ...
	Since   time.Time
	Before  time.Time // exclusive
	// After continues a listing: the request id of the last record of the page
	// before.
	After string
}

// Decisions returns the records that the filter lets through, latest arrival
// first. A record is visible as soon as Record returned. While the file is out
// of reach only the most recent records are found, without an error: Health
// says so.
func (s *Store) Decisions(ctx context.Context, f Filter) ([]*route.Record, error) {
	q := query{Filter: f, model: fleet.CanonicalModel(f.Model), limit: pageDefault}
	if f.Limit > 0 {
		q.limit = min(f.Limit, pageMax)
	}
	// The ring is read before the file: what leaves it in between was there.
	recent := s.ring.latest()
	if f.After != "" {
		last, err := s.Decision(ctx, f.After)
		if err != nil {
			return nil, fmt.Errorf("continue after %q: %w", f.After, err)
		}
		q.from = last
	}
	found := slices.DeleteFunc(slices.Clone(recent), func(r *route.Record) bool { return !q.matches(r) })
	stored, err := s.stored(ctx, &q)
	if err != nil {
		return nil, err
	}
	fresh := make(map[string]bool, len(recent))
	for _, r := range recent {
		fresh[r.RequestID] = true
	}
	for _, r := range stored {
		if r != nil && !fresh[r.RequestID] {
			found = append(found, r)
		}
	}
	slices.SortFunc(found, later)
	return found[:min(len(found), q.limit)], nil
}

// Decision returns the record of one request, ErrNotFound if there is none.
func (s *Store) Decision(ctx context.Context, id string) (*route.Record, error) {
	for _, r := range s.ring.latest() {
		if r.RequestID == id {
			return r, nil
		}
	}
	found, err := s.stored(ctx, &query{id: id, limit: 1})
	if err != nil {
		return nil, err
	}
	if len(found) == 0 {
		return nil, ErrNotFound
	}
	if found[0] == nil {
		return nil, fmt.Errorf("the record of %s cannot be read back", id)
	}
	return found[0], nil
}

// query is a filter made ready.
type query struct {
	Filter
	model string        // canonical
	id    string        // the one record wanted, "" = any
	from  *route.Record // last of the page before, nil = first page
	limit int
}

// later orders records: latest arrival first, equal ones by id.
func later(a, b *route.Record) int {
	if c := cmp.Compare(b.At.UnixNano(), a.At.UnixNano()); c != 0 {
		return c
	}
	return cmp.Compare(b.RequestID, a.RequestID)
}

// matches is the filter over a record in memory; where is the same in SQL.
func (q *query) matches(r *route.Record) bool {
	chosen, _ := fleet.ParseDeploymentID(r.Chosen)
	at := r.At.UnixNano()
	switch {
	case q.App != "" && q.App != r.App,
		q.Outcome != "" && q.Outcome != string(r.Outcome),
		q.Node != "" && q.Node != r.Node && q.Node != chosen.Node,
		q.Model != "" && q.model != fleet.CanonicalModel(r.RequestedModel) && q.model != fleet.CanonicalModel(chosen.Model),
		!q.Since.IsZero() && at < q.Since.UnixNano(),
		!q.Before.IsZero() && at >= q.Before.UnixNano(),
		q.from != nil && later(r, q.from) <= 0:
		return false
	}
	return true
}

// where returns the filter as SQL and its arguments.
func (q *query) where() (string, []any) {
	var of, all terms
	if q.App != "" {
		of.add(`app = ?`, q.App)
	}
	if q.Outcome != "" {
		of.add(`outcome = ?`, q.Outcome)
	}
	if q.Node != "" {
		of.add(`(node = ? OR node_id = ?)`, q.Node, q.Node)
	}
	if q.Model != "" {
		of.add(`(model = ? OR served = ?)`, q.model, q.model)
	}
	if len(of.texts) > 0 {
		all.add(`kind IN (SELECT seq FROM kinds WHERE `+of.text()+`)`, of.args...)
	}
	if q.id != "" {
		all.add(`id = ?`, q.id)
	}
	if !q.Since.IsZero() {
		all.add(`at >= ?`, q.Since.UnixNano())
	}
	if !q.Before.IsZero() {
		all.add(`at < ?`, q.Before.UnixNano())
	}
	if q.from != nil {
		all.add(`(at, id) < (?, ?)`, q.from.At.UnixNano(), q.from.RequestID)
	}
	return all.text(), all.args
}

// terms are conditions that must all hold, and their arguments.
type terms struct {
	texts []string
	args  []any
}

func (t *terms) add(text string, args ...any) {
	t.texts = append(t.texts, text)
	t.args = append(t.args, args...)
}

func (t *terms) text() string {
	if len(t.texts) == 0 {
		return "1"
	}
	return strings.Join(t.texts, " AND ")
}

// stored returns one page from the file; nil stands for a record that cannot
// be read back.
func (s *Store) stored(ctx context.Context, q *query) ([]*route.Record, error) {
	readers := s.write.readers.Load()
	if readers == nil {
		return nil, nil
	}
	// One transaction: no clean-up falls between finding a record and reading it.
	tx, err := readers.BeginTx(ctx, &sql.TxOptions{ReadOnly: true})
	if err != nil {
		return nil, s.readFailed(err)
	}
	defer func() { _ = tx.Rollback() }()
	places, err := q.find(ctx, tx)
	if err != nil {
		return nil, s.readFailed(err)
	}
	found, err := s.read(ctx, tx, places)
	if err != nil {
		return nil, s.readFailed(err)
	}
	return found, nil
}

// find returns where the records of the page lie.
func (q *query) find(ctx context.Context, tx *sql.Tx) ([]place, error) {
	where, args := q.where()
	rows, err := tx.QueryContext(ctx, `SELECT block, line FROM decisions
		WHERE `+where+` ORDER BY at DESC, id DESC LIMIT ?`, append(args, q.limit)...)
	if err != nil {
		return nil, err
	}
	defer func() { _ = rows.Close() }()
	var places []place
	for rows.Next() {
		var p place
		if err := rows.Scan(&p.block, &p.line); err != nil {
			return nil, err
		}
		places = append(places, p)
	}
	return places, rows.Err()
}

// readFailed wraps an error of a query and has damage looked into by the next
// write.
func (s *Store) readFailed(err error) error {
	if isDamaged(err) {
		s.suspect.Store(true)
		s.trouble(err)
	}
	if primary(err) == 0 {
		return err // the caller's context, most likely
	}
	return explain(err)
}
