package agent

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"

	"bellwether/engine/fleet"
	"bellwether/engine/runtime"
	"bellwether/platform/desktop"
	"bellwether/platform/sense"
)

// Finding is one line of the doctor's report.
type Finding struct {
	ID       string   `json:"id"` // stable: runtime.ollama, memory.pressure ...
	Severity Severity `json:"severity"`
	Text     string   `json:"text"`
	Remedy   string   `json:"remedy,omitempty"` // a command or a setting
}

// Severity grades a finding.
type Severity string

// Severities.
const (
	OK      Severity = "ok"
	Note    Severity = "note"
	Warning Severity = "warning"
	Broken  Severity = "broken"
)

// program is a server program the doctor looks for when no runtime of its kind answers.
type program struct {
	kind, name, port string
}

var programs = []program{
	{runtime.KindOllama, "ollama", "11434"},
	{runtime.KindLlamaServer, "llama-server", "8080"},
}

// Doctor checks the node and says what is missing with the exact command or
// setting that cures it. It looks at files and processes, and starts nothing.
func (a *Agent) Doctor(ctx context.Context) []Finding {
	var out []Finding
	kinds := map[string]bool{} // up or not
	down := map[int]string{}   // findings of runtimes that are down, and their kind
	err := a.ask(ctx, func(s *state) {
		for _, name := range slices.Sorted(maps.Keys(s.servers)) {
			srv := s.servers[name]
			state := s.runtimeState(srv)
			kinds[state.Kind] = kinds[state.Kind] || srv.up
			if !srv.up && srv.cure == "" {
				down[len(out)] = state.Kind
			}
			out = append(out, s.diagnose(srv)...)
			if f, there := s.othersFinding(srv); there {
				out = append(out, f)
			}
		}
		out = append(out, s.checkOwner()...)
		out = append(out, s.checkMachine()...)
		out = append(out, s.checkHangs()...)
	})
	if err != nil {
		return []Finding{{"agent", Broken, "the node's loop does not answer: " + err.Error(), "restart bellwether"}}
	}
	for i, kind := range down { // files are looked for outside the loop
		if path := desktop.FindProgram(programOf(kind)); path != "" {
			out[i].Remedy = desktop.StartCommand(programOf(kind), path)
		}
	}
	return append(out, Programs(ctx, kinds)...)
}

// diagnose judges one runtime and its models.
func (s *state) diagnose(srv *server) []Finding {
	id := "runtime." + srv.name
	at := srv.name + " at " + srv.target.URL
	switch {
	case srv.oneWith != "":
		return []Finding{{id, Warning, at + " is not used: " + srv.reason, srv.cure}}
	case srv.cure != "":
		return []Finding{{id, Broken, at + " cannot be used: " + srv.reason, srv.cure}}
	case !srv.up:
		return []Finding{{id, Broken, at + " is down: " + srv.reason, "start it"}}
	}
	out := []Finding{{id, OK, fmt.Sprintf("%s %s serves %s at %s", srv.name, srv.version, models(len(srv.models)), srv.target.URL), ""}}
	if len(srv.models) == 0 {
		f := &out[0]
		f.Severity, f.Text = Warning, srv.name+" runs but has no models"
		f.Remedy = "bellwether models pull qwen3:4b"
		if _, can := srv.adapter.(runtime.Manager); !can {
			f.Remedy = "start it with a model"
		}
	}
	if srv.locked != "" {
		out = append(out, Finding{id + ".key", Broken, srv.name + " refuses our calls: " + srv.locked, "set api_key of " + srv.name + " under runtimes to the key it asks for"})
	}
	if !srv.reports {
		out = append(out, Finding{id + ".residency", Note, srv.name + " does not say what is in memory; what was sent there is assumed to stay", "set assumed_residency_ttl"})
	}
	for _, key := range slices.Sorted(maps.Keys(srv.models)) {
		d := s.deployment(srv, srv.models[key])
		if d.Degraded != "" {
			out = append(out, Finding{"model." + d.ID.Model, Warning, d.ID.Model + " on " + srv.name + ": " + d.Degraded, ""})
		}
		if d.Unhealthy != "" {
			out = append(out, Finding{"model." + d.ID.Model, Broken, d.ID.Model + " on " + srv.name + ": " + d.Unhealthy, ""})
		}
	}
	return out
}

