package route

import (
	"encoding/json"
	"maps"
	"math"
	"slices"
	"strconv"
	"time"

	"bellwether/engine/dialect"
	"bellwether/engine/fleet"
)

// AppendJSON appends the record as one JSON object, the one that encoding/json
// makes of it too. Every request has a record, and finding its hundred fields
// by reflection took longer than to compress and store them. A new field needs
// its line here, which TestRecordsAreWrittenWithAllTheirFields asks for.
func (r *Record) AppendJSON(dst []byte) []byte {
	w := jsonWriter{append(dst, '{')}
	w.str(`"request_id":`, r.RequestID)
	w.key(`"at":`)
	w.b = appendTime(w.b, r.At)
	w.strIf(`"config_hash":`, r.ConfigHash)
	w.key(`"registry_version":`)
	w.b = strconv.AppendUint(w.b, r.RegistryVersion, 10)
	w.str(`"requested_model":`, r.RequestedModel)
	w.strIf(`"alias":`, r.Alias)
	w.strIf(`"profile":`, r.Profile)
	w.str(`"app":`, r.App)
	w.strsIf(`"tags":`, r.Tags)
	w.strIf(`"session":`, r.Session)
	w.str(`"protocol":`, r.Protocol)
	w.key(`"requirements":`)
	w.requirements(&r.Requirements)
	w.exclusions(r.Exclusions)
	if len(r.OtherCodes) > 0 {
		w.other(`"other_codes":`, r.OtherCodes)
	}
	w.candidates(r.Candidates)
	w.strIf(`"chosen":`, r.Chosen)
	w.strIf(`"node":`, r.Node)
	w.strIf(`"evidence":`, r.Evidence)
	w.strs(`"reasons":`, r.Reasons)
	w.strsIf(`"edits":`, r.Edits)
	w.object(`"timing":`)
	w.float(`"queue_ms":`, r.Timing.QueueMs)
	w.float(`"load_ms":`, r.Timing.LoadMs)
	w.float(`"ttft_ms":`, r.Timing.TTFTMs)
	w.float(`"total_ms":`, r.Timing.TotalMs)
	w.shut()
	if r.Usage != nil {
		w.key(`"usage":`)
		w.usage(r.Usage)
	}
	if t := r.Timings; t != nil {
		w.object(`"runtime_timings":`)
		w.int(`"Total":`, int(t.Total))
		w.int(`"Load":`, int(t.Load))
		w.int(`"Prefill":`, int(t.Prefill))
		w.int(`"Decode":`, int(t.Decode))
		w.shut()
	}
	if len(r.Parts) > 0 {
		w.other(`"parts":`, r.Parts)
	}
	w.int(`"retries":`, r.Retries)
	if len(r.Failover) > 0 {
		w.other(`"failover":`, r.Failover)
	}
	w.bool(`"failover_allowed":`, r.FailoverAllowed)
	w.strIf(`"failover_note":`, r.FailoverNote)
	w.boolIf(`"may_have_run":`, r.MayHaveRun)
	w.str(`"outcome":`, string(r.Outcome))
	w.intIf(`"status":`, r.Status)
	w.strIf(`"problem":`, r.Problem)
	w.strsIf(`"notes":`, r.Notes)
	w.float(`"overhead_ms":`, r.OverheadMs)
	w.strIf(`"scenario":`, r.Scenario)
	w.shut()
	return w.b
}

