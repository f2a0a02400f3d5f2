package engine

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"

	"bellwether/engine/fleet"
	"bellwether/engine/runtime"
)

// oldOllama is the version before which an Ollama lacks what is asked of it.
var oldOllama = [2]int{0, 9}

// checkRuntimes tells of runtimes that are too old, or whose parallelism
// nobody says.
func checkRuntimes(s *scene) (out []check) {
	n := s.local()
	if n == nil {
		return nil
	}
	for i := range n.Runtimes {
		r := &n.Runtimes[i]
		if !r.Up || r.Kind != runtime.KindOllama {
			continue
		}
		if v, ok := versionOf(r.Version); ok && (v[0] < oldOllama[0] || v[0] == oldOllama[0] && v[1] < oldOllama[1]) {
			out = append(out, found("version."+r.Name, isWarning, "Version of "+r.Name, "Update Ollama: from 0.9 on it says what its models can do, and can be told whether they think.",
				"%s is Ollama %s, which is old.", r.Name, r.Version))
		}
		if undeclared(s, n, r.Name) {
			out = append(out, found("parallel."+r.Name, isNote, "Parallel requests of "+r.Name, "Set runtimes[].parallel to what OLLAMA_NUM_PARALLEL is; until then it is learned from requests.",
				"Nobody says how many requests %s runs at once.", r.Name).about("runtimes"))
		}
	}
	return out
}

// undeclared reports whether a runtime has models and neither its settings nor
// its answers have told how many requests it runs.
func undeclared(s *scene, n *fleet.Node, name string) bool {
	models := 0
	for i := range n.Deployments {
		d := &n.Deployments[i]
		if d.ID.Runtime != name {
			continue
		}
		models++
		if d.Slots > 0 && d.Can(fleet.CapChat).Support == fleet.Yes || s.book.Slots(d).Known() {
			return false
		}
	}
	for _, r := range s.config.Runtimes {
		if strings.EqualFold(r.Name, name) && r.Parallel > 0 {
			return false
		}
	}
	return models > 0
}

// versionOf reads major and minor.
func versionOf(s string) (v [2]int, ok bool) {
	major, rest, _ := strings.Cut(strings.TrimPrefix(s, "v"), ".")
	minor, _, _ := strings.Cut(rest, ".")
	a, errA := strconv.Atoi(major)
	b, errB := strconv.Atoi(minor)
	return [2]int{a, b}, errA == nil && errB == nil
}

// checkModels tells of models that are slower than they should be, or broken.
func checkModels(s *scene) (out []check) {
	s.eachModel(func(n *fleet.Node, d *fleet.Deployment) {
		where := d.ID.Model + " on " + d.ID.Runtime + " of " + n.Name
		if d.Unhealthy != "" {
			out = append(out, found("model."+d.ID.Runtime+"/"+d.ID.Model, isBroken, "Model "+d.ID.Model, "", "%s: %s.", where, d.Unhealthy).of(d.ID))
		}
		if d.Degraded == "" {
			return
		}
		c := found("model."+d.ID.Runtime+"/"+d.ID.Model, isWarning, "Model "+d.ID.Model, "Unload it: the next request loads it whole. If it stays so, restart the runtime.", "%s: %s.", where, d.Degraded).of(d.ID)
		if d.Residency == fleet.Loaded && n.Local {
			id := d.ID
			c = c.button("Unload", "Unload "+d.ID.Model+"? The next request for it waits until it is loaded again.", func(ctx context.Context) error { return s.do.unload(ctx, id) })
		}
		out = append(out, c)
	})
	return out
}

// mostAsked is how many models of one kind of finding are told by name.
const mostAsked = 10

// checkCapabilities tells of chat models of which nobody knows whether they
// can use tools or see.
func checkCapabilities(s *scene) (out []check) {
	s.eachModel(func(n *fleet.Node, d *fleet.Deployment) {
		if d.Can(fleet.CapChat).Support == fleet.No || d.Can(fleet.CapEmbedding).Support == fleet.Yes || len(out) == mostAsked {
			return
		}
		var unknown []string
		for _, c := range []fleet.Capability{fleet.CapChat, fleet.CapTools, fleet.CapVision} {
			if d.Can(c).Support == fleet.Unknown {
				unknown = append(unknown, string(c))
			}
		}
		if len(unknown) == 0 {
			return
		}
		id := d.ID
		c := found("capability."+d.ID.Runtime+"/"+d.ID.Model, isNote, "Abilities of "+d.ID.Model, "Probe it, or declare it under deployments: what is not known counts as no.",
			"Nobody knows of %s on %s of %s whether it can: %s.", d.ID.Model, d.ID.Runtime, n.Name, strings.Join(unknown, ", ")).of(d.ID).about("deployments")
		out = append(out, c.button("Probe", "Probe "+d.ID.Model+"? It is asked a few short questions, and loaded for them if need be.", func(ctx context.Context) error { return s.do.probe(ctx, id) }))
	})
	return out
}

