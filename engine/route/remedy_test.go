package route

import (
	"slices"
	"strings"
	"testing"
	"time"

	"bellwether/engine/fleet"
)

// situation is a scenario's last request with what its reader may change.
type situation struct {
	*Step
	node *fleet.Node
	dep  *fleet.Deployment
}

// declare does as a reader does who writes deployments: [{match: m, ...}].
func (s *situation) declare(d Declaration) {
	d.Match = s.dep.ID.Model
	s.Policy.Declarations = append(s.Policy.Declarations, d)
	Declare(s.Policy, s.dep)
}

func (s *situation) alias(change func(*Alias)) {
	for name, a := range s.Policy.Aliases {
		change(&a)
		s.Policy.Aliases[name] = a
	}
}

// What a refusal advises can be done by whoever reads it, and helps: once it is
// done the check passes.
func TestRemediesHelp(t *testing.T) {
	const machine = `
node studio id n1 memory 64GB bandwidth 400 local
  pool unified limit 60GB margin 2GB free 40GB
  runtime ollama pool unified
`
	loaded := machine + "  model ollama/m digest d weights 5GB loaded 8192 max_context 8192 caps agent\n"
	onDisk := machine + "  model ollama/m digest d weights 5GB max_context 8192 caps agent\n"
	server := machine + "  runtime llama kind llama-server pool unified\n  model llama/m weights 5GB loaded 8192 %C caps agent slots 1 preallocated\n"
	for name, c := range map[string]struct {
		text   string
		code   fleet.Code
		remedy string // what is done
		do     func(*situation)
	}{
		"disabled": {strings.Replace(loaded, "caps agent", "caps agent disabled", 1) + "ask m", fleet.CodeDisabled, "deployments[].enabled", func(s *situation) {
			on := true
			s.declare(Declaration{Enabled: &on})
		}},
		"unhealthy":         {strings.Replace(loaded, "caps agent", "caps agent unhealthy crashes", 1) + "ask m", fleet.CodeUnhealthy, "as soon as it is well", func(s *situation) { s.dep.Unhealthy = "" }},
		"role chat":         {strings.Replace(loaded, "caps agent", "caps embed", 1) + "  model ollama/c weights 1GB caps llm\nask m", fleet.CodeRole, "ask for a chat model", func(s *situation) { s.Query.Model = "c" }},
		"role embedding":    {loaded + "  model ollama/e weights 1GB caps embed\nask m role embedding", fleet.CodeRole, "ask for an embedding model", func(s *situation) { s.Query.Model = "e" }},
		"locality, request": {loaded + "ask m origin n2 locality this_node", fleet.CodeLocality, "leave X-Fleet-Locality out", func(s *situation) { s.Query.Needs.Locality = "" }},
		"locality, fleet":   {loaded + "policy locality this_node\nask m origin n2 locality this_node", fleet.CodeLocality, "set routing.locality to fleet", func(s *situation) { s.Policy.Locality, s.Query.Needs.Locality = "fleet", "" }},
		"locality, alias":   {loaded + "alias near models m locality this_node\nask near origin n2", fleet.CodeLocality, "set aliases.near.locality to fleet", func(s *situation) { s.alias(func(a *Alias) { a.Locality = "fleet" }) }},
		"tag, declared":     {loaded + "alias quick models m tags fast\nask quick", fleet.CodeAliasConstraint, "add fast to deployments[].tags of m", func(s *situation) { s.declare(Declaration{Tags: []string{"fast"}}) }},
		"tag, taken":        {loaded + "alias quick models m tags fast\nask quick", fleet.CodeAliasConstraint, "take it from aliases.quick.tags", func(s *situation) { s.alias(func(a *Alias) { a.Tags = nil }) }},
		"vision, declared": {loaded + "alias eyes require_vision models m\nask eyes", fleet.CodeAliasConstraint, "declare vision under deployments[].capabilities", func(s *situation) {
			s.declare(Declaration{Capabilities: map[fleet.Capability]fleet.Tri{"vision": fleet.Yes}})
		}},
		"vision, taken": {strings.Replace(loaded, "caps agent", "caps agent,!vision", 1) + "alias eyes require_vision models m\nask eyes", fleet.CodeAliasConstraint, "leave require_vision out", func(s *situation) { s.alias(func(a *Alias) { a.RequireVision = false }) }},
		"capability unknown": {loaded + "ask m vision", fleet.CodeCapability, "`bellwether probe m`, or declare vision under deployments[].capabilities", func(s *situation) {
			s.declare(Declaration{Capabilities: map[fleet.Capability]fleet.Tri{"vision": fleet.Yes}})
		}},
		"capability lacking": {strings.Replace(loaded, "caps agent", "caps agent,!vision", 1) + "ask m vision", fleet.CodeCapability, "leave it out of the request", func(s *situation) { s.Query.Needs.Vision = false }},
		"capability denied": {strings.Replace(loaded, "caps agent", "caps agent,!vision@operator", 1) + "ask m vision", fleet.CodeCapability, "change deployments[].capabilities.vision", func(s *situation) {
			s.declare(Declaration{Capabilities: map[fleet.Capability]fleet.Tri{"vision": fleet.Yes}})
		}},
		"remote image":             {loaded + "ask m remote_image", fleet.CodeRemoteImage, "allow security.remote_images", func(s *situation) { s.Policy.RemoteImages = true }},
		"context, prompt":          {loaded + "ask m in 17000 out 1024", fleet.CodeContext, "shorten the prompt by at least 9,320 tokens", func(s *situation) { s.Query.Needs.Tokens.Input -= 9320 }},
		"context, larger model":    {loaded + "  model ollama/wide weights 5GB max_context 131072 caps agent\nask m in 17000 out 1024", fleet.CodeContext, "use a model with a larger context", func(s *situation) { s.Query.Model = "wide" }},
		"context, answer":          {loaded + "node attic\n  runtime ollama\n  model ollama/m digest d weights 5GB loaded 32768 max_context 32768 caps agent\nhabits n1/ollama/m output any=9000x9\nask m in 500 out 1024", fleet.CodeContext, "ask for at most 7,692 tokens of output", func(s *situation) { s.Query.Needs.OutputAsked = 7692 }},
		"context, large limit":     {loaded + "ask m in 17300 out 4096 asked 4096", fleet.CodeContext, "shorten the prompt by at least 9,620 tokens", func(s *situation) { s.Query.Needs.Tokens.Input -= 9620 }},
		"context, unknown maximum": {strings.Replace(loaded, "max_context 8192 ", "", 1) + "ask m in 17000 out 1024", fleet.CodeContext, "deployments[].context", func(s *situation) { s.declare(Declaration{Context: 40960}) }},
		"context, started small":   {strings.Replace(server, "%C", "max_context 40960", 1) + "ask m in 17000 out 1024", fleet.CodeContext, "with a context of at least 17,512 tokens", func(s *situation) { s.dep.LoadedContext = 17512 }},
		"context, trained small":   {strings.Replace(server, "%C", "max_context 8192", 1) + "ask m in 17000 out 1024", fleet.CodeContext, "shorten the prompt by at least 9,320 tokens", func(s *situation) { s.Query.Needs.Tokens.Input -= 9320 }},
		"field":                    {loaded + "ask m fields logprobs", fleet.CodeFieldNotHonoured, "leave logprobs out", func(s *situation) { s.Query.Needs.Fields = nil }},
		"admission, leaving":       {strings.Replace(loaded, "loaded 8192", "leaving", 1) + "ask m", fleet.CodeAdmission, "wait a moment", func(s *situation) { s.dep.Residency = fleet.OnDisk }},
		"admission, size":          {"policy unknown_memory reject\n" + strings.Replace(onDisk, "weights 5GB ", "", 1) + "ask m", fleet.CodeAdmission, "deployments[].memory_gb", func(s *situation) { s.declare(Declaration{MemoryGB: 6}) }},
		"admission, own time":      {onDisk + "ask m timeout 1s", fleet.CodeAdmission, "give the request more time", func(s *situation) { s.Query.Needs.Timeout = time.Minute }},
		"admission, policy's time": {"policy total 1s\n" + onDisk + "ask m", fleet.CodeAdmission, "raise routing.timeouts.total", func(s *situation) { s.Policy.Total = time.Minute }},
		"admission, loaded first":  {"policy total 1s\n" + onDisk + "ask m", fleet.CodeAdmission, "bellwether models load m", func(s *situation) { s.dep.Residency, s.dep.LoadedContext = fleet.Loaded, 8192 }},
		"memory, in use":           {onDisk + "node studio\n  pool unified limit 10GB margin 2GB\n    holds ollama/o bytes 6GB\n  model ollama/o weights 5GB resident 6GB loaded 8192 caps llm\nlane n1/ollama/o running 1\nask m", fleet.CodeMemory, "wait until running work ends", func(s *situation) { s.View.Lanes = nil }},
		"memory, pinned":           {onDisk + "node studio\n  pool unified limit 10GB margin 2GB\n    holds ollama/o bytes 6GB\n  model ollama/o weights 5GB resident 6GB loaded 8192 pinned caps llm\nask m", fleet.CodeMemory, "unload or unpin a model", func(s *situation) { s.node.Deployments[1].Pinned = false }},
		"memory, other programs":   {onDisk + "node studio\n  pool unified limit 60GB margin 2GB free 1GB\nask m", fleet.CodeMemory, "close other programs on studio", func(s *situation) { s.node.Pools[0].Free = fleet.Know[int64](20 * gb) }},
		"memory, limited by owner": {onDisk + "node studio\n  pool unified total 60GB limit 6GB margin 2GB\nask m", fleet.CodeMemory, "raise pools[].memory_gb on studio", func(s *situation) { s.node.Pools[0].Limit = 12 * gb }},
		"memory, too little of it": {onDisk + "  model ollama/s weights 1GB caps llm\nnode studio\n  pool unified total 6GB limit 6GB margin 2GB\nask m", fleet.CodeMemory, "ask for a smaller model", func(s *situation) { s.Query.Model = "s" }},
		"memory, models at once":   {onDisk + "node studio\n  runtime ollama pool unified max_loaded 1\n  model ollama/o weights 5GB loaded 8192 pinned caps llm\nask m", fleet.CodeMemory, "unpin one, or raise the runtime's limit", func(s *situation) { s.node.Runtimes[0].MaxLoaded = 2 }},
		"no runtime":               {loaded + "node studio\n  runtime ollama pool unified down\nask m", fleet.CodeNoRuntime, "start ollama on studio", func(s *situation) { s.node.Runtimes[0].Up = true }},
		"pressure":                 {loaded + "node studio pressure critical\nask m", fleet.CodePressure, "close programs on studio", func(s *situation) { s.node.State.Pressure = "" }},
		"paused":                   {loaded + "node studio paused\nask m", fleet.CodePaused, "`bellwether resume`", func(s *situation) { s.node.State.Paused = false }},
		"draining":                 {loaded + "node studio draining\nask m", fleet.CodeDraining, "start it again", func(s *situation) { s.node.State.Draining = false }},
		"offline":                  {loaded + "node studio offline\nask m", fleet.CodeOffline, "wake studio", func(s *situation) { s.node.Liveness = fleet.Alive }},
		"battery":                  {loaded + "node studio on_battery battery own\nask m", fleet.CodeBattery, "set battery: serve on studio", func(s *situation) { s.node.State.Battery = "serve" }},
		"busy":                     {loaded + "node studio learning busy availability 0.9\nask m", fleet.CodeBusy, "turn capacity.learning off", func(s *situation) { s.node.State.Learning = false }},
		"availability":             {loaded + "node studio learning availability 0.1\nask m", fleet.CodeAvailability, "turn capacity.learning off", func(s *situation) { s.node.State.Learning = false }},
		"observing":                {loaded + "node studio learning observing availability 0.9\nask m", fleet.CodeObserving, "capacity.observation", func(s *situation) { s.node.State.Observing = false }},
		"meeting":                  {loaded + "node studio meeting\nask m", fleet.CodeMeeting, "wait until it ends", func(s *situation) { s.node.State.Meeting = fleet.No }},
		"bound to a node":          {loaded + "node attic\nask m node attic", fleet.CodeBound, "leave X-Fleet-Node out", func(s *situation) { s.Query.Needs.Node = "" }},
		"circuit":                  {loaded + "circuit n1/ollama/m retry 10s\nask m", fleet.CodeCircuitOpen, "tried again in 10 s", func(s *situation) { s.View.Now = s.View.Now.Add(10 * time.Second) }},
		"uncertain":                {strings.Replace(loaded, "caps agent", "caps agent slots 1", 1) + "  uncertain ollama/m 90s\nask m", fleet.CodeUncertainHold, "wait up to 90 s", func(s *situation) { s.node.Uncertain = nil }},
		"not installed there":      {loaded + "node attic\n  runtime ollama\nask m", fleet.CodeModelAbsent, "pull it there", func(s *situation) { s.install("attic", "ollama") }},
		"no runtime that pulls":    {loaded + "node attic\n  runtime llama kind llama-server\nask m", fleet.CodeModelAbsent, "serve it with a runtime there", func(s *situation) { s.install("attic", "llama") }},
		"identity unknown":         {"contract wiki members m anchor " + wikiWeights + "\n" + machine + "  model ollama/m weights 1GB caps embed\nask wiki role embedding", fleet.CodeIdentityUnknown, "deployments[].identity: 0a109f422b47", func(s *situation) { s.declare(Declaration{Identity: "0a109f422b47"}) }},
		"identity of another model": {"contract wiki members m anchor " + wikiWeights + "\n" + machine + "  model ollama/m digest " + otherWeights + " weights 1GB caps embed\nask wiki role embedding", fleet.CodeIdentityDiffers, "set embeddings.wiki.identity to c6e2d4cae5bd", func(s *situation) {
			s.Policy.Contracts["wiki"] = Contract{Members: []string{"m"}, Identity: "c6e2d4cae5bd", Anchor: &Anchor{Identity: "c6e2d4cae5bd", Source: AnchorDeclared}}
		}},
	} {
		t.Run(name, func(t *testing.T) {
			text := strings.ReplaceAll(c.text, "require_vision", "vision")
			read, err := ReadScenario(text)
			if err != nil {
				t.Fatal(err)
			}
			step := &read.Steps[len(read.Steps)-1]
			s := &situation{step, studioOf(step.View), nil}
			s.dep = &s.node.Deployments[0]
			remedy, is := "", false
			d := Decide(s.View, s.Policy, &s.Query)
			for _, all := range d.Exclusions {
				for _, x := range all {
					if x.Code == c.code {
						is, remedy = true, Render(x).Remedy
					}
				}
			}
			if !is || !strings.Contains(remedy, c.remedy) {
				t.Fatalf("%q does not advise %q\n%s", remedy, c.remedy, d.Explain())
			}
			c.do(s)
			after := Decide(s.View, s.Policy, &s.Query)
			if slices.Contains(codes(after), c.code) || after.Verdict != Serve {
				t.Errorf("it was done, and\n%s", after.Explain())
			}
		})
	}
}

func studioOf(v *View) *fleet.Node {
	for i := range v.Fleet.Nodes {
		if n := &v.Fleet.Nodes[i]; n.Name == "studio" {
			return n
		}
	}
	return nil
}

// install puts the model on another machine, too.
func (s *situation) install(node, runtime string) {
	n := s.View.Fleet.Node(node)
	d := *s.dep
	d.ID.Node, d.ID.Runtime = node, runtime
	n.Deployments = append(n.Deployments, d)
}
