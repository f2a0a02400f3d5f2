package main

import (
	"context"
	"os"
	"os/signal"
	"strings"
	"syscall"

	"bellwether/engine/admin"
	"bellwether/engine/fleet"
	"bellwether/engine/measure"
)

type probeCmd struct {
	Models []string `arg:"" optional:"" predictor:"model" placeholder:"MODEL" help:"Models, or runtime/model."`
	All    bool     `help:"Probe every model that is here."`
}

func (c *probeCmd) Run(e *environ) error {
	if len(c.Models) == 0 == !c.All {
		return coded(exitUsage, "name the models to probe, or say --all")
	}
	engine, err := e.engine()
	if err != nil {
		return err
	}
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	asked, found, name := 0, 0, ""
	err = linesOf(ctx, engine, "/admin/probe", admin.ProbeWish{Models: c.Models, All: c.All}, func(f measure.Finding) error {
		if !f.Skipped {
			asked++
		}
		if f.Support != fleet.Unknown {
			found++
		}
		if e.cli.JSON {
			return e.jsonLine(f)
		}
		if f.Name != name {
			name = f.Name
			e.printf("%s\n", name)
		}
		if f.Capability == "" {
			e.printf("  ended early: %s\n", strings.TrimRight(f.Reason, ". "))
			return nil
		}
		said := f.Support.String()
		if f.Skipped {
			said = "skipped"
		}
		e.printf("  %-21s %-8s %s\n", f.Capability, said, strings.TrimRight(f.Reason, ". "))
		return nil
	})
	switch {
	case ctx.Err() != nil:
		return coded(exitDegraded, "stopped; what was found so far is kept")
	case err != nil:
		return err
	case found < asked:
		return coded(exitDegraded, "")
	}
	return nil
}
