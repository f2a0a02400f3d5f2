package engine

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"slices"
	"time"

	"bellwether/engine/admin"
	"bellwether/engine/dialect"
	"bellwether/engine/fleet"
	"bellwether/engine/route"
	"bellwether/engine/store"
)

const (
	trafficApp  = "bellwether/test-traffic"
	trafficTime = 2 * time.Minute // for one request
	trafficMost = 8               // models tried at once; more tell no more

	recordTime  = 2 * time.Second // for a record to be there once its answer was read
	recordEvery = 20 * time.Millisecond
)

// trafficShape is one protocol's smallest request. %s is the model.
type trafficShape struct {
	protocol dialect.Protocol
	path     string
	body     string
}

var trafficShapes = []trafficShape{
	{dialect.OpenAIChat, "/v1/chat/completions", `{"model":%s,"stream":true,"max_tokens":8,"messages":[{"role":"user","content":"Say OK."}]}`},
	{dialect.OpenAIResponses, "/v1/responses", `{"model":%s,"stream":true,"max_output_tokens":16,"input":"Say OK."}`},
	{dialect.Anthropic, "/v1/messages", `{"model":%s,"stream":true,"max_tokens":8,"messages":[{"role":"user","content":"Say OK."}]}`},
	{dialect.OllamaChat, "/api/chat", `{"model":%s,"stream":true,"options":{"num_predict":8},"messages":[{"role":"user","content":"Say OK."}]}`},
	{dialect.OllamaGenerate, "/api/generate", `{"model":%s,"stream":false,"options":{"num_predict":8},"prompt":"Say OK."}`},
}

// Traffic sends a tiny request in every protocol to every chat model in
// memory, over a real connection to this engine's own address, as an app
// would. With none in memory the smallest is loaded for it. A machine that turns
// out to take no work is asked no more.
func (d uiDesk) Traffic(ctx context.Context, line func(admin.TrafficLine)) error {
	targets := d.trafficTargets()
	if len(targets) == 0 {
		no := false
		return &dialect.Problem{Status: http.StatusConflict, Code: "no_model", Retry: &no,
			Message: "There is no chat model to try.", Remedy: "Pull one, and see that its runtime is up."}
	}
	line(admin.TrafficLine{Kind: "plan", Requests: len(targets) * len(trafficShapes)})
	client := &http.Client{Timeout: trafficTime}
	defer client.CloseIdleConnections()
	done := admin.TrafficLine{Kind: "done"}
	away := map[string]bool{} // machines that take no work
	for _, t := range targets {
		for _, shape := range trafficShapes {
			if away[t.Node] {
				break
			}
			l, out := d.tryTraffic(ctx, client, t, &shape)
			if ctx.Err() != nil {
				return ctx.Err()
			}
			if l.OK {
				done.Passed++
			} else {
				done.Failed++
			}
			line(l)
			if out.Code.Away() {
				away[t.Node] = true
				done.Error, done.Remedy = "Not all were sent: "+out.Reason+".", sentenceOf(out.Remedy)+"."
			}
		}
	}
	done.OK = done.Failed == 0
	line(done)
	return nil
}

// trafficTargets are the chat models in memory, else the smallest there is.
func (d uiDesk) trafficTargets() []fleet.DeploymentID {
	var loaded []fleet.DeploymentID
	var smallest *fleet.Deployment
	snap := d.e.registry.Snapshot()
	for i := range snap.Nodes {
		n := &snap.Nodes[i]
		for k := range n.Deployments {
			dep := &n.Deployments[k]
			if rt := n.Runtime(dep.ID.Runtime); rt == nil || !rt.Up || dep.Disabled || dep.Can(fleet.CapChat).Support != fleet.Yes {
				continue
			}
			if dep.Residency == fleet.Loaded {
				loaded = append(loaded, dep.ID)
			}
			if smallest == nil || dep.WeightsBytes < smallest.WeightsBytes {
				smallest = dep
			}
		}
	}
	if len(loaded) == 0 && smallest != nil {
		loaded = append(loaded, smallest.ID)
	}
	slices.SortFunc(loaded, fleet.DeploymentID.Compare)
	return loaded[:min(len(loaded), trafficMost)]
}

