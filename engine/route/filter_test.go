package route

import (
	"slices"
	"testing"
	"time"

	"bellwether/engine/fleet"
)

// codes lists what is in the way of the only deployment.
func codes(d *Decision) (out []fleet.Code) {
	for _, all := range d.Exclusions {
		for _, x := range all {
			out = append(out, x.Code)
		}
	}
	return out
}

func TestEachNeedAsksForItsCapability(t *testing.T) {
	for name, need := range map[fleet.Capability]func(*Requirements){
		fleet.CapTools:              func(n *Requirements) { n.NeedsTools = true },
		fleet.CapToolChoiceRequired: func(n *Requirements) { n.ToolChoiceRequired = true },
		fleet.CapJSONObject:         func(n *Requirements) { n.JSONObject = true },
		fleet.CapJSONSchema:         func(n *Requirements) { n.JSONSchema = true },
		fleet.CapVision:             func(n *Requirements) { n.Vision = true },
		fleet.CapAudio:              func(n *Requirements) { n.AudioIn = true },
		fleet.CapThinking:           func(n *Requirements) { n.ThinkStrict = true },
		fleet.CapInsert:             func(n *Requirements) { n.Insert = true },
		fleet.CapContinuation:       func(n *Requirements) { n.Continuation = true },
		fleet.CapStreaming:          func(n *Requirements) { n.Streaming = true },
		fleet.CapChat:               func(n *Requirements) { n.Role = RoleChat },
		fleet.CapEmbedding:          func(n *Requirements) { n.Role = RoleEmbedding },
	} {
		decide := func(support fleet.Tri) *Decision {
			return oneNode(func(_ *View, _ *Policy, _ *fleet.Node, d *fleet.Deployment, q *Query) {
				d.Capabilities = fleet.Capabilities{fleet.CapChat: {Support: fleet.Yes, Source: fleet.SourceRuntime}}
				q.Needs.Streaming = false
				need(&q.Needs)
				if support == fleet.Unknown {
					delete(d.Capabilities, name)
					return
				}
				d.Capabilities[name] = fleet.Claim{Support: support, Source: fleet.SourceProbe}
			})
		}
		if d := decide(fleet.Yes); d.Verdict != Serve {
			t.Errorf("%s supported:\n%s", name, d.Explain())
		}
		if d := decide(fleet.Unknown); d.Verdict != Refuse || d.Status != 400 || !slices.Equal(codes(d), []fleet.Code{fleet.CodeCapability}) {
			t.Errorf("%s unknown must fail with the way to find out:\n%s", name, d.Explain())
		}
		no := decide(fleet.No)
		switch name {
		case fleet.CapChat, fleet.CapEmbedding:
			if !slices.Equal(codes(no), []fleet.Code{fleet.CodeRole}) {
				t.Errorf("%s unsupported:\n%s", name, no.Explain())
			}
		default:
			if !slices.Equal(codes(no), []fleet.Code{fleet.CodeCapability}) {
				t.Errorf("%s unsupported:\n%s", name, no.Explain())
			}
		}
	}
}

// Several calls in an earlier turn were made by some model on some runtime:
// only a template known to be unable to hold them is in the way.
func TestEarlierParallelCallsNeedNoPower(t *testing.T) {
	for support, want := range map[fleet.Tri]Verdict{fleet.Yes: Serve, fleet.Unknown: Serve, fleet.No: Refuse} {
		d := oneNode(func(_ *View, _ *Policy, _ *fleet.Node, d *fleet.Deployment, q *Query) {
			d.Capabilities, _ = readCaps("agent")
			d.Capabilities[fleet.CapParallelTools] = fleet.Claim{Support: support, Source: fleet.SourceTemplate}
			q.Needs.NeedsTools, q.Needs.ParallelTools = true, true
		})
		if d.Verdict != want {
			t.Errorf("%s: %s, want %s", support, d.Verdict, want)
		}
	}
}

// a deployment asked by name passes the same checks, with the true reason.
func TestNamedDeploymentPassesTheSameChecks(t *testing.T) {
	d := oneNode(func(_ *View, _ *Policy, n *fleet.Node, _ *fleet.Deployment, q *Query) {
		q.Model = "studio/ollama/m"
		n.Liveness = fleet.Offline
	})
	if d.Verdict != Hold || !slices.Equal(codes(d), []fleet.Code{fleet.CodeOffline}) {
		t.Errorf("got\n%s", d.Explain())
	}
}

