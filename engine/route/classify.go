package route

import (
	"math"
	"strings"

	"bellwether/engine/dialect"
	"bellwether/engine/task"
)

// The tasks of routing.md 6, as records and settings name them. Evidence of
// quality is kept by these names.
const (
	TaskChat             = "chat"
	TaskCoding           = "coding"
	TaskMath             = "math"
	TaskReasoning        = "reasoning"
	TaskSummarization    = "summarization"
	TaskTranslation      = "translation"
	TaskExtraction       = "extraction"
	TaskCreativeWriting  = "creative_writing"
	TaskStructuredOutput = "structured_output"
	TaskToolUse          = "tool_use"
	TaskVision           = "vision"
)

// When a task is clear, and which others are kept beside it.
const (
	clearLeast = 0.6  // confidence of the likeliest task
	clearLead  = 0.25 // before the second
	taskLeast  = 0.05 // less likely tasks are dropped
	// structureShare is what a task seen in the structure has of the confidence
	// when the text clearly asks for another one beside it.
	structureShare = 0.6
)

// classify says what a request asks for: confidences that add up to 1, the
// likeliest task, and whether one task is clear. Quality is blended over the
// tasks of requests that are not (section 5).
//
//  1. A text to be filled in between two others is code.
//  2. Images make it vision; whatever is asked of a picture, seeing comes first.
//  3. Tools make it tool_use. Programs that write code offer tools with every
//     request: with the tools of such a program, or a text that clearly asks
//     for code, it is coding, and tool_use stays beside it.
//  4. A JSON schema or JSON mode makes it structured_output.
//  5. Else the text decides (engine/task).
//
// Under 2 to 4 a text that clearly asks for something (other than to chat)
// keeps a share, and the request is not clear: the model must be good at both.
func classify(r *dialect.Request, n *Requirements) (tasks map[string]float64, primary string, clear bool) {
	if n.Insert {
		return map[string]float64{TaskCoding: 1}, TaskCoding, true
	}
	text := task.Of(r)
	best, lead := text.Best()
	sure := text[best] >= clearLeast && lead >= clearLead
	seen := structural(r, n, sure && best == task.Coding)
	switch {
	case seen == "":
		return likely(&text, sure)
	case !sure || best == task.Chat || best.String() == seen:
		return map[string]float64{seen: 1}, seen, true
	}
	if seen == TaskCoding {
		return map[string]float64{TaskCoding: structureShare, TaskToolUse: 1 - structureShare}, TaskCoding, false
	}
	return map[string]float64{seen: structureShare, best.String(): 1 - structureShare}, seen, false
}

// structural is the task that the structure shows, "" = none.
func structural(r *dialect.Request, n *Requirements, code bool) string {
	switch {
	case n.Vision:
		return TaskVision
	case n.NeedsTools && (code || writesCode(r.Tools)):
		return TaskCoding
	case n.NeedsTools:
		return TaskToolUse
	case n.JSONSchema, n.JSONObject:
		return TaskStructuredOutput
	}
	return ""
}

// likely keeps the tasks that a text may ask for.
func likely(s *task.Scores, sure bool) (tasks map[string]float64, primary string, clear bool) {
	best, _ := s.Best()
	total := 0.0
	for _, v := range s {
		if v >= taskLeast {
			total += float64(v)
		}
	}
	tasks = make(map[string]float64, 4)
	for k, v := range s {
		if v >= taskLeast {
			tasks[task.Task(k).String()] = math.Round(float64(v)/total*1000) / 1000
		}
	}
	return tasks, best.String(), sure
}

// writesCode reports whether tools are those of a program that writes code:
// one runs commands and another changes files.
func writesCode(tools []dialect.Tool) bool {
	runs, edits := false, false
	for i := range tools {
		name := strings.ToLower(tools[i].Name)
		runs = runs || hasAny(name, "bash", "shell", "terminal", "execute_command", "run_command", "exec_command")
		edits = edits || hasAny(name, "edit", "patch", "write_file", "write_to_file", "replace_in_file", "str_replace", "create_file") || name == "write"
	}
	return runs && edits
}

func hasAny(s string, parts ...string) bool {
	for _, p := range parts {
		if strings.Contains(s, p) {
			return true
		}
	}
	return false
}