func models(n int) string {
	if n == 1 {
		return "1 model"
	}
	return fmt.Sprintf("%d models", n)
}

func programOf(kind string) string {
	for _, p := range programs {
		if p.kind == kind {
			return p.name
		}
	}
	return kind
}

func (s *state) checkOwner() []Finding {
	var out []Finding
	if s.pause.On {
		out = append(out, Finding{"pause", Note, "the node is " + s.pause.text(s.now()), "bellwether resume"})
	}
	if s.failed != nil {
		reason, remedy := s.failed.Error(), "make room in the data folder"
		var known interface { // by whoever keeps it, as the store does
			error
			Told() (reason, remedy string)
		}
		if errors.As(s.failed, &known) {
			reason, remedy = known.Told()
		}
		out = append(out, Finding{"state", Warning, "the node's state cannot be saved: " + reason, remedy})
	}
	return out
}

func (s *state) checkMachine() []Finding {
	var out []Finding
	switch p := s.readings.Pressure; {
	case !p.Known:
		out = append(out, Finding{"memory.pressure", Note, "memory pressure is unknown: " + string(p.Reason), ""})
	case p.V == sense.PressureCritical:
		out = append(out, Finding{"memory.pressure", Broken, "the machine is critically short of memory (" + p.Source + ")", "close programs, or free a model's memory where its runtime can: bellwether models unload NAME"})
	case p.V == sense.PressureWarning:
		out = append(out, Finding{"memory.pressure", Warning, "the machine is short of memory (" + p.Source + ")", ""})
	}
	for _, g := range s.facts.GPUs {
		if !g.VRAM.Known {
			out = append(out, Finding{"gpu." + g.ID, Note, "the memory of " + g.Name + " is unknown: " + g.VRAM.Reason, "declare a pool: pools: [{name: ram, memory_gb: ...}]"})
		}
	}
	for _, p := range s.poolsNow() {
		text := fmt.Sprintf("pool %s: %s of %s for models", p.Name, fleet.Bytes(p.Limit), fleet.Bytes(p.Total))
		switch {
		case p.Limit-p.Margin <= 0:
			out = append(out, Finding{"pool." + p.Name, Broken, text + ", less than its margin: no model can be loaded", "lower margin_gb of pool " + p.Name})
		case p.Limit > p.Total && p.Total > 0:
			out = append(out, Finding{"pool." + p.Name, Warning, text + ": more than there is, so the machine may run out of memory", "set memory_gb of pool " + p.Name + " to auto, or below what it has"})
		default:
			out = append(out, Finding{"pool." + p.Name, OK, text + ", " + fleet.Bytes(p.Held()) + " held", ""})
		}
	}
	return out
}

// Programs tells installed, running and serving apart for the server programs
// whose kind nobody serves here: each lack has another cure. kinds are those of
// the runtimes that are known or declared, true for those that answer. Where
// there are any, one that is down is told as such, by whoever knows it, and no
// second time as a machine without runtimes; it may run in a container, where no
// program is found.
func Programs(ctx context.Context, kinds map[string]bool) []Finding {
	var out []Finding
	known, installed := len(kinds) > 0, false
	for _, p := range programs {
		if kinds[p.kind] {
			continue
		}
		path := desktop.FindProgram(p.name)
		running, err := desktop.IsRunning(ctx, p.name)
		switch {
		case err == nil && running:
			out = append(out, Finding{"program." + p.name, Warning,
				p.name + " runs but does not answer on its usual port " + p.port,
				"if it listens elsewhere, declare it: runtimes: [{name: " + p.name + ", kind: " + p.kind + ", url: http://127.0.0.1:PORT}]"})
		case path != "":
			out = append(out, Finding{"program." + p.name, severity(known, Note, Broken), p.name + " is installed but not running", desktop.StartCommand(p.name, path)})
		default:
			continue
		}
		installed = true
	}
	if !known && !installed {
		out = append(out, Finding{"program", Broken, "no runtime was found on this machine", "install Ollama from ollama.com, or llama-server from llama.cpp; one in a container or elsewhere is named under runtimes in the settings"})
	}
	return out
}

func severity(mild bool, then, otherwise Severity) Severity {
	if mild {
		return then
	}
	return otherwise
}