func TestAllFailuresAreListed(t *testing.T) {
	d := oneNode(func(v *View, p *Policy, n *fleet.Node, d *fleet.Deployment, q *Query) {
		d.Disabled, d.Unhealthy, d.Residency, d.ResidentBytes = true, "crashes", fleet.OnDisk, 500*gb
		p.Locality = "this_node"
		q.Origin = "laptop"
		q.Needs.NeedsTools, q.Needs.RemoteImage, q.Needs.Fields = true, true, []string{"n"}
		q.Needs.Tokens.Input = 100000
		q.Needs.Node = "attic"
		q.Failed = []fleet.DeploymentID{d.ID}
		n.State = fleet.NodeState{Paused: true, Draining: true, Pressure: critical, OnBattery: fleet.Yes, Meeting: fleet.Yes, Learning: true, Observing: true, Busy: true}
		n.Liveness = fleet.Offline
		n.Runtimes[0].Up = false
		n.Uncertain = with(nil, d.ID, 90*time.Second)
		d.Slots = 1
		v.Open[d.ID] = Circuit{Open: true}
	})
	want := []fleet.Code{
		fleet.CodeDisabled, fleet.CodeUnhealthy, fleet.CodeLocality, fleet.CodeCapability, fleet.CodeRemoteImage, fleet.CodeContext, fleet.CodeFieldNotHonoured,
		fleet.CodeOffline, fleet.CodeDraining, fleet.CodePressure, fleet.CodePaused, fleet.CodeBattery, fleet.CodeMeeting, fleet.CodeObserving, fleet.CodeBusy, fleet.CodeAvailability, fleet.CodeBound,
		fleet.CodeMemory, fleet.CodeNoRuntime, fleet.CodeFailedBefore, fleet.CodeCircuitOpen, fleet.CodeUncertainHold,
	}
	got := codes(d)
	got = slices.DeleteFunc(got, func(c fleet.Code) bool { return c == fleet.CodeAdmission }) // the load would not end in time, too
	if !slices.Equal(got, want) {
		t.Errorf("got  %v\nwant %v", got, want)
	}
}

func TestAvailabilityFollowsTheModeWhereOneIsTold(t *testing.T) {
	for name, c := range map[string]struct {
		score float64
		mode  string
		out   bool
	}{
		"below 0.20":                  {0.19, "", true},
		"0.20":                        {0.20, "", false},
		"hysteresis keeps it paused":  {0.25, "paused", true},
		"hysteresis keeps it serving": {0.15, "reduced", false},
	} {
		d := oneNode(func(_ *View, _ *Policy, n *fleet.Node, _ *fleet.Deployment, q *Query) {
			n.State.Learning, n.State.Availability, n.State.Mode = true, c.score, c.mode
			q.Origin = "laptop"
		})
		if got := slices.Contains(codes(d), fleet.CodeAvailability); got != c.out {
			t.Errorf("%s: out %v", name, got)
		}
	}
}

func TestPoolUnderCriticalPressureIsOut(t *testing.T) {
	d := oneNode(func(_ *View, _ *Policy, n *fleet.Node, _ *fleet.Deployment, _ *Query) { n.Pools[0].Pressure = critical })
	if d.Verdict != Hold || !slices.Equal(codes(d), []fleet.Code{fleet.CodePressure}) {
		t.Errorf("got\n%s", d.Explain())
	}
	d = oneNode(func(_ *View, _ *Policy, n *fleet.Node, _ *fleet.Deployment, _ *Query) {
		n.Pools[0].Pressure = "warning"
	})
	if d.Verdict != Serve {
		t.Errorf("a warning is no reason:\n%s", d.Explain())
	}
}

func TestOwnRequestsAreExemptOnlyWhereTheNodeSaysSo(t *testing.T) {
	for setting, want := range map[string]Verdict{"serve": Serve, "": Hold} {
		d := oneNode(func(_ *View, _ *Policy, n *fleet.Node, _ *fleet.Deployment, q *Query) {
			n.State.Meeting, n.State.OwnRequests = fleet.Yes, setting
			q.Origin = n.Node
		})
		if d.Verdict != want {
			t.Errorf("own_requests %q: %s, want %s", setting, d.Verdict, want)
		}
	}
}

func TestDegradedDeploymentIsNoted(t *testing.T) {
	d := oneNode(func(_ *View, _ *Policy, _ *fleet.Node, d *fleet.Deployment, _ *Query) {
		d.Degraded = "runs on the CPU since it woke"
	})
	if !slices.Contains(d.Candidates[0].Notes, "degraded") {
		t.Errorf("got\n%s", d.Explain())
	}
}

// an alias means what each node calls it; residency is read there.
func TestAliasMembersAreFoundUnderEachNodesSpelling(t *testing.T) {
	d, _ := refused(t, `
alias fast models qwen3
node a
  pool unified limit 60GB free 40GB
  runtime ollama pool unified
  model ollama/Qwen3:latest weights 5GB caps llm
node b
  pool unified limit 60GB free 40GB
  runtime ollama pool unified
  model ollama/qwen3 weights 5GB loaded 8192 caps llm
ask fast`, false)
	if d.Verdict != Serve || d.Chosen.Node != "b" || len(d.Candidates) != 2 {
		t.Errorf("got\n%s", d.Explain())
	}
}

// the strong node is preferred while it is up.
func TestStrongNodeServesWhileItIsUp(t *testing.T) {
	text := `
node desktop memory 64GB bandwidth 900
  pool unified limit 60GB free 40GB
  runtime ollama pool unified
  model ollama/m weights 25GB loaded 8192 caps llm
node laptop memory 32GB bandwidth 100
  pool unified limit 60GB free 40GB
  runtime ollama pool unified
  model ollama/m weights 25GB loaded 8192 caps llm
`
	if d, _ := refused(t, text+"ask m", false); d.Chosen.Node != "desktop" {
		t.Errorf("got\n%s", d.Explain())
	}
	if d, _ := refused(t, text+"node desktop offline\nask m", false); d.Chosen.Node != "laptop" {
		t.Errorf("got\n%s", d.Explain())
	}
}