func (w *jsonWriter) requirements(n *Requirements) {
	w.b = append(w.b, '{')
	w.str(`"role":`, string(n.Role))
	w.strIf(`"primary_task":`, n.PrimaryTask)
	if len(n.Tasks) > 0 {
		w.object(`"tasks":`)
		var room [8]string // more than one text is taken for: nothing to allocate
		tasks := slices.AppendSeq(room[:0], maps.Keys(n.Tasks))
		slices.Sort(tasks)
		for _, task := range tasks {
			w.comma()
			w.b = append(dialect.AppendString(w.b, task), ':')
			w.b = appendFloat(w.b, n.Tasks[task])
		}
		w.shut()
	}
	w.bool(`"clear":`, n.Clear)
	w.tokens(n.Tokens)
	w.intIf(`"output_asked":`, n.OutputAsked)
	w.bool(`"needs_tools":`, n.NeedsTools)
	w.bool(`"tool_choice_required":`, n.ToolChoiceRequired)
	w.bool(`"parallel_tools":`, n.ParallelTools)
	w.boolIf(`"single_call":`, n.SingleCall)
	w.bool(`"json_schema":`, n.JSONSchema)
	w.bool(`"json_object":`, n.JSONObject)
	w.bool(`"streaming":`, n.Streaming)
	w.bool(`"vision":`, n.Vision)
	w.intIf(`"images":`, n.Images)
	w.bool(`"remote_image":`, n.RemoteImage)
	w.bool(`"audio_in":`, n.AudioIn)
	w.bool(`"continuation":`, n.Continuation)
	w.bool(`"insert":`, n.Insert)
	w.boolIf(`"load_only":`, n.LoadOnly)
	w.boolIf(`"think_asked":`, n.ThinkAsked)
	w.boolIf(`"think_strict":`, n.ThinkStrict)
	w.boolIf(`"think_off":`, n.ThinkOff)
	w.intIf(`"think_budget":`, n.ThinkBudget)
	w.strsIf(`"fields":`, n.Fields)
	w.intIf(`"input_total":`, n.InputTotal)
	w.strIf(`"text":`, n.Text)
	w.boolIf(`"truncates":`, n.Truncates)
	w.intIf(`"num_ctx":`, n.NumCtx)
	w.intIf(`"dimensions":`, n.Dimensions)
	w.strIf(`"space":`, n.Space)
	w.strIf(`"bound":`, n.Bound)
	w.strIf(`"bound_to":`, n.BoundTo)
	w.strIf(`"bound_why":`, n.BoundWhy)
	w.strIf(`"issued_by":`, n.IssuedBy)
	w.strIf(`"session":`, n.Session)
	w.boolIf(`"session_pins":`, n.SessionPins)
	w.str(`"app":`, n.App)
	w.strsIf(`"tags":`, n.Tags)
	w.intIf(`"app_limit":`, n.AppLimit)
	w.boolIf(`"batch":`, n.Batch)
	w.boolIf(`"no_fallback":`, n.NoFallback)
	w.strIf(`"node":`, n.Node)
	w.strIf(`"profile":`, n.Profile)
	w.strIf(`"locality":`, n.Locality)
	w.boolIf(`"may_pull":`, n.MayPull)
	w.intIf(`"timeout":`, int(n.Timeout))
	w.shut()
}

func (w *jsonWriter) exclusions(all map[fleet.DeploymentID][]RenderedExclusion) {
	if len(all) == 0 {
		return
	}
	w.object(`"exclusions":`)
	for _, id := range slices.SortedFunc(maps.Keys(all), fleet.DeploymentID.Compare) {
		w.comma()
		w.b = append(dialect.AppendString(w.b, id.String()), ':', '[')
		for i := range all[id] {
			x := &all[id][i]
			w.comma()
			w.b = append(w.b, '{')
			w.str(`"code":`, string(x.Code))
			w.str(`"reason":`, x.Reason)
			w.str(`"remedy":`, x.Remedy)
			w.shut()
		}
		w.b = append(w.b, ']')
	}
	w.shut()
}

func (w *jsonWriter) candidates(all []Candidate) {
	w.key(`"candidates":`)
	if all == nil {
		w.b = append(w.b, "null"...)
		return
	}
	w.b = append(w.b, '[')
	for i := range all {
		w.comma()
		w.candidate(&all[i])
	}
	w.b = append(w.b, ']')
}

func (w *jsonWriter) candidate(c *Candidate) {
	w.b = append(w.b, '{')
	w.str(`"deployment":`, c.Deployment.String())
	w.float(`"quality":`, c.Quality)
	w.str(`"evidence":`, c.Evidence)
	w.tokens(c.Tokens)
	if c.Factor != 0 {
		w.float(`"factor":`, c.Factor)
	}
	w.bool(`"loaded":`, c.Loaded)
	w.int(`"depth":`, c.Depth)
	w.float(`"latency_cost":`, c.LatencyCost)
	w.float(`"residency_cost":`, c.ResidencyCost)
	w.float(`"overhead_cost":`, c.OverheadCost)
	w.float(`"affinity_adjust":`, c.AffinityAdjust)
	w.float(`"score":`, c.Score)
	w.float(`"node_score":`, c.NodeScore)
	s := &c.Signals
	w.object(`"signals":`)
	w.float(`"warmth":`, s.Warmth)
	w.float(`"memory_fit":`, s.MemoryFit)
	w.float(`"queue_depth":`, s.QueueDepth)
	w.float(`"wait":`, s.Wait)
	w.float(`"role_affinity":`, s.RoleAffinity)
	w.float(`"availability":`, s.Availability)
	w.float(`"context_fit":`, s.ContextFit)
	w.float(`"session_affinity":`, s.SessionAffinity)
	w.shut()
	w.int(`"slots":`, c.Slots)
	w.strsIf(`"notes":`, c.Notes)
	w.shut()
}

