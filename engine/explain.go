package engine

import (
	"net/http"
	"path/filepath"
	"time"

	"bellwether/engine/admin"
	"bellwether/engine/dialect"
	"bellwether/engine/route"
	"bellwether/platform/desktop"
)

// SnapshotPath is where a running engine leaves the fleet's state once a
// minute and when it stops, for explain without an engine.
func SnapshotPath(f desktop.Folders) string { return filepath.Join(f.Data, "fleet.scenario") }

// Snapshot is the fleet of the moment as the text of a scenario. Its one
// request stands for none; explain replaces it. "" while nothing is known.
func (e *Engine) Snapshot() string {
	v := e.queue.View()
	if v == nil || v.Fleet == nil {
		return ""
	}
	v.Now, v.Evidence = time.Now(), e.evidence.Book()
	return route.Write(v, e.policy.Load(), &route.Query{Request: "snapshot", Model: "none", Origin: e.nodeID, Attempt: 1})
}

// explain judges a request on the state of the moment without running it.
func (e *Engine) explain(proto dialect.Protocol, body []byte, header http.Header) (*admin.Explained, *dialect.Problem) {
	v := e.queue.View()
	if v == nil {
		return nil, &dialect.Problem{Status: http.StatusServiceUnavailable, Code: "stopping", Message: "The engine is stopping."}
	}
	v.Now, v.Evidence = time.Now(), e.evidence.Book()
	return Explain(v, e.policy.Load(), e.nodeID, proto, body, header)
}

// Explain reads a request's body as a client's and says where it would go on
// the fleet of v, by the same code that routes requests. origin is the node on
// which the app calls, "" = the snapshot's local one.
func Explain(v *route.View, p *route.Policy, origin string, proto dialect.Protocol, body []byte, header http.Header) (*admin.Explained, *dialect.Problem) {
	req, problem := dialect.Parse(proto, body)
	if problem != nil {
		return nil, problem
	}
	if problem = route.OverrideProblem(header.Get, p); problem != nil {
		return nil, problem
	}
	if origin == "" {
		for i := range v.Fleet.Nodes {
			if n := &v.Fleet.Nodes[i]; n.Local {
				origin = n.Node
			}
		}
	}
	began := time.Now()
	needs := route.Read(req, route.Meta{Header: header.Get, MayPull: true, ToolKey: p.ToolKey, Book: v.Evidence})
	q := route.Query{
		Request: "explain", Model: req.Model, Fallbacks: route.FallbackModels(req, header.Get("X-Fleet-Fallbacks")),
		Needs: needs, Origin: origin, Arrived: v.Now, Attempt: 1,
	}
	d := route.Decide(v, p, &q)
	micros := float64(time.Since(began).Nanoseconds()) / 1000
	x := &admin.Explained{Requirements: needs, Micros: micros, Verdict: d.Verdict, Record: route.ToRecord(d, &q), Text: d.Tell()}
	if d.Verdict == route.Serve {
		x.Chosen = d.Chosen.String()
	} else {
		p := route.RefusalProblem(d, &q, d.Verdict == route.Hold)
		x.Problem, x.Record.Status = p.Text(), p.Status
	}
	return x, nil
}
