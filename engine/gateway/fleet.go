package gateway

import (
	"errors"
	"net/http"
	"strings"

	"bellwether/engine/dialect"
	"bellwether/engine/fleet"
	"bellwether/engine/route"
)

// healthz says whether this door is open and something behind it can serve.
// 200 while at least one runtime is up; 503 with the reason else.
func (g *Gateway) healthz(w http.ResponseWriter, _ *http.Request, _ caller) {
	snap := g.Fleet()
	up, total := 0, 0
	for i := range snap.Nodes {
		for _, rt := range snap.Nodes[i].Runtimes {
			total++
			if rt.Up && snap.Nodes[i].Liveness != fleet.Offline {
				up++
			}
		}
	}
	status, word := http.StatusOK, "ok"
	if up == 0 {
		status, word = http.StatusServiceUnavailable, "no runtime is up"
	}
	writeJSON(w, status, map[string]any{"status": word, "version": g.Version, "nodes": len(snap.Nodes), "runtimes": total, "runtimes_up": up})
}

// nodeView is a node in GET /fleet/status: state and load, no addresses.
type nodeView struct {
	ID          string               `json:"id"`
	Name        string               `json:"name"`
	Local       bool                 `json:"local"`
	Liveness    string               `json:"liveness"`
	State       fleet.NodeState      `json:"state"`
	Pools       []fleet.Pool         `json:"pools"`
	Runtimes    []fleet.RuntimeState `json:"runtimes"`
	Loaded      []string             `json:"loaded"`
	Deployments int                  `json:"deployments"`
}

func (g *Gateway) fleetStatus(w http.ResponseWriter, _ *http.Request, _ caller) {
	snap := g.Fleet()
	nodes := []nodeView{}
	for i := range snap.Nodes {
		n := &snap.Nodes[i]
		v := nodeView{ID: n.Node, Name: n.Name, Local: n.Local, Liveness: n.Liveness.String(), State: n.State,
			Pools: n.Pools, Runtimes: n.Runtimes, Loaded: []string{}, Deployments: len(n.Deployments)}
		for _, d := range n.Deployments {
			if d.Residency == fleet.Loaded {
				v.Loaded = append(v.Loaded, d.ID.Runtime+"/"+d.ID.Model)
			}
		}
		nodes = append(nodes, v)
	}
	writeJSON(w, http.StatusOK, map[string]any{"version": g.Version, "registry_version": snap.Version, "at": snap.At, "nodes": nodes})
}

func (g *Gateway) fleetQueue(w http.ResponseWriter, _ *http.Request, _ caller) {
	writeJSON(w, http.StatusOK, g.Dispatcher.Status())
}

func (g *Gateway) fleetLimits(w http.ResponseWriter, _ *http.Request, _ caller) {
	p := g.Policy()
	writeJSON(w, http.StatusOK, map[string]any{
		"max_body_bytes": g.live.Load().MaxBody, "max_slots": p.MaxSlots, "max_in_flight_per_app": p.MaxInFlight,
		"hold_seconds": p.HoldMax.Seconds(), "max_retries": p.MaxRetries, "config_hash": p.Hash,
		"first_content_seconds": p.FirstContent.Seconds(), "stream_idle_seconds": p.StreamIdle.Seconds(), "total_seconds": p.Total.Seconds(),
	})
}

// fleetPin shows where a session (X-Fleet-Session) is pinned, or forgets it.
func (g *Gateway) fleetPin(w http.ResponseWriter, r *http.Request, _ caller) {
	session := r.Header.Get("X-Fleet-Session")
	if session == "" {
		g.refuse(w, dialect.OllamaMeta, badRequest("name the session in the header X-Fleet-Session"), "")
		return
	}
	key := route.NamedSession(session)
	if r.Method == http.MethodDelete {
		g.Dispatcher.Unpin(key)
		w.WriteHeader(http.StatusNoContent)
		return
	}
	pin, ok := g.Dispatcher.View().Pins[key]
	if !ok {
		writeJSON(w, http.StatusOK, map[string]any{"pinned": false})
		return
	}
	writeJSON(w, http.StatusOK, map[string]any{"pinned": true, "deployment": pin.Deployment, "at": pin.At})
}

// countTokens answers Anthropic's count_tokens as the model would count that is
// asked now: with the router's estimate, calibrated by what that model counted
// before. A model that is not here counts nothing: its clients have their own
// estimate for that.
func (x *exchange) countTokens() {
	v := x.g.Dispatcher.View()
	if v == nil { // it has ended
		v = &route.View{Fleet: new(fleet.Snapshot)}
	}
	d := route.Decide(v, x.g.Policy(), &x.query)
	if d.Verdict == route.Pull || d.RefuseCode == route.RefuseUnknownModel || d.RefuseCode == route.RefuseAskPull {
		p := unknownModel(x.req.Model)
		p.Remedy = "GET /v1/models lists the names."
		x.g.refuse(x.w, x.proto, p, x.id)
		return
	}
	n := d.InputTokens(&x.query)
	x.w.Header().Set("Content-Type", "application/json")
	_, _ = x.w.Write(dialect.EncodeTokenCount(n))
}

// unloads reports whether a keep_alive of a load-only request means unload.
func unloads(keepAlive dialect.Raw) bool {
	switch strings.Trim(string(keepAlive), `"`) {
	case "0", "0s", "0m", "0h", "0.0", "-0":
		return true
	}
	return false
}

// cannot reports whether a runtime has no way to do what was asked of it.
func cannot(err error) bool {
	var f *fleet.Failure
	return errors.As(err, &f) && f.Code == "unsupported"
}

// unload takes a model out of memory wherever it is loaded, as Ollama's
// clients ask by keep_alive 0 without a prompt. Where some runtime cannot, the
// others do.
func (x *exchange) unload() {
	l, ok := x.g.find(x.req.Model, false)
	if !ok {
		x.g.refuse(x.w, x.proto, x.g.noModel(x.req.Model, "unload"), x.id)
		return
	}
	var kept error // of those in memory, why one stays
	gone := 0
	for _, d := range l.deployments {
		if d.Residency != fleet.Loaded {
			continue
		}
		switch err := x.g.Models.Unload(x.r.Context(), d.ID); {
		case err == nil:
			gone++
		case cannot(err):
			kept = err
		default:
			x.g.refuse(x.w, x.proto, manageProblem(err), x.id)
			return
		}
	}
	if kept != nil && gone == 0 {
		x.g.refuse(x.w, x.proto, manageProblem(kept), x.id)
		return
	}
	reply := &dialect.Reply{Finish: dialect.FinishUnload, Usage: dialect.NoUsage}
	ident := dialect.Identity{ID: x.id, Model: x.req.Model, Created: x.start}
	body := dialect.EncodeReply(x.req, ident, reply)
	if x.req.Stream {
		x.w.Header().Set("Content-Type", "application/x-ndjson")
		body = append(body, '\n')
	} else {
		x.w.Header().Set("Content-Type", "application/json; charset=utf-8")
	}
	_, _ = x.w.Write(body)
}
