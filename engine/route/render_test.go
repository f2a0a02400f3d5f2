package route

import (
	"encoding/json"
	"strings"
	"testing"

	"bellwether/engine/fleet"
)

// everyExclusion has an example of every kind, as the checks make them.
var everyExclusion = []struct {
	x              Exclusion
	reason, remedy string
}{
	{Exclusion{fleet.CodeDisabled, []any{"m"}, false}, "m is switched off by its operator", "deployments[].enabled"},
	{Exclusion{fleet.CodeUnhealthy, []any{"m", "crashes"}, true}, "m is unhealthy: crashes", "runtime's log"},
	{Exclusion{fleet.CodeRole, []any{"m", "chat", "yes"}, false}, "m does not support chat", "ask for a chat model; this one makes embeddings"},
	{Exclusion{fleet.CodeRole, []any{"m", "embedding"}, false}, "m makes no embeddings", "ask for an embedding model"},
	{Exclusion{fleet.CodeLocality, []any{"studio", localByFleet, ""}, false}, "studio is another machine", "set routing.locality to fleet"},
	{Exclusion{fleet.CodeLocality, []any{"studio", localByAlias, "near"}, false}, "studio is another machine", "set aliases.near.locality to fleet"},
	{Exclusion{fleet.CodeLocality, []any{"studio", localByRequest, ""}, false}, "studio is another machine", "leave X-Fleet-Locality out"},
	{Exclusion{fleet.CodeAliasConstraint, []any{"m", "tag fast", "quick"}, false}, "m lacks what its alias demands: tag fast", "add fast to deployments[].tags of m, or take it from aliases.quick.tags"},
	{Exclusion{fleet.CodeAliasConstraint, []any{"m", "vision", "eyes", "unknown"}, false}, "m lacks what its alias demands: vision", "bellwether probe m"},
	{Exclusion{fleet.CodeAliasConstraint, []any{"m", "vision", "eyes", "no"}, false}, "m lacks what its alias demands: vision", "a model that sees in aliases.eyes.models"},
	{Exclusion{fleet.CodeCapability, []any{"m", "tools", "no", "runtime"}, false}, "m does not support tools (says the runtime)", "ask for a model that does"},
	{Exclusion{fleet.CodeCapability, []any{"m", "vision", "unknown", "none"}, false}, "it is not known whether m supports images", "find out with `bellwether probe m`, or declare vision"},
	{Exclusion{fleet.CodeCapability, []any{"m", "tools", "no", "operator"}, false}, "m does not support tools (says the operator)", "change deployments[].capabilities.tools"},
	{Exclusion{fleet.CodeRemoteImage, nil, false}, "images are not fetched", "base64"},
	{Exclusion{fleet.CodeContext, []any{9200, 8192, "studio", "ollama", 8192, 8000, 1008}, false}, "needs 9,200 tokens, offers 8,192", "shorten the prompt by at least 1,008 tokens, or use a model with a larger context"},
	{Exclusion{fleet.CodeContext, []any{9200, 8192, "studio", "ollama", 0, 8000, 1008}, false}, "needs 9,200 tokens, offers 8,192", "or declare what the model can hold with deployments[].context"},
	{Exclusion{fleet.CodeContext, []any{9200, 8192, "studio", "llama-server", 9000, 8000, 1008}, false}, "needs 9,200 tokens, offers 8,192", "shorten the prompt by at least 1,008 tokens, or use a model with a larger context"},
	{Exclusion{fleet.CodeContext, []any{9200, 8192, "studio", "llama-server", 32768, 8000, 1008}, false}, "needs 9,200 tokens, offers 8,192", "start the runtime on studio with a context of at least 9,200 tokens, or shorten the prompt"},
	{Exclusion{fleet.CodeContext, []any{9200, 8192, "studio", "ollama", 8192, 1000, -6680}, false}, "may need 9,200 tokens, offers 8,192", "ask for at most 7,192 tokens of output (max_tokens), or use a model with a larger context"},
	{Exclusion{fleet.CodeFieldNotHonoured, []any{"min_p", "vllm"}, false}, "vllm does not honour min_p", "leave min_p out"},
	{Exclusion{fleet.CodeFieldNotHonoured, []any{"n", "llama-server"}, false}, "Bellwether passes on one choice of an answer", "leave n out, and ask as often"},
	{Exclusion{fleet.CodeFieldNotHonoured, []any{"dimensions", "ollama", "embed", 64, 1536}, false}, "the vectors of embed have 64 dimensions, and 1,536 were asked for", "ask for at most 64, or for another model"},
	{Exclusion{fleet.CodeAdmission, []any{admitLeaving, "m", "studio"}, true}, "m is being unloaded on studio", "wait a moment"},
	{Exclusion{fleet.CodeAdmission, []any{admitUnknown, "m"}, false}, "the size of m is unknown", "memory_gb"},
	{Exclusion{fleet.CodeAdmission, []any{admitDeadline, "m", 24.0, 10.0, true}, false}, "m needs about 24 s to load and read the prompt, and 10 s are left", "give the request more time"},
	{Exclusion{fleet.CodeAdmission, []any{admitDeadline, "m", 0.0, -1.0, true}, false}, "the request's time was over before it could begin", "give the request more time"},
	{Exclusion{fleet.CodeAdmission, []any{admitDeadline, "m", 24.0, 10.0, false}, false}, "m needs about 24 s to load and read the prompt, and 10 s are left", "raise routing.timeouts.total"},
	{Exclusion{fleet.CodeModelAbsent, []any{"m", "studio", true}, false}, "m is not installed on studio", "pull it there"},
	{Exclusion{fleet.CodeModelAbsent, []any{"m", "studio", false}, false}, "m is not installed on studio", "serve it with a runtime there"},
	{Exclusion{fleet.CodeMemory, []any{memoryNow, "m", int64(10 * gb), int64(4 * gb), "studio", "unified", false}, true}, "m needs 10 GB, 4 GB can be freed in unified of studio", "wait until running work ends"},
	{Exclusion{fleet.CodeMemory, []any{memoryNow, "m", int64(10 * gb), int64(4 * gb), "studio", "unified", true}, true}, "m needs 10 GB, 4 GB can be freed in unified of studio", "close other programs on studio"},
	{Exclusion{fleet.CodeMemory, []any{memoryNow, "m", int64(10 * gb), int64(4 * gb), "studio", "unified", false, "llama"}, true}, "4 GB can be freed in unified of studio", "end llama on studio, which keeps its model"},
	{Exclusion{fleet.CodeMemory, []any{memoryNever, "m", int64(46 * gb), int64(22 * gb), "studio", int64(62 * gb)}, false}, "no memory of studio can ever hold more than 22 GB", "raise pools[].memory_gb on studio"},
	{Exclusion{fleet.CodeMemory, []any{memoryNever, "m", int64(46 * gb), int64(22 * gb), "studio", int64(23 * gb)}, false}, "no memory of studio can ever hold more than 22 GB", "ask for a smaller model or quantisation, or serve it on a machine with more memory"},
	{Exclusion{fleet.CodeMemory, []any{memoryCount, "ollama", int64(3), int64(3), "studio", "ollama"}, true}, "runtime ollama on studio keeps 3 models at once", "raise the runtime's limit (OLLAMA_MAX_LOADED_MODELS)"},
	{Exclusion{fleet.CodeMemory, []any{memoryCount, "lr", int64(1), int64(1), "studio", "llama-server"}, true}, "runtime lr on studio keeps one model at once", "raise the runtime's limit (--models-max)"},
	{Exclusion{fleet.CodeOffline, []any{"studio", 42}, true}, "studio is offline, last heard 42 s ago", "wake studio"},
	{Exclusion{fleet.CodeOffline, []any{"studio", -1}, true}, "studio is offline", "wake studio"},
	{Exclusion{fleet.CodeDraining, []any{"studio"}, true}, "studio is about to leave", "start it again"},
	{Exclusion{fleet.CodeNoRuntime, []any{"ollama", "studio", "not started"}, true}, "runtime ollama on studio does not answer: not started", "start ollama on studio"},
	{Exclusion{fleet.CodePressure, []any{"studio"}, true}, "critical pressure", "close programs on studio"},
	{Exclusion{fleet.CodePaused, []any{"studio", "lunch", 3300}, true}, "studio is paused: lunch, for 55 min more", "bellwether resume"},
	{Exclusion{fleet.CodePaused, []any{"studio", "paused by its owner", -1}, true}, "studio is paused by its owner", "bellwether resume"},
	{Exclusion{fleet.CodePaused, []any{"studio", "", -1}, true}, "studio is paused", "bellwether resume"},
	{Exclusion{fleet.CodeBattery, []any{"studio", "own"}, true}, "studio runs on battery", "plug it in"},
	{Exclusion{fleet.CodeMeeting, []any{"studio", "camera"}, true}, "studio is in a meeting (camera)", "meetings.ignore"},
	{Exclusion{fleet.CodeBusy, []any{"studio"}, true}, "busy with its owner's work", "capacity.learning"},
	{Exclusion{fleet.CodeAvailability, []any{"studio", 0.1}, true}, "usually in use at this time (availability 0.10)", "capacity.learning"},
	{Exclusion{fleet.CodeObserving, []any{"studio"}, false}, "still learning its owner's week", "capacity.observation"},
	{Exclusion{fleet.CodeFailedBefore, []any{"studio"}, false}, "failed on studio already", "decision record"},
	{Exclusion{fleet.CodeCircuitOpen, []any{"m", "studio", 12}, true}, "m failed on studio too often", "in 12 s"},
	{Exclusion{fleet.CodeCircuitOpen, []any{"m", "studio", -1}, true}, "m failed on studio too often", "soon"},
	{Exclusion{fleet.CodeUncertainHold, []any{"m", "studio", 90}, true}, "may still run on studio", "wait up to 90 s"},
	{Exclusion{fleet.CodeBound, []any{boundNode, "west"}, false}, "the request names the node west", "X-Fleet-Node"},
	{Exclusion{fleet.CodeBound, []any{boundModel, "m"}, false}, "m did not make the tool calls", "start the turn anew"},
}

