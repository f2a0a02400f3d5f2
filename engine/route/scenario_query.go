package route

import (
	"strings"
	"time"

	"bellwether/engine/fleet"
)

// queryFields are the keys of an ask line.
var queryFields = []field[Query]{
	text("id", func(q *Query) *string { return &q.Request }),
	list("fallbacks", func(q *Query) *[]string { return &q.Fallbacks }),
	text("origin", func(q *Query) *string { return &q.Origin }),
	past("arrived", func(q *Query) *time.Time { return &q.Arrived }),
	count("attempt", func(q *Query) *int { return &q.Attempt }),
	{name: "failed", read: readFailed, write: writeFailed},
	count("counted", func(q *Query) *int { return &q.Counted }),
	text("counted_by", func(q *Query) *string { return &q.CountedBy }),
	flag("changed", func(q *Query) *bool { return &q.Changed }),
	flag("no_hold", func(q *Query) *bool { return &q.NoHold }),
	flag("probing", func(q *Query) *bool { return &q.Probing }),

	{name: "role",
		read:  func(q *Query, s string) error { q.Needs.Role = Role(s); return nil },
		write: func(q *Query) string { return strings.TrimPrefix(string(q.Needs.Role), string(RoleChat)) }},
	text("task", func(q *Query) *string { return &q.Needs.PrimaryTask }),
	confidences("tasks", func(q *Query) *map[string]float64 { return &q.Needs.Tasks }),
	flag("clear", func(q *Query) *bool { return &q.Needs.Clear }),
	count("in", func(q *Query) *int { return &q.Needs.Tokens.Input }),
	count("out", func(q *Query) *int { return &q.Needs.Tokens.Output }),
	count("reasoning", func(q *Query) *int { return &q.Needs.Tokens.Reasoning }),
	count("asked", func(q *Query) *int { return &q.Needs.OutputAsked }),
	count("num_ctx", func(q *Query) *int { return &q.Needs.NumCtx }),
	flag("tools", func(q *Query) *bool { return &q.Needs.NeedsTools }),
	flag("tool_choice_required", func(q *Query) *bool { return &q.Needs.ToolChoiceRequired }),
	flag("parallel_tools", func(q *Query) *bool { return &q.Needs.ParallelTools }),
	flag("single_call", func(q *Query) *bool { return &q.Needs.SingleCall }),
	flag("json_schema", func(q *Query) *bool { return &q.Needs.JSONSchema }),
	flag("json_object", func(q *Query) *bool { return &q.Needs.JSONObject }),
	unset("whole", func(q *Query) *bool { return &q.Needs.Streaming }), // not streamed
	flag("vision", func(q *Query) *bool { return &q.Needs.Vision }),
	flag("remote_image", func(q *Query) *bool { return &q.Needs.RemoteImage }),
	flag("audio", func(q *Query) *bool { return &q.Needs.AudioIn }),
	flag("continuation", func(q *Query) *bool { return &q.Needs.Continuation }),
	flag("insert", func(q *Query) *bool { return &q.Needs.Insert }),
	count("dimensions", func(q *Query) *int { return &q.Needs.Dimensions }),
	text("space", func(q *Query) *string { return &q.Needs.Space }),
	count("part", func(q *Query) *int { return &q.Part }),
	flag("load_only", func(q *Query) *bool { return &q.Needs.LoadOnly }),
	flag("think_strict", func(q *Query) *bool { return &q.Needs.ThinkStrict }),
	flag("think_off", func(q *Query) *bool { return &q.Needs.ThinkOff }),
	count("think_budget", func(q *Query) *int { return &q.Needs.ThinkBudget }),
	text("text", func(q *Query) *string { return &q.Needs.Text }),
	flag("truncates", func(q *Query) *bool { return &q.Needs.Truncates }),
	list("fields", func(q *Query) *[]string { return &q.Needs.Fields }),
	text("session", func(q *Query) *string { return &q.Needs.Session }),
	text("app", func(q *Query) *string { return &q.Needs.App }),
	list("tags", func(q *Query) *[]string { return &q.Needs.Tags }),
	flag("batch", func(q *Query) *bool { return &q.Needs.Batch }),
	flag("no_fallback", func(q *Query) *bool { return &q.Needs.NoFallback }),
	text("node", func(q *Query) *string { return &q.Needs.Node }),
	text("profile", func(q *Query) *string { return &q.Needs.Profile }),
	text("locality", func(q *Query) *string { return &q.Needs.Locality }),
	flag("may_pull", func(q *Query) *bool { return &q.Needs.MayPull }),
	lasts("timeout", func(q *Query) *time.Duration { return &q.Needs.Timeout }),
	{name: "issuer", // identity of the model that made the tool calls answered
		read: func(q *Query, s string) error {
			q.Needs.IssuedBy = IdentityTag(scenarioKey, s)
			return nil
		},
		write: func(*Query) string { return "" }}, // the writer's own, see issuer
}

// ask begins a step: the request on a copy of the fleet as it is now.
func (r *reader) ask(words []string) (*Step, error) {
	model := ""
	if len(words) > 0 {
		model, words = words[0], words[1:]
	}
	q := Query{Request: "r1", Model: model, Attempt: 1, Arrived: scenarioNow, Needs: Requirements{
		Role: RoleChat, Streaming: true, Tokens: Tokens{Input: 100, Output: 1024}, App: "app",
	}}
	if err := readFields(&q, words, queryFields); err != nil {
		return nil, err
	}
	n := &q.Needs
	if n.IssuedBy != "" {
		n.Bound, n.BoundTo, n.BoundWhy = "model", n.IssuedBy, "it answers tool calls of one model"
	}
	if n.Node != "" {
		n.Bound, n.BoundTo, n.BoundWhy = "node", n.Node, "the request names this node"
	}
	r.facts.fill(r.view)
	return &Step{Story: r.takeStory(), View: copyView(r.view), Policy: copyPolicy(r.policy), Query: q}, nil
}

func readFailed(q *Query, s string) error {
	for part := range strings.SplitSeq(s, ",") {
		id, ok := fleet.ParseDeploymentID(part)
		if !ok {
			return &fleet.IDError{Text: part}
		}
		q.Failed = append(q.Failed, id)
	}
	return nil
}

func writeFailed(q *Query) string {
	var ids []string
	for _, id := range q.Failed {
		ids = append(ids, id.String())
	}
	return strings.Join(ids, ",")
}
