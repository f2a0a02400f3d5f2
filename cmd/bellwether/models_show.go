package main

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"
	"text/tabwriter"

	"bellwether/engine/admin"
	"bellwether/engine/fleet"
)

// modelsShowCmd prints all that is known of one model, or what an alias or an
// embedding contract stands for.
type modelsShowCmd struct{ modelName }

func (c *modelsShowCmd) Run(e *environ) error {
	engine, err := e.engine()
	if err != nil {
		return err
	}
	stands, err := engine.named(c.Name)
	if err != nil {
		return err
	}
	id, err := engine.find(c.Name)
	if stands != nil && (err != nil || !e.cli.JSON) { // a model may have the name too, and is shown behind
		if showErr := e.showName(stands); showErr != nil || err != nil {
			return showErr
		}
		e.printf("\n")
	}
	if err != nil {
		return err
	}
	all, err := engine.models()
	if err != nil {
		return err
	}
	i := slices.IndexFunc(all, func(m admin.ModelStatus) bool { return m.Deployment == id })
	if i < 0 {
		return coded(exitRefused, "%s has just gone", c.Name)
	}
	if e.cli.JSON {
		return e.json(all[i])
	}
	return e.showModel(&all[i])
}

func (e *environ) showModel(m *admin.ModelStatus) error {
	e.printf("%s on %s, %s\n", m.Deployment.Model, m.Deployment.Runtime, residency(m.Residency))
	if m.Known == nil {
		e.printf("Not in the catalogue: catalogue.yaml beside the settings file can add it.\n")
	} else {
		e.printf("In the catalogue as %s, licence %s\n", m.Known.Name, m.Known.Licence)
	}
	e.printf("Context: %s tokens", cmp.Or(strings.Trim(number(m.Context), "-"), "an unknown number of"))
	if m.ContextRead > 0 {
		e.printf(", %d of them seen to be read whole", m.ContextRead)
	}
	e.printf("\n")
	w := tabwriter.NewWriter(e.out, 2, 0, 2, ' ', 0)
	fmt.Fprintln(w, "\nCAN\t\tAS KNOWN FROM")
	for _, name := range slices.Sorted(maps.Keys(m.Capabilities)) {
		claim := m.Capabilities[name]
		from := claim.Source.String()
		if claim.Source == fleet.SourceProbe && !m.Probed.IsZero() {
			from += ", " + m.Probed.Format("2006-01-02")
		}
		fmt.Fprintf(w, "%s\t%s\t%s\n", name, claim.Support, from)
	}
	fmt.Fprintln(w, "\nQUALITY\t\tAS KNOWN FROM")
	for _, q := range m.Quality {
		fmt.Fprintf(w, "%s\t%.2f\t%s\n", q.Task, q.Value, origin(&q))
	}
	if len(m.Quality) == 0 {
		fmt.Fprintln(w, "unknown\t\tits size is all there is to guess by")
	}
	return w.Flush()
}

// origin says in words how a quality is known.
func origin(q *admin.QualityStatus) string {
	if n, ok := strings.CutPrefix(q.Evidence, "measured:"); ok {
		return fmt.Sprintf("measured here with %s items of %s, %s", n, q.Suite, q.At.Format("2006-01-02"))
	}
	from := strings.TrimPrefix(q.Evidence, "prior:")
	if from == "operator" {
		return "your settings"
	}
	return "published: " + from
}

// worth is the short form: what was measured or declared task by task, and of
// what others published the figure for any task.
func worth(quality []admin.QualityStatus) string {
	var parts []string
	for _, q := range quality {
		switch {
		case strings.HasPrefix(q.Evidence, "measured:"):
			parts = append(parts, fmt.Sprintf("%s %.2f (measured)", q.Task, q.Value))
		case q.Evidence == "prior:operator":
			parts = append(parts, fmt.Sprintf("%s %.2f (yours)", q.Task, q.Value))
		case q.Task == "any":
			parts = append(parts, fmt.Sprintf("%.2f (published)", q.Value))
		}
	}
	if len(parts) == 0 {
		return "-"
	}
	return strings.Join(parts, ", ")
}