func TestEveryCodeHasAReasonAndARemedy(t *testing.T) {
	seen := map[fleet.Code]bool{}
	for _, c := range everyExclusion {
		seen[c.x.Code] = true
		r := Render(c.x)
		if !strings.Contains(r.Reason, c.reason) || !strings.Contains(r.Remedy, c.remedy) || r.Code != c.x.Code {
			t.Errorf("%s: %q; %q, want %q; %q", c.x.Code, r.Reason, r.Remedy, c.reason, c.remedy)
		}
		if c.x.Hold && !c.x.Code.Holdable() {
			t.Errorf("%s is marked as curable by waiting and is not", c.x.Code)
		}
	}
	for _, code := range []fleet.Code{
		fleet.CodeDisabled, fleet.CodeUnhealthy, fleet.CodeRole, fleet.CodeLocality, fleet.CodeAliasConstraint, fleet.CodeCapability,
		fleet.CodeRemoteImage, fleet.CodeContext, fleet.CodeFieldNotHonoured, fleet.CodeAdmission, fleet.CodeOffline, fleet.CodeDraining,
		fleet.CodeNoRuntime, fleet.CodeModelAbsent, fleet.CodeMemory, fleet.CodePressure, fleet.CodePaused, fleet.CodeBattery, fleet.CodeMeeting,
		fleet.CodeBusy, fleet.CodeAvailability, fleet.CodeObserving, fleet.CodeFailedBefore, fleet.CodeCircuitOpen, fleet.CodeUncertainHold, fleet.CodeBound,
	} {
		if !seen[code] {
			t.Errorf("%s has no example", code)
		}
	}
}

