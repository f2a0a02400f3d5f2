package main

import (
	"fmt"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"text/tabwriter"
	"time"

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
}

func (c *decisionsCmd) Run(e *environ) error {
	engine, err := e.engine()
	if err != nil {
		return err
	}
	if c.ID != "" {
		return c.one(e, engine)
	}
	list, err := c.page(engine, time.Time{})
	if err != nil {
		return err
	}
	if err := e.printDecisions(list, true); err != nil || !c.Follow {
		return err
	}
	last := time.Now()
	for {
		if len(list) > 0 {
			last = list[0].At.Add(time.Nanosecond)
		}
		time.Sleep(500 * time.Millisecond)
		if list, err = c.page(engine, last); err != nil {
			return err
		}
		if err := e.printDecisions(list, false); err != nil {
			return err
		}
	}
}

func (c *decisionsCmd) page(engine *client, since time.Time) ([]*route.Record, error) {
	q := url.Values{"limit": {strconv.Itoa(c.Limit)}}
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
	e.printRecord(&rec)
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
		fmt.Fprintf(w, "%s\t%s\t%s\t%s\t%s\t%s\t%s\t%s\t%s\t%s\n", clock(r.At), dash(r.App), dash(r.RequestedModel), dash(r.Chosen),
			r.Outcome, millis(r.Timing.QueueMs), millis(r.Timing.TTFTMs), millis(r.Timing.TotalMs), tokens(r.Usage), r.RequestID)
	}
	return w.Flush()
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
	return strings.Join([]string{part(u.Input), part(u.Output)}, " > ")
}
