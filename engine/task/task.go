package task

// Task is what a request asks for.
type Task uint8

// The tasks a text can ask for, in the order of the weights.
const (
	Chat Task = iota
	Coding
	Math
	Reasoning
	Summarization
	Translation
	Extraction
	Creative
	Structured
	Count int = iota
)

var names = [Count]string{
	"chat", "coding", "math", "reasoning", "summarization", "translation", "extraction", "creative_writing",
	"structured_output",
}

// String is the task's name in records and settings.
func (t Task) String() string { return names[t] }

// Named returns the task of a name.
func Named(name string) (Task, bool) {
	for i, n := range names {
		if n == name {
			return Task(i), true
		}
	}
	return 0, false
}

// Scores are the confidences of the tasks; they add up to 1.
type Scores [Count]float32

// Best returns the likeliest task and how far it leads the second. A tie goes
// to the task that comes first.
func (s *Scores) Best() (best Task, lead float32) {
	second := float32(-1)
	for i := range s {
		switch {
		case i == 0:
		case s[i] > s[best]:
			best, second = Task(i), s[best]
		case s[i] > second:
			second = s[i]
		}
	}
	return best, s[best] - second
}
