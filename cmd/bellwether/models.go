package main

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"slices"
	"strings"
	"text/tabwriter"

	"bellwether/engine/admin"
	"bellwether/engine/fleet"
)

type modelsCmd struct {
	List   modelsListCmd   `cmd:"" default:"withargs" help:"What is where."`
	Show   modelsShowCmd   `cmd:"" help:"All that is known of a model, and how."`
	Pull   modelsPullCmd   `cmd:"" help:"Fetch a model, with progress."`
	Load   modelsLoadCmd   `cmd:"" help:"Bring a model into memory."`
	Unload modelsUnloadCmd `cmd:"" help:"Take a model out of memory."`
	Delete modelsDeleteCmd `cmd:"" help:"Delete a model from its machine."`
	Pin    modelsPinCmd    `cmd:"" help:"Never unload a model for another."`
	Unpin  modelsUnpinCmd  `cmd:"" help:"Let a pinned model be unloaded again when memory is needed."`
}

type modelsListCmd struct{}

func (modelsListCmd) Run(e *environ) error {
	engine, err := e.engine()
	if err != nil {
		return err
	}
	all, err := engine.models()
	if err != nil {
		return err
	}
	if e.cli.JSON {
		return e.json(all)
	}
	if len(all) == 0 {
		e.printf("No models yet. bellwether models pull NAME fetches one.\n")
		return nil
	}
	w := tabwriter.NewWriter(e.out, 2, 0, 2, ' ', 0)
	fmt.Fprintln(w, "MODEL\tRUNTIME\tSTATE\tDISK\tMEMORY\tCONTEXT\tQUALITY\tCAN")
	for _, m := range all {
		state := residency(m.Residency)
		if m.Degraded != "" {
			state += " (" + m.Degraded + ")"
		}
		fmt.Fprintf(w, "%s\t%s\t%s\t%s\t%s\t%s\t%s\t%s\n", m.Deployment.Model, m.Deployment.Runtime, state,
			memory(m.WeightsBytes), memory(m.MemoryBytes), number(m.Context), worth(m.Quality), abilities(m.Capabilities))
	}
	if err := w.Flush(); err != nil {
		return err
	}
	return e.printContracts(engine)
}

// printContracts shows what embedding contracts are bound to, if there are any.
func (e *environ) printContracts(engine *client) error {
	s, err := engine.status()
	if err != nil || len(s.Contracts) == 0 {
		return err
	}
	e.printf("\n")
	w := tabwriter.NewWriter(e.out, 2, 0, 2, ' ', 0)
	fmt.Fprintln(w, "EMBEDDING CONTRACT\tBOUND TO\tHOW\tREPLICAS")
	for _, c := range s.Contracts {
		bound, how, replicas := "nothing yet", "-", fewOf(c.Replicas)
		if a := c.Anchor; a != nil {
			bound, how = fleet.ShortIdentity(a.Identity), string(a.Source)
			if a.From != "" {
				how += " (" + a.From + ")"
			}
		}
		if replicas == "" {
			replicas = "none"
		}
		if out := len(c.Out) + len(c.Absent); out > 0 {
			replicas += fmt.Sprintf("; %d out, see bellwether doctor", out)
		}
		fmt.Fprintf(w, "%s\t%s\t%s\t%s\n", c.Name, bound, how, replicas)
	}
	return w.Flush()
}

// residency is where a model's weights are, in words.
func residency(r fleet.Residency) string { return strings.ReplaceAll(r.String(), "_", " ") }

func number(n int) string {
	if n == 0 {
		return "-"
	}
	return fmt.Sprint(n)
}

// abilities lists what is known to be supported, each with its source.
func abilities(c fleet.Capabilities) string {
	var yes []string
	for name, claim := range c {
		if claim.Support == fleet.Yes {
			yes = append(yes, string(name)+" ("+claim.Source.String()+")")
		}
	}
	slices.Sort(yes)
	return strings.Join(yes, ", ")
}

func (c *client) models() ([]admin.ModelStatus, error) {
	s, err := c.status()
	if err != nil {
		return nil, err
	}
	return modelsOf(s), nil
}

// modelsOf are those of every runtime, each runtime's in the order of names.
func modelsOf(s *admin.Status) []admin.ModelStatus {
	all := []admin.ModelStatus{}
	for _, rt := range s.Runtimes {
		all = append(all, rt.Models...)
		slices.SortStableFunc(all[len(all)-len(rt.Models):], func(a, b admin.ModelStatus) int { return fleet.Natural(a.Deployment.Model, b.Deployment.Model) })
	}
	return all
}

