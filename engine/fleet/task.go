package fleet

import "slices"

// Tasks are the kinds of work that quality is told apart by (routing.md 6): the
// first eight are read from a request's words, the rest from what it requires.
// They key priors, measurements and decision records; "" stands for any.
var Tasks = []string{
	"coding", "math", "reasoning", "summarization", "translation", "extraction", "creative_writing", "chat",
	"vision", "tool_use", "structured_output",
}

// IsTask reports whether a name is one of Tasks.
func IsTask(name string) bool { return slices.Contains(Tasks, name) }
