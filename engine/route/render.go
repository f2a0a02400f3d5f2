package route

import (
	"fmt"
	"strconv"
	"strings"

	"bellwether/engine/fleet"
)

// Render returns an exclusion in words: what is in the way and what to do.
// Decisions carry codes and operands only; text is made when it is read.
func Render(x Exclusion) RenderedExclusion {
	reason, remedy := words(x)
	return RenderedExclusion{Code: x.Code, Reason: reason, Remedy: remedy}
}

// RenderAll returns all of a deployment's exclusions in words.
func RenderAll(all []Exclusion) []RenderedExclusion {
	out := make([]RenderedExclusion, len(all))
	for i, x := range all {
		out[i] = Render(x)
	}
	return out
}

func words(x Exclusion) (reason, remedy string) {
	switch x.Code {
	case fleet.CodeAdmission:
		return admissionWords(x)
	case fleet.CodeMemory:
		return memoryWords(x)
	case fleet.CodeBound:
		return boundWords(x)
	case fleet.CodeIdentityUnknown, fleet.CodeIdentityDiffers:
		return identityWords(x)
	case fleet.CodeOffline, fleet.CodeDraining, fleet.CodeNoRuntime, fleet.CodePressure, fleet.CodePaused, fleet.CodeBattery,
		fleet.CodeMeeting, fleet.CodeBusy, fleet.CodeAvailability, fleet.CodeObserving:
		return nodeWords(x)
	case fleet.CodeFailedBefore, fleet.CodeCircuitOpen, fleet.CodeUncertainHold:
		return pastWords(x)
	default:
		return modelWords(x)
	}
}

// RefusalWords returns in whole sentences why a node refused work, and what to
// do where its state as a whole is in the way ("" for others).
func RefusalWords(r *fleet.Refusal, node string) (reason, remedy string) {
	x := Exclusion{Code: r.Code, Operands: []any{node, "", -1}}
	switch {
	case r.Code == fleet.CodePaused:
		x.Operands[1] = r.Reason
	case !r.Code.Away():
		return x.sentence(r.Reason), ""
	}
	return Sentences(x)
}

func boundWords(x Exclusion) (reason, remedy string) {
	if x.text(0) == boundNode {
		return "the request names the node " + x.text(1), "leave X-Fleet-Node out, or name a node that can serve it"
	}
	return x.text(1) + " did not make the tool calls that this request answers", "wait for the model that made them, or start the turn anew"
}

func nodeWords(x Exclusion) (reason, remedy string) {
	node := x.text(0)
	switch x.Code {
	case fleet.CodeOffline:
		if ago := x.number(1); ago >= 0 {
			return node + " is offline, last heard " + span(float64(ago)) + " ago", "wake " + node + " or check its network"
		}
		return node + " is offline", "wake " + node + " or check its network"
	case fleet.CodeDraining:
		return node + " is about to leave and takes no new work", "wait for another node, or start it again"
	case fleet.CodeNoRuntime:
		reason = "runtime " + x.text(0) + " on " + x.text(1) + " does not answer"
		if why := x.text(2); why != "" {
			reason += ": " + why
		}
		return reason, "start " + x.text(0) + " on " + x.text(1)
	case fleet.CodePressure:
		return node + " is out of memory for now (critical pressure)", "close programs on " + node + ", or wait"
	case fleet.CodePaused:
		reason = node + " is paused"
		switch why := x.text(1); {
		case strings.HasPrefix(why, "paused "): // by its owner: a whole sentence of its own
			reason = node + " is " + why
		case why != "":
			reason += ": " + why
		}
		if left := x.number(2); left >= 0 {
			reason += ", for " + span(float64(left)) + " more"
		}
		return reason, "resume it with `bellwether resume`"
	case fleet.CodeBattery:
		return node + " runs on battery", "plug it in, or set battery: serve on " + node
	case fleet.CodeMeeting:
		reason = node + " is in a meeting"
		if why := x.text(1); why != "" {
			reason += " (" + why + ")"
		}
		return reason, "wait until it ends, or add the program to meetings.ignore"
	case fleet.CodeBusy:
		return node + " is busy with its owner's work", "wait, or turn capacity.learning off on " + node
	case fleet.CodeAvailability:
		return fmt.Sprintf("%s is usually in use at this time (availability %.2f)", node, x.float(1)), "wait, or turn capacity.learning off on " + node
	default: // CodeObserving
		return node + " is still learning its owner's week", "wait until the week is over, or set capacity.observation to gradual"
	}
}

func pastWords(x Exclusion) (reason, remedy string) {
	switch x.Code {
	case fleet.CodeFailedBefore:
		return "this request failed on " + x.text(0) + " already", "see the failed attempt in the decision record"
	case fleet.CodeCircuitOpen:
		reason = x.text(0) + " failed on " + x.text(1) + " too often lately"
		if app := x.text(3); app != "" {
			reason += " with what " + app + " asked of it, and only with that"
		}
		if left := x.number(2); left >= 0 {
			return reason, "it is tried again in " + span(float64(left))
		}
		return reason, "it is tried again soon; look at its runtime's log"
	default: // CodeUncertainHold
		return "a call to " + x.text(0) + " whose end was not seen may still run on " + x.text(1), "wait up to " + span(float64(x.number(2))) + " until it is surely over"
	}
}

// operand returns the i-th operand, nil when there is none.
func (x *Exclusion) operand(i int) any { return operandAt(x.Operands, i) }

func (x *Exclusion) text(i int) string   { return textOf(x.operand(i)) }
func (x *Exclusion) number(i int) int64  { return int64(numberOf(x.operand(i))) }
func (x *Exclusion) float(i int) float64 { return numberOf(x.operand(i)) }

func operandAt(all []any, i int) any {
	if i < len(all) {
		return all[i]
	}
	return nil
}

func textOf(o any) string {
	switch v := o.(type) {
	case nil:
		return ""
	case string:
		return v
	default:
		return fmt.Sprint(v)
	}
}

// numberOf reads numbers as they are made here and as JSON brings them back.
func numberOf(o any) float64 {
	switch v := o.(type) {
	case int:
		return float64(v)
	case int64:
		return float64(v)
	case float64:
		return v
	default:
		return -1
	}
}

// comma writes 9200 as 9,200.
func comma(n int64) string {
	s := strconv.FormatInt(n, 10)
	sign := ""
	if n < 0 {
		sign, s = "-", s[1:]
	}
	for i := len(s) - 3; i > 0; i -= 3 {
		s = s[:i] + "," + s[i:]
	}
	return sign + s
}

// span writes seconds for people.
func span(s float64) string {
	switch {
	case s < 10 && s != float64(int(s)):
		return fmt.Sprintf("%.1f s", s)
	case s < 120:
		return fmt.Sprintf("%.0f s", s)
	case s < 2*3600:
		return fmt.Sprintf("%.0f min", s/60)
	default:
		return fmt.Sprintf("%.0f h", s/3600)
	}
}