func (d uiDesk) tryTraffic(ctx context.Context, client *http.Client, id fleet.DeploymentID, shape *trafficShape) (out admin.TrafficLine, away route.RenderedExclusion) {
	out = admin.TrafficLine{Kind: "request", Protocol: string(shape.protocol), Deployment: id.String()}
	name, _ := json.Marshal(id.String())
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, d.e.adminAddress()+shape.path, bytes.NewReader(fmt.Appendf(nil, shape.body, name)))
	if err != nil {
		return out, away
	}
	req.Header.Set("Content-Type", "application/json")
	req.Header.Set("X-Fleet-App", trafficApp)
	req.Header.Set("X-Fleet-No-Fallback", "true")
	began := time.Now()
	resp, err := client.Do(req)
	if err != nil {
		out.Error, out.Remedy = "No answer: "+err.Error(), "See whether another program holds the address."
		return out, away
	}
	defer func() { _ = resp.Body.Close() }()
	out.Status, out.RequestID = resp.StatusCode, resp.Header.Get("X-Fleet-Request-Id")
	body, err := io.ReadAll(io.LimitReader(resp.Body, 1<<20))
	total := msOf(time.Since(began))
	out.TotalMs = &total
	if err != nil {
		out.Error = "The answer broke off: " + err.Error()
		return out, away
	}
	away = d.judgeTraffic(ctx, id, &out, body)
	return out, away
}

// judgeTraffic takes the record's word: it says whether the answer was valid,
// which a status cannot. Where the machine takes no work, away says so.
func (d uiDesk) judgeTraffic(ctx context.Context, id fleet.DeploymentID, out *admin.TrafficLine, body []byte) (away route.RenderedExclusion) {
	rec, err := d.recordOf(ctx, out.RequestID)
	if err != nil {
		out.Error = "It left no decision record."
		if out.Status >= 400 {
			out.Error = textOf(body)
		}
		return away
	}
	if rec.Timing.TTFTMs > 0 {
		out.TTFTMs = &rec.Timing.TTFTMs
	}
	if rec.Usage != nil {
		out.OutputTokens = rec.Usage.Output
	}
	switch rec.Outcome {
	case fleet.OutcomeOK, fleet.OutcomeTruncated: // its limit is small on purpose
		out.OK = out.Status < 400
	}
	if out.OK {
		return away
	}
	out.Error = cmp.Or(rec.Problem, "It ended as "+string(rec.Outcome)+".")
	out.Remedy = "Open its decision: it says where it went, and why it failed."
	for _, x := range rec.Exclusions[id] {
		if rec.Chosen == "" && x.Code.Away() {
			return x
		}
	}
	return away
}

// recordOf waits for a request's record: an answer in one piece may be read
// before it is kept.
func (d uiDesk) recordOf(ctx context.Context, id string) (*route.Record, error) {
	ctx, cancel := context.WithTimeout(ctx, recordTime)
	defer cancel()
	again := time.NewTicker(recordEvery)
	defer again.Stop()
	for {
		rec, err := d.e.store.Decision(ctx, id)
		if !errors.Is(err, store.ErrNotFound) || id == "" {
			return rec, err
		}
		select {
		case <-again.C:
		case <-ctx.Done():
			return nil, err
		}
	}
}

// textOf is what an error answer says, whatever its protocol.
func textOf(body []byte) string {
	var v struct {
		Error json.RawMessage `json:"error"`
	}
	if json.Unmarshal(body, &v) == nil && len(v.Error) > 0 {
		var inner struct {
			Message string `json:"message"`
		}
		var text string
		switch {
		case json.Unmarshal(v.Error, &inner) == nil && inner.Message != "":
			return inner.Message
		case json.Unmarshal(v.Error, &text) == nil:
			return text
		}
	}
	return "The answer is an error without words."
}

func msOf(d time.Duration) float64 { return float64(d.Round(10*time.Microsecond)) / 1e6 }
