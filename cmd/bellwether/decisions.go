package main

import (
	"cmp"
	"fmt"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"text/tabwriter"
	"time"

	"bellwether/engine/fleet"
	"bellwether/engine/route"
)

type decisionsCmd struct {
	ID      string `arg:"" optional:"" help:"One decision in full."`
	Limit   int    `help:"How many at most." default:"20"`
	App     string `help:"Of this app only."`
	Model   string `help:"For this model only."`
	Node    string `help:"Served by this machine only."`
	Outcome string `help:"With this outcome only: ok, truncated, client_disconnected, refused, failed, held_out, stream_invalid_after_commit."`
	Follow  bool   `help:"Go on printing new ones." short:"f"`
	Export  string `help:"Write decision ID as a scenario to FILE (- = standard output); bellwether explain FILE decides it again." placeholder:"FILE"`
}

// mostDecisions is the most the engine lists at once.
const mostDecisions = 1000

var outcomes = []fleet.Outcome{fleet.OutcomeOK, fleet.OutcomeTruncated, fleet.OutcomeClientDisconnected, fleet.OutcomeRefused,
	fleet.OutcomeFailed, fleet.OutcomeHeldOut, fleet.OutcomeStreamInvalidAfterCommit}

func (c *decisionsCmd) Run(e *environ) error {
	switch {
	case c.Limit < 1 || c.Limit > mostDecisions:
		return coded(exitUsage, "--limit takes a number from 1 to %d", mostDecisions)
	case c.Outcome != "" && !slices.Contains(outcomes, fleet.Outcome(c.Outcome)):
		return coded(exitUsage, "--outcome takes one of %s, not %q", joined(outcomes), c.Outcome)
	}
	if c.Export != "" && c.ID == "" {
		return coded(exitUsage, "--export needs the ID of a decision")
	}
	engine, err := e.engine()
	if err != nil {
		return err
	}
	if c.Export != "" {
		return c.export(e, engine)
	}
	if c.ID != "" {
		return c.one(e, engine)
	}
	began := time.Now()
	list, err := c.page(engine, c.Limit, time.Time{})
	if err != nil {
		return err
	}
	if err := e.printDecisions(list, true); err != nil || !c.Follow {
		return err
	}
	return c.follow(e, engine, list, began)
}

// How decisions are followed: a request is listed when it ends, in the place of
// its arrival, so each look goes back as far as the longest request may last.
const (
	followEvery  = 500 * time.Millisecond
	followPage   = 250
	followReach  = time.Hour // routing.timeouts.total, unless it was raised
	followLatest = 4 * followPage
)

// follow prints what ended after began and was not shown yet, until the engine
// or the user ends it.
func (c *decisionsCmd) follow(e *environ, engine *client, shown []*route.Record, began time.Time) error {
	seen := map[string]bool{}
	var order []string // of seen, so that the oldest can be forgotten
	note := func(list []*route.Record) {
		for _, r := range list {
			seen[r.RequestID] = true
			order = append(order, r.RequestID)
		}
		for len(order) > followLatest {
			delete(seen, order[0])
			order = order[1:]
		}
	}
	note(shown)
	look := time.NewTicker(followEvery)
	defer look.Stop()
	for range look.C {
		list, err := c.page(engine, followPage, time.Now().Add(-followReach))
		if err != nil {
			return err
		}
		list = slices.DeleteFunc(list, func(r *route.Record) bool { return seen[r.RequestID] || endOf(r).Before(began) })
		note(list)
		if err := e.printDecisions(list, false); err != nil {
			return err
		}
	}
	return nil
}

func endOf(r *route.Record) time.Time {
	return r.At.Add(time.Duration(r.Timing.TotalMs * float64(time.Millisecond)))
}

func joined[T ~string](list []T) string {
	var b strings.Builder
	for i, v := range list {
		if i > 0 {
			b.WriteString(", ")
		}
		b.WriteString(string(v))
	}
	return b.String()
}

func (c *decisionsCmd) page(engine *client, limit int, since time.Time) ([]*route.Record, error) {
	q := url.Values{"limit": {strconv.Itoa(limit)}}
	for name, v := range map[string]string{"app": c.App, "model": c.Model, "node": c.Node, "outcome": c.Outcome} {
		if v != "" {
			q.Set(name, v)
		}
	}
	if !since.IsZero() {
		q.Set("since", since.Format(time.RFC3339Nano))
	}
	var list []*route.Record
	err := engine.call("GET", "/admin/decisions?"+q.Encode(), nil, &list)
	return list, err
}

func (c *decisionsCmd) one(e *environ, engine *client) error {
	var rec route.Record
	if err := engine.call("GET", "/admin/decisions/"+url.PathEscape(c.ID), nil, &rec); err != nil {
		return err
	}
	if e.cli.JSON {
		return e.json(&rec)
	}
	status, err := engine.status()
	if err != nil {
		return err
	}
	e.printRecord(&rec, namesOf(status.Nodes))
	return nil
}

// printDecisions prints newest first as a table, or, followed, oldest first
// and without the heading.
func (e *environ) printDecisions(list []*route.Record, heading bool) error {
	if !heading {
		slices.Reverse(list)
	}
	if e.cli.JSON {
		for _, r := range list {
			if err := e.jsonLine(r); err != nil {
				return err
			}
		}
		return nil
	}
	w := tabwriter.NewWriter(e.out, 2, 0, 2, ' ', 0)
	if heading {
		fmt.Fprintln(w, "WHEN\tAPP\tMODEL\tSERVED BY\tOUTCOME\tQUEUE\tFIRST\tTOTAL\tTOKENS\tID")
	}
	for _, r := range list {
		fmt.Fprintf(w, "%s\t%s\t%s\t%s\t%s\t%s\t%s\t%s\t%s\t%s\n", clock(r.At), dash(r.App), dash(r.RequestedModel), servedBy(r),
			outcome(r), millis(r.Timing.QueueMs), millis(r.Timing.TTFTMs), millis(r.Timing.TotalMs), tokens(r.Usage), r.RequestID)
	}
	return w.Flush()
}

// servedBy is where a request ran, as people call it.
func servedBy(r *route.Record) string {
	id, ok := fleet.ParseDeploymentID(r.Chosen)
	if !ok {
		return "-"
	}
	return names{id.Node: cmp.Or(r.Node, id.Node)}.of(id)
}

func dash(s string) string {
	if s == "" {
		return "-"
	}
	return s
}

func millis(f float64) string {
	switch {
	case f <= 0:
		return "-"
	case f < 10:
		return fmt.Sprintf("%.1f ms", f)
	case f < 1000:
		return fmt.Sprintf("%.0f ms", f)
	default:
		return fmt.Sprintf("%.1f s", f/1000)
	}
}

func tokens(u *route.RecordUsage) string {
	if u == nil {
		return "-"
	}
	part := func(n *int) string {
		if n == nil {
			return "?"
		}
		return strconv.Itoa(*n)
	}
	if u.Output == nil { // embeddings
		return part(u.Input)
	}
	return part(u.Input) + " > " + part(u.Output)
}
