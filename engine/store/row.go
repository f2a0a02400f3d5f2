package store

import (
	"context"
	"database/sql"
	"encoding/json"
	"errors"

	"bellwether/engine/fleet"
	"bellwether/engine/route"
)

// row is one record ready to be written.
type row struct {
	at                                            int64 // unix nanoseconds
	id, app, model, served, node, nodeID, outcome string
	body                                          string // route.Record as JSON
}

// encode makes the row of a record.
func encode(r *route.Record) (row, error) {
	body, err := json.Marshal(r)
	if err != nil {
		return row{}, err
	}
	line := row{
		at: r.At.UnixNano(), id: r.RequestID, app: r.App, model: fleet.CanonicalModel(r.RequestedModel),
		node: r.Node, outcome: string(r.Outcome), body: string(body),
	}
	if id, ok := fleet.ParseDeploymentID(r.Chosen); ok {
		line.served, line.nodeID = fleet.CanonicalModel(id.Model), id.Node
	}
	return line, nil
}

// insert holds the two prepared statements that write a record.
type insert struct{ body, decision *sql.Stmt }

func prepareInsert(ctx context.Context, db *sql.DB) (*insert, error) {
	body, err := db.PrepareContext(ctx, `INSERT INTO bodies (record) VALUES (?)`)
	if err != nil {
		return nil, err
	}
	// A request id that comes again replaces its record.
	decision, err := db.PrepareContext(ctx, `INSERT OR REPLACE INTO decisions
		(at, id, app, model, served, node, node_id, outcome, body) VALUES (?, ?, ?, ?, ?, ?, ?, ?, last_insert_rowid())`)
	if err != nil {
		return nil, errors.Join(err, body.Close())
	}
	return &insert{body, decision}, nil
}

func (i *insert) close() {
	_ = i.body.Close()
	_ = i.decision.Close()
}

// rows writes a batch in one transaction: all of it or nothing.
func (i *insert) rows(ctx context.Context, db *sql.DB, batch []row) error {
	tx, err := db.BeginTx(ctx, nil)
	if err != nil {
		return err
	}
	defer func() { _ = tx.Rollback() }()
	body, decision := tx.StmtContext(ctx, i.body), tx.StmtContext(ctx, i.decision)
	for j := range batch {
		r := &batch[j]
		if _, err := body.ExecContext(ctx, r.body); err != nil {
			return err
		}
		if _, err := decision.ExecContext(ctx, r.at, r.id, r.app, r.model, r.served, r.node, r.nodeID, r.outcome); err != nil {
			return err
		}
	}
	return tx.Commit()
}
