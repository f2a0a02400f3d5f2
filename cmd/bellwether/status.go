package main

import (
	"fmt"
	"os"
	"slices"
	"strings"
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
		e.printf("Records are not being written (%d lost so far): %s\n", s.Store.Dropped, s.Store.Reason)
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
			held = memory(p.Held())
		}
		e.printf("\nMemory %s: %s of %s held, margin %s\n", p.Name, held, memory(p.Limit), memory(p.Margin))
		w := tabwriter.NewWriter(e.out, 2, 0, 2, ' ', 0)
		for _, h := range holdings(p.Holders) {
			fmt.Fprintf(w, "  %s\t%s\t%s\n", called.of(h.deployment), h.size(), strings.Join(h.kinds, ", "))
		}
		_ = w.Flush()
	}
	if s.Held == 1 {
		e.printf("\n1 request is held until something can serve it.\n")
	} else if s.Held > 1 {
		e.printf("\n%d requests are held until something can serve them.\n", s.Held)
	}
}

// holding is what one deployment holds of a pool, however many reasons there
// are for it: the pool counts each deployment once.
type holding struct {
	deployment fleet.DeploymentID
	kinds      []string
	bytes      fleet.Reading[int64]
}

func holdings(holders []fleet.Holder) []*holding {
	var all []*holding
	for _, h := range holders {
		i := slices.IndexFunc(all, func(o *holding) bool { return o.deployment == h.Deployment })
		if i < 0 {
			i = len(all)
			all = append(all, &holding{deployment: h.Deployment})
		}
		o := all[i]
		if kind := string(h.Kind); !slices.Contains(o.kinds, kind) {
			o.kinds = append(o.kinds, kind)
		}
		if h.Bytes.Known && (!o.bytes.Known || h.Bytes.V > o.bytes.V) {
			o.bytes = h.Bytes
		}
	}
	return all
}

func (h *holding) size() string {
	if !h.bytes.Known {
		return "size unknown"
	}
	return memory(h.bytes.V)
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
	fmt.Fprintf(w, "  %s\t%s\t%s\t%s\t%s\t%s\n", m.Deployment.Model, residency(m.Residency), memory(size), context, busy, m.Degraded)
}