func (w *jsonWriter) tokens(t Tokens) {
	w.object(`"tokens":`)
	w.int(`"input":`, t.Input)
	w.int(`"output":`, t.Output)
	w.int(`"reasoning":`, t.Reasoning)
	w.shut()
}

func (w *jsonWriter) usage(u *RecordUsage) {
	w.b = append(w.b, '{')
	known := func(key string, n *int) {
		if n != nil {
			w.int(key, *n)
		}
	}
	known(`"input":`, u.Input)
	known(`"output":`, u.Output)
	known(`"cached":`, u.Cached)
	known(`"reasoning":`, u.Reasoning)
	w.shut()
}

// jsonWriter appends members, commas included. Keys come with quotes and colon;
// the methods in If leave out what is zero.
type jsonWriter struct{ b []byte }

func (w *jsonWriter) comma() {
	switch w.b[len(w.b)-1] {
	case '{', '[':
	default:
		w.b = append(w.b, ',')
	}
}

func (w *jsonWriter) key(key string) {
	w.comma()
	w.b = append(w.b, key...)
}

func (w *jsonWriter) object(key string) { w.key(key); w.b = append(w.b, '{') }
func (w *jsonWriter) shut()             { w.b = append(w.b, '}') }

func (w *jsonWriter) str(key, s string)           { w.key(key); w.b = dialect.AppendString(w.b, s) }
func (w *jsonWriter) int(key string, n int)       { w.key(key); w.b = strconv.AppendInt(w.b, int64(n), 10) }
func (w *jsonWriter) bool(key string, v bool)     { w.key(key); w.b = strconv.AppendBool(w.b, v) }
func (w *jsonWriter) float(key string, f float64) { w.key(key); w.b = appendFloat(w.b, f) }

func (w *jsonWriter) strs(key string, all []string) {
	w.key(key)
	if all == nil {
		w.b = append(w.b, "null"...)
		return
	}
	w.b = append(w.b, '[')
	for _, s := range all {
		w.comma()
		w.b = dialect.AppendString(w.b, s)
	}
	w.b = append(w.b, ']')
}

func (w *jsonWriter) strIf(key, s string) {
	if s != "" {
		w.str(key, s)
	}
}

func (w *jsonWriter) strsIf(key string, all []string) {
	if len(all) > 0 {
		w.strs(key, all)
	}
}

func (w *jsonWriter) intIf(key string, n int) {
	if n != 0 {
		w.int(key, n)
	}
}

func (w *jsonWriter) boolIf(key string, v bool) {
	if v {
		w.bool(key, v)
	}
}

// other writes what few records have.
func (w *jsonWriter) other(key string, v any) {
	text, err := json.Marshal(v)
	if err != nil { // numbers that are none, in a failed attempt's account
		return
	}
	w.key(key)
	w.b = append(w.b, text...)
}

// appendFloat writes a number as short as it reads back the same; one that is
// none, which JSON cannot say, as null.
func appendFloat(dst []byte, f float64) []byte {
	switch a := math.Abs(f); {
	case a < 1<<53 && f == math.Trunc(f) && !(f == 0 && math.Signbit(f)): // most are
		return strconv.AppendInt(dst, int64(f), 10)
	case math.IsNaN(f) || math.IsInf(f, 0):
		return append(dst, "null"...)
	case a >= 1e-6 && a < 1e21 || f == 0:
		return strconv.AppendFloat(dst, f, 'f', -1, 64)
	}
	return strconv.AppendFloat(dst, f, 'e', -1, 64)
}

// appendTime writes a time as time.Time does in JSON.
func appendTime(dst []byte, t time.Time) []byte {
	dst = append(dst, '"')
	dst = t.AppendFormat(dst, time.RFC3339Nano)
	return append(dst, '"')
}
