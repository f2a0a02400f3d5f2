package route

import (
	"fmt"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"bellwether/engine/fleet"
)

// wholeText is a fleet in which much can go one way or the other.
const wholeText = `
alias eyes models m,n vision tags seeing
contract wiki members e anchor ` + wikiWeights + ` source bound
node studio id n1 memory 64GB bandwidth 400 local learning availability 0.5
  pool unified limit 60GB total 64GB margin 2GB free 40GB
    holds ollama/m bytes 6GB
  pool ram kind ram limit 10GB
  runtime ollama kind ollama pool unified
  model ollama/m digest dm weights 5GB resident 6GB loaded 8192 max_context 32768 params 8e9 caps agent,vision tags seeing honours seed
  model ollama/n digest dn weights 9GB max_context 8192 caps agent,!vision priors any=0.6@operator
  model ollama/e digest ` + wikiWeights + ` weights 300MB width 768 caps embed
  running ollama/m 1
node attic id n2 memory 32GB
  pool gpu kind vram limit 22GB
  runtime llama kind llama-server pool gpu
  model llama/m weights 5GB loaded 8192 caps agent slots 2
lane n1/ollama/m running 1 last 3
pin talk n2/llama/m identity m ago 1m
measured n1/ollama/m seconds 3x30 load 4x2 prefill 900x9 decode 50x9 tasks chat=3x9
habits n1/ollama/m calibration 1.1x9 output any=200x9
`

var wholeAsks = []string{
	"ask auto task chat clear session talk in 3000",
	"ask m fallbacks n tools in 7500 out 4096 asked 4096 attempt 2 failed n2/llama/m",
	"ask eyes vision origin n2",
	"ask wiki role embedding part 2",
	"ask nobody may_pull timeout 40s",
	"ask n in 20000 out 900 origin n2 no_fallback",
}

// Whatever a decision is made from stands in its scenario: with any one thing
// about the fleet, the policy or the request changed, what is written out and read
// back is decided the same, in every word.
func TestScenarioHoldsAllThatADecisionIsMadeFrom(t *testing.T) {
	tried, told := 0, 0
	for _, ask := range wholeAsks {
		read := func() *Step {
			s, err := ReadScenario(wholeText + ask + "\n")
			if err != nil {
				t.Fatal(err)
			}
			return &s.Steps[0]
		}
		base := read().Explain()
		for _, change := range changesOf(read()) {
			step := read()
			change.make(step)
			before := step.Explain()
			tried++
			if before != base {
				told++
			}
			text := Write(step.View, step.Policy, &step.Query)
			again, err := ReadScenario(text)
			if err != nil || len(again.Steps) != 1 {
				t.Errorf("%s, %s: it does not read back: %v\n%s", ask, change.name, err, text)
				continue
			}
			if r := again.Steps[0].Replay(); !r.Same || r.Text != before {
				t.Errorf("%s, %s: read back it is decided otherwise: %v\n%s", ask, change.name, differences(lines(before), lines(r.Text)), text)
			}
		}
	}
	t.Logf("%d changes, %d of which a decision tells", tried, told)
	if told < 300 {
		t.Errorf("only %d of %d changes made a difference", told, tried)
	}
}

// change is one thing that is otherwise than in the base.
type change struct {
	name string
	make func(*Step)
}

// changesOf walks everything a step is made of and returns each leaf with each of
// some values put in its place.
func changesOf(step *Step) []change {
	var out []change
	roots := map[string]func(*Step) reflect.Value{
		"query":  func(s *Step) reflect.Value { return reflect.ValueOf(&s.Query).Elem() },
		"policy": func(s *Step) reflect.Value { return reflect.ValueOf(s.Policy).Elem() },
		"fleet":  func(s *Step) reflect.Value { return reflect.ValueOf(s.View.Fleet).Elem() },
	}
	for name, root := range roots {
		walk(root(step), name, func(path string, at func(reflect.Value) reflect.Value, values []any) {
			for _, v := range values {
				out = append(out, change{fmt.Sprintf("%s = %#v", path, v), func(s *Step) {
					field := at(root(s))
					field.Set(reflect.ValueOf(v).Convert(field.Type()))
				}})
			}
		})
	}
	slices.SortFunc(out, func(a, b change) int { return strings.Compare(a.name, b.name) })
	return out
}