// A decision may come as JSON from another machine: the words stay the same.
func TestWordsSurviveJSON(t *testing.T) {
	for _, c := range everyExclusion {
		b, err := json.Marshal(c.x)
		if err != nil {
			t.Fatal(err)
		}
		var back Exclusion
		if err := json.Unmarshal(b, &back); err != nil {
			t.Fatal(err)
		}
		if got, want := Render(back), Render(c.x); got != want {
			t.Errorf("%s: %v, want %v", c.x.Code, got, want)
		}
	}
}

func TestDecisionExplainsTheSameAfterJSON(t *testing.T) {
	for _, file := range scenarioFiles(t) {
		s := readScenario(t, file)
		for i := range s.Steps {
			d := Decide(s.Steps[i].View, s.Steps[i].Policy, &s.Steps[i].Query)
			b, err := json.Marshal(d)
			if err != nil {
				t.Fatal(err)
			}
			var back Decision
			if err := json.Unmarshal(b, &back); err != nil {
				t.Fatalf("%s: %v", file, err)
			}
			if back.Explain() != d.Explain() {
				t.Errorf("%s: %s\nwant\n%s", file, back.Explain(), d.Explain())
			}
		}
	}
}

// Every code that checkNode gives is counted for deployments nobody asked for.
func TestNodeCodesAreCountedForOthers(t *testing.T) {
	v, p, q := parts()
	q.Needs.Node = "elsewhere"
	n := &v.Fleet.Nodes[0]
	n.Liveness = fleet.Offline
	n.State = fleet.NodeState{Paused: true, Draining: true, OnBattery: fleet.Yes, Meeting: fleet.Yes, Pressure: critical, Learning: true, Observing: true, Busy: true}
	j := &judge{v: v, p: p, q: q, d: &Decision{}}
	view := nodeView{Node: n}
	j.checkNode(&view)
	if len(view.out) != 10 {
		t.Errorf("%d checks failed, want 10", len(view.out))
	}
	for _, x := range view.out {
		if counted[codeIndex(x.Code)] != x.Code {
			t.Errorf("%s is not counted", x.Code)
		}
	}
}

