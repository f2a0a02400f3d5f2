package main

import (
	"fmt"
	"os"
	"text/tabwriter"

	"bellwether/engine/admin"
	"bellwether/engine/fleet"
)

type statusCmd struct {
	Snapshot string `help:"Save the fleet's state to FILE, for explain." type:"path" placeholder:"FILE"`
}

func (c *statusCmd) Run(e *environ) error {
	engine, err := e.engine()
	if err != nil {
		return err
	}
	if c.Snapshot != "" {
		var text []byte
		if err := engine.call("GET", "/admin/snapshot", nil, &text); err != nil {
			return err
		}
		if len(text) == 0 {
			return coded(exitFailed, "nothing is known of the fleet yet: try again in a moment")
		}
		if err := os.WriteFile(c.Snapshot, text, 0o600); err != nil {
			return fmt.Errorf("save the fleet's state: %w", err)
		}
		if e.cli.JSON {
			return e.json(map[string]string{"snapshot": c.Snapshot})
		}
		e.printf("Saved the fleet's state to %s.\n", c.Snapshot)
		return nil
	}
	s, err := engine.status()
	if err != nil {
		return err
	}
	if e.cli.JSON {
		if err := e.json(s); err != nil {
			return err
		}
	} else {
		e.printStatus(s)
	}
	if s.Node.State != "serving" || s.Node.Reason != "" || s.Store.Reason != "" {
		return coded(exitDegraded, "")
	}
	return nil
}

func (e *environ) printStatus(s *admin.Status) {
	line := s.Node.State
	if s.Node.Reason != "" {
		line += ": " + s.Node.Reason
	}
	e.printf("%s is %s. Apps point at %s\n", s.Node.Name, line, s.Address)
	if s.Store.Reason != "" {
		e.printf("Records are being dropped (%d so far): %s\n", s.Store.Dropped, s.Store.Reason)
	}
	for _, rt := range s.Runtimes {
		state := "up"
		if !rt.Up {
			state = "down: " + rt.Reason
		}
		e.printf("\n%s (%s %s), %s\n", rt.Name, rt.Kind, rt.Version, state)
		w := tabwriter.NewWriter(e.out, 2, 0, 2, ' ', 0)
		for _, m := range rt.Models {
			e.modelRow(w, &m)
		}
		_ = w.Flush()
	}
	if len(s.Runtimes) == 0 {
		e.printf("\nNo runtime was found on this machine. bellwether doctor says what to start.\n")
	}
	called := namesOf(s.Nodes)
	for _, p := range s.Pools {
		held := "nothing"
		if p.Held() > 0 {
			held = gb(p.Held())
		}
		e.printf("\nMemory %s: %s of %s held, margin %s\n", p.Name, held, gb(p.Limit), gb(p.Margin))
		for _, h := range p.Holders {
			size := "unknown"
			if h.Bytes.Known {
				size = gb(h.Bytes.V)
			}
			e.printf("  %-9s %-9s %s\n", h.Kind, size, called.of(h.Deployment))
		}
	}
	if s.Held > 0 {
		e.printf("\n%d requests are held until something can serve them.\n", s.Held)
	}
}

func (e *environ) modelRow(w *tabwriter.Writer, m *admin.ModelStatus) {
	size := m.WeightsBytes
	if m.Residency == fleet.Loaded && m.MemoryBytes > 0 {
		size = m.MemoryBytes
	}
	busy := ""
	if m.Running+m.Waiting > 0 {
		busy = fmt.Sprintf("%d running, %d waiting", m.Running, m.Waiting)
	}
	context := "-"
	if m.Context > 0 {
		context = fmt.Sprintf("%d tokens", m.Context)
	}
	fmt.Fprintf(w, "  %s\t%s\t%s\t%s\t%s\t%s\n", m.Deployment.Model, residency(m.Residency), gb(size), context, busy, m.Degraded)
}