// find returns the deployment a name means: an id, with the machine's id or name
// or without it, or a model's name that one runtime alone has.
func (c *client) find(name string) (fleet.DeploymentID, error) {
	s, err := c.status()
	if err != nil {
		return fleet.DeploymentID{}, err
	}
	var found []fleet.DeploymentID
	called := namesOf(s.Nodes)
	for _, m := range modelsOf(s) {
		if m.Deployment.String() == name || strings.EqualFold(called.of(m.Deployment), name) || m.Deployment.Runtime+"/"+m.Deployment.Model == name {
			return m.Deployment, nil
		}
		if fleet.SameModel(m.Deployment.Model, name) {
			found = append(found, m.Deployment)
		}
	}
	switch len(found) {
	case 0:
		return fleet.DeploymentID{}, c.noModel(name)
	case 1:
		return found[0], nil
	default:
		var ids []string
		for _, f := range found {
			ids = append(ids, f.Runtime+"/"+f.Model)
		}
		return fleet.DeploymentID{}, coded(exitUsage, "%s is in several places, name one: %s", name, strings.Join(ids, ", "))
	}
}

type modelName struct {
	Name string `arg:"" predictor:"model" help:"The model, or runtime/model where several have it."`
}

type modelsLoadCmd struct{ modelName }

func (c *modelsLoadCmd) Run(e *environ) error { return e.onModel("load", "Loaded", c.Name) }

type modelsUnloadCmd struct{ modelName }

func (c *modelsUnloadCmd) Run(e *environ) error { return e.onModel("unload", "Unloaded", c.Name) }

type modelsPinCmd struct{ modelName }

func (c *modelsPinCmd) Run(e *environ) error { return e.pin("pin", "Pinned", c.Name) }

type modelsUnpinCmd struct{ modelName }

func (c *modelsUnpinCmd) Run(e *environ) error { return e.pin("unpin", "Unpinned", c.Name) }

// pin changes the list of pinned models, which is by name: it holds wherever a
// model is, and one that is gone can still be taken off it.
func (e *environ) pin(action, done, name string) error {
	engine, err := e.engine()
	if err != nil {
		return err
	}
	if id, err := engine.find(name); err == nil {
		name = id.Model
	}
	if err := engine.call("POST", "/admin/models/"+action, map[string]any{"model": name}, nil); err != nil {
		return err
	}
	if e.cli.JSON {
		return e.json(map[string]any{"model": name, "done": action})
	}
	e.printf("%s %s.\n", done, name)
	return nil
}

type modelsDeleteCmd struct {
	modelName
	Yes bool `help:"Do not ask." short:"y"`
}

func (c *modelsDeleteCmd) Run(e *environ) error {
	if !c.Yes {
		e.printf("Delete %s from this machine's disk? [y/N] ", c.Name)
		var answer string
		_, _ = fmt.Fscanln(e.in, &answer)
		if !strings.HasPrefix(strings.ToLower(answer), "y") {
			return coded(exitRefused, "nothing was deleted")
		}
	}
	return e.onModel("delete", "Deleted", c.Name)
}

func (e *environ) onModel(action, done, name string) error {
	engine, err := e.engine()
	if err != nil {
		return err
	}
	id, err := engine.find(name)
	if err != nil {
		return err
	}
	if err := engine.await("POST", "/admin/models/"+action, map[string]any{"deployment": id}, nil); err != nil {
		return err
	}
	if e.cli.JSON {
		return e.json(map[string]any{"deployment": id, "done": action})
	}
	e.printf("%s %s on %s.\n", done, id.Model, id.Runtime)
	return nil
}

type modelsPullCmd struct {
	Name string `arg:"" help:"The model's name, as its registry spells it."`
}

func (c *modelsPullCmd) Run(e *environ) error {
	engine, err := e.engine()
	if err != nil {
		return err
	}
	body, _ := json.Marshal(map[string]string{"model": c.Name})
	resp, err := engine.open(context.Background(), "POST", "/admin/models/pull", strings.NewReader(string(body)))
	if err != nil {
		return err
	}
	defer resp.Body.Close()
	lines, shown := json.NewDecoder(resp.Body), progress{out: e}
	for {
		var p admin.Progress
		switch err := lines.Decode(&p); {
		case err == io.EOF:
			shown.end(c.Name)
			return nil
		case err != nil:
			return coded(exitFailed, "the pull broke off: %w", err)
		case p.Error != "":
			return coded(exitFailed, "%s could not be pulled: %s", c.Name, p.Error)
		}
		shown.step(&p)
	}
}

// progress prints a pull: for programs each step, for people each new phase
// and every tenth of it.
type progress struct {
	out    *environ
	status string
	tenth  int64
}

func (s *progress) step(p *admin.Progress) {
	if s.out.cli.JSON {
		_ = s.out.jsonLine(p)
		return
	}
	tenth := int64(0)
	if p.Total > 0 {
		tenth = 10 * p.Completed / p.Total
	}
	if p.Status == s.status && tenth == s.tenth {
		return
	}
	s.status, s.tenth = p.Status, tenth
	if p.Total > 0 {
		s.out.printf("%s: %s of %s (%d %%)\n", p.Status, memory(p.Completed), memory(p.Total), 100*p.Completed/p.Total)
		return
	}
	s.out.printf("%s\n", p.Status)
}

func (s *progress) end(model string) {
	if !s.out.cli.JSON {
		s.out.printf("Pulled %s.\n", model)
	}
}