// walk visits the leaves below v; at finds the same leaf below another root.
func walk(v reflect.Value, path string, visit func(path string, at func(reflect.Value) reflect.Value, values []any)) {
	var down func(v reflect.Value, path string, at func(reflect.Value) reflect.Value)
	down = func(v reflect.Value, path string, at func(reflect.Value) reflect.Value) {
		if fixed(path) {
			return
		}
		switch v.Interface().(type) {
		case time.Time:
			visit(path, at, []any{time.Time{}, scenarioNow, scenarioNow.Add(-90 * time.Second), scenarioNow.Add(90 * time.Second)})
			return
		case time.Duration:
			visit(path, at, []any{time.Duration(0), 1500 * time.Millisecond, time.Hour})
			return
		case fleet.Residency:
			visit(path, at, []any{fleet.OnDisk, fleet.Loading, fleet.Loaded, fleet.Leaving})
			return
		case fleet.Tri:
			visit(path, at, []any{fleet.Unknown, fleet.No, fleet.Yes})
			return
		case fleet.Capabilities:
			for _, c := range []fleet.Capability{fleet.CapChat, fleet.CapEmbedding, fleet.CapTools, fleet.CapVision, fleet.CapStreaming} {
				for _, support := range []fleet.Tri{fleet.Unknown, fleet.No, fleet.Yes} {
					caps := fleet.Capabilities{}
					for k, claim := range v.Interface().(fleet.Capabilities) {
						caps[k] = claim
					}
					caps[c] = fleet.Claim{Support: support, Source: fleet.SourceOperator}
					if support == fleet.Unknown {
						delete(caps, c)
					}
					visit(path+"."+string(c)+"."+support.String(), at, []any{caps})
				}
			}
			visit(path, at, []any{fleet.Capabilities(nil)})
			return
		}
		switch v.Kind() {
		case reflect.Struct:
			for i := range v.NumField() {
				if v.Type().Field(i).IsExported() {
					down(v.Field(i), path+"."+v.Type().Field(i).Name, func(root reflect.Value) reflect.Value { return at(root).Field(i) })
				}
			}
		case reflect.Slice:
			if v.Type().Elem().Kind() == reflect.String {
				visit(path, at, []any{reflect.Zero(v.Type()).Interface(), reflect.ValueOf([]string{"a b", "seed"}).Convert(v.Type()).Interface()})
				return
			}
			for i := range v.Len() {
				down(v.Index(i), fmt.Sprintf("%s[%d]", path, i), func(root reflect.Value) reflect.Value { return at(root).Index(i) })
			}
		case reflect.Bool:
			visit(path, at, []any{!v.Bool()})
		case reflect.Int, reflect.Int64:
			visit(path, at, []any{0, 1, 7, 5000, 3_000_000_001})
		case reflect.Float64:
			visit(path, at, []any{0.0, 0.125, 3.0, 9.1e9})
		case reflect.String:
			if strings.HasSuffix(path, ".Kind") {
				visit(path, at, []any{"ollama", "llama-server", "vllm"})
				return
			}
			visit(path, at, []any{"", "plain", "with space", "two\nlines", `"quoted"\`, "#", "critical", "this_node", "none", "paused", "reject", "tail\u00a0"})
		}
	}
	down(v, path, func(root reflect.Value) reflect.Value { return root })
}

// fixed are what is no input of a decision, or what other parts are found by.
func fixed(path string) bool {
	for _, end := range []string{
		".ToolKey", ".Declarations", ".Readings", ".Version", ".At", ".Sequence", ".Boot", ".ID", ".Node", ".Deployment", ".Name",
		".BoundTo", ".Role", ".BoundWhy", ".Bound", ".IssuedBy", ".ObservedAt", ".Failed", ".Request",
	} {
		if strings.HasSuffix(path, end) && path != "query.Needs.Node" {
			return true
		}
	}
	return false
}
