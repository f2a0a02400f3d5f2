package main

import (
	"strings"
	"time"

	"bellwether/engine"
	"bellwether/engine/admin"
)

type pauseCmd struct {
	For    *time.Duration `help:"Resume by itself after this long: 1h, 30m." placeholder:"TIME" xor:"end"`
	Until  string         `help:"Resume by itself: tomorrow (06:00), or a time like 18:30." xor:"end"`
	Reason string         `help:"Shown wherever the pause is." default:"paused by its owner"`
}

func (c *pauseCmd) Run(e *environ) error {
	body := map[string]any{"reason": c.Reason}
	switch {
	case c.For != nil && *c.For <= 0: // 0 would mean for ever
		return coded(exitUsage, "--for takes a time like 1h or 30m")
	case c.For != nil:
		body["seconds"] = c.For.Seconds()
	case c.Until != "":
		until, err := nextTime(c.Until, time.Now())
		if err != nil {
			return err
		}
		body["until"] = until
	}
	engine, err := e.engine()
	if err != nil {
		return err
	}
	return e.stateAfter(engine, "/admin/pause", body, "The pause holds when it is started again.")
}

// nextTime reads "tomorrow" or "15:04" as the next such moment after now.
func nextTime(s string, now time.Time) (time.Time, error) {
	day := func(t time.Time, hour, minute int) time.Time {
		return time.Date(t.Year(), t.Month(), t.Day(), hour, minute, 0, 0, t.Location())
	}
	if s == "tomorrow" {
		return engine.Tomorrow(now), nil
	}
	at, err := time.Parse("15:04", s)
	if err != nil {
		return time.Time{}, coded(exitUsage, "--until takes tomorrow or a time like 18:30, not %q", s)
	}
	t := day(now, at.Hour(), at.Minute())
	if !t.After(now) {
		t = day(now.AddDate(0, 0, 1), at.Hour(), at.Minute())
	}
	return t, nil
}

type resumeCmd struct{}

func (resumeCmd) Run(e *environ) error {
	engine, err := e.engine()
	if err != nil {
		return err
	}
	return e.stateAfter(engine, "/admin/resume", nil, "It takes work when it is started again.")
}

// stateAfter asks for a change and prints what state the machine is in then.
// then is what comes of the change when the engine is about to end.
func (e *environ) stateAfter(engine *client, path string, body any, then string) error {
	var s admin.Status
	if err := engine.call("POST", path, body, &s); err != nil {
		return err
	}
	stopping := s.Node.State == "draining"
	switch {
	case e.cli.JSON:
		err := e.json(struct {
			admin.NodeStatus
			Unsaved string `json:"unsaved,omitempty"`
		}{s.Node, s.Unsaved})
		if err != nil {
			return err
		}
	case stopping:
		e.printf("%s is stopping: it finishes what runs, takes nothing new, and ends. %s\n", s.Node.Name, then)
	case s.Node.Reason != "":
		e.printf("%s is %s: %s.\n", s.Node.Name, s.Node.State, s.Node.Reason)
	default:
		e.printf("%s is %s.\n", s.Node.Name, s.Node.State)
	}
	if s.Unsaved != "" {
		return coded(exitDegraded, "a restart undoes this, since it could not be saved: %s.\nMake room in %s, or let Bellwether write there, and say it again",
			strings.TrimRight(s.Unsaved, ". "), engine.folders.Data)
	}
	if stopping {
		return coded(exitDegraded, "")
	}
	return nil
}