// checkGrades tells when no chat model was ever graded here. A model that is in
// several places is one.
func checkGrades(s *scene) []check {
	models := map[string]bool{} // graded, by name
	s.eachModel(func(_ *fleet.Node, d *fleet.Deployment) {
		if d.Can(fleet.CapChat).Support == fleet.Yes {
			name := fleet.CanonicalModel(d.ID.Model)
			models[name] = models[name] || len(s.book.Grades(d)) > 0
		}
	})
	chat, graded := len(models), 0
	for _, is := range models {
		if is {
			graded++
		}
	}
	switch {
	case chat < 2: // nothing to choose among
		return nil
	case graded == 0:
		return []check{found("eval", isNote, "Quality", "bellwether eval --mode live --save-measurements grades them here, on what your machines really run.",
			"None of the %d chat models was graded here: aliases choose by published scores and by size.", chat)}
	}
	return []check{found("eval", isOK, "Quality", "", "%d of %d chat models were graded here.", graded, chat)}
}

// checkSizes tells of models whose size nobody knows.
func checkSizes(s *scene) []check {
	var names []string
	s.eachModel(func(_ *fleet.Node, d *fleet.Deployment) {
		if d.WeightsBytes <= 0 && d.ResidentBytes <= 0 {
			names = append(names, d.ID.Model)
		}
	})
	if len(names) == 0 {
		return nil
	}
	slices.Sort(names)
	severity, effect := isNote, "they count as nothing in the memory budget"
	if s.policy.UnknownMemory == "reject" {
		severity, effect = isWarning, "they are refused (unknown_memory_policy: reject)"
	}
	return []check{found("memory.unknown", severity, "Sizes of models", "Declare memory_gb under deployments.", "The size of %s is not known, so %s.", fewOf(names), effect).about("deployments")}
}

// checkDeadlines tells of runtimes whose own deadline is shorter than loading
// one of their models takes: each try would be cut off, for ever.
func checkDeadlines(s *scene) (out []check) {
	n := s.local()
	if n == nil {
		return nil
	}
	for _, r := range s.config.Runtimes {
		limit := r.Timeouts.FirstContent
		if limit <= 0 {
			continue
		}
		slow := map[string]time.Duration{}
		for i := range n.Deployments {
			if d := &n.Deployments[i]; strings.EqualFold(d.ID.Runtime, r.Name) {
				if took := loadTime(s, d); took > limit {
					slow[d.ID.Model] = took
				}
			}
		}
		for _, model := range slices.Sorted(maps.Keys(slow)) {
			out = append(out, found("deadline."+r.Name+"/"+model, isWarning, "Deadline of "+r.Name, "Raise timeouts.first_content of "+r.Name+" under runtimes.",
				"Loading %s takes about %s, and %s gives first content %s: every first try is cut off.", model, lasting(slow[model]), r.Name, lasting(limit)).
				of(fleet.DeploymentID{Node: n.Node, Runtime: r.Name, Model: model}).about("runtimes"))
		}
	}
	return out
}

// loadTime is how long a load takes: measured, else by a disk of 2 GB/s.
func loadTime(s *scene, d *fleet.Deployment) time.Duration {
	seconds := float64(d.WeightsBytes) / 2e9
	if f := s.book.Load(d); f.Known() {
		seconds = f.V
	}
	return time.Duration(seconds * float64(time.Second))
}

// checkAliases tells of aliases that have lost members.
func checkAliases(s *scene) (out []check) {
	for name := range sortedNames(s.policy.Aliases) {
		members, absent := s.policy.AliasMembers(name, s.snap)
		a := s.policy.Aliases[name]
		switch {
		case len(a.Models) == 0 || len(absent) == 0:
		case len(members) == 0:
			out = append(out, found("alias."+name, isWarning, "Alias "+name, "Pull one of them, or change aliases."+name+".", "No machine has any model of the alias %s: %s.", name, fewOf(absent)).about("aliases"))
		default:
			out = append(out, found("alias."+name, isNote, "Alias "+name, "Pull it, or take it out of aliases."+name+".models.", "No machine has %s, of the alias %s.", fewOf(absent), name).about("aliases"))
		}
	}
	return out
}

// fewOf lists the first names.
func fewOf(names []string) string {
	const most = 5
	if len(names) > most {
		return strings.Join(names[:most], ", ") + fmt.Sprintf(" and %d more", len(names)-most)
	}
	return cmp.Or(strings.Join(names, ", "), "none")
}