func TestNumbersForPeople(t *testing.T) {
	for n, want := range map[int64]string{0: "0", 999: "999", 1000: "1,000", 1234567: "1,234,567", -4200: "-4,200"} {
		if got := comma(n); got != want {
			t.Errorf("%d: %s", n, got)
		}
	}
	for s, want := range map[float64]string{2.5: "2.5 s", 9: "9 s", 61.4: "61 s", 600: "10 min", 3600: "60 min", 10800: "3 h"} {
		if got := span(s); got != want {
			t.Errorf("%v: %s, want %s", s, got, want)
		}
	}
}

func TestRecordHoldsTheDecisionInWords(t *testing.T) {
	s := readScenario(t, "testdata/scenarios/retry.txt")
	step := &s.Steps[0]
	step.Query.Request, step.Query.Needs.Session = "r42", "abc"
	d := Decide(step.View, step.Policy, &step.Query)
	r := ToRecord(d, &step.Query)
	if r.RequestID != "r42" || r.RequestedModel != "qwen3:8b" || r.Chosen != "west/ollama/qwen3:8b" || r.Node != "west" || r.Session != "abc" || r.App != "app" || r.RegistryVersion != 1 {
		t.Errorf("got %+v", r)
	}
	if len(r.Candidates) != 2 || len(r.Exclusions) != 2 || len(r.Reasons) == 0 || !r.FailoverAllowed {
		t.Errorf("got %d candidates, %d exclusions, reasons %q", len(r.Candidates), len(r.Exclusions), r.Reasons)
	}
	b, err := json.Marshal(r)
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{`"request_id"`, `"requested_model"`, `"requirements"`, `"needs_tools"`, `"tokens":{"input":100`, `"exclusions":{"east/ollama/qwen3:8b":[{"code":"failed_before"`, `"candidates":[{"deployment":"west/ollama/qwen3:8b"`, `"node_score"`, `"signals":{"warmth"`, `"failover_allowed":true`} {
		if !strings.Contains(string(b), name) {
			t.Errorf("no %s in %s", name, b)
		}
	}
	var back Record
	if err := json.Unmarshal(b, &back); err != nil || back.Exclusions[fleet.DeploymentID{Node: "east", Runtime: "ollama", Model: "qwen3:8b"}] == nil {
		t.Errorf("it does not read back: %v", err)
	}
}

func TestRecordOfARefusalHasNoNulls(t *testing.T) {
	v, p, q := parts()
	q.Model = "nobody"
	b, err := json.Marshal(ToRecord(Decide(v, p, q), q))
	if err != nil {
		t.Fatal(err)
	}
	if strings.Contains(string(b), `"candidates":null`) || strings.Contains(string(b), `"reasons":null`) {
		t.Errorf("got %s", b)
	}
}
