package measure

import (
	"embed"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"

	"go.yaml.in/yaml/v3"

	"bellwether/engine/document"
	"bellwether/engine/fleet"
)

// SuiteVersion is the version of all suites. It rises when an item, or how it
// is judged, changes: grades of different versions are not the same measure.
const SuiteVersion = "1"

// Tasks are those that have a suite, in the order they are asked.
var Tasks = []string{"extraction", "translation", "summarization", "reasoning", "math", "coding"}

// Difficulty says who is expected to get an item right.
type Difficulty string

// Difficulties of an item; a suite holds about a third of each.
const (
	Easy   Difficulty = "easy"   // a model of 1 B often does
	Medium Difficulty = "medium" // one of 7 B often does
	Hard   Difficulty = "hard"   // large ones often do
)

// Item is one question with a known answer.
type Item struct {
	ID         string // task/name
	Task       string
	Difficulty Difficulty
	Ask        string // the whole prompt
	Check      Check
	// Right and Wrong are answers for tests: of the suites, and for stand-in
	// models of scripted strength.
	Right string
	Wrong []string
}

//go:embed suites/*.yaml
var suiteFiles embed.FS

var suites = sync.OnceValues(readSuites)

// Suite returns the items of a task, nil if it has none. The order is fixed and
// mixes the difficulties, so that every head of it is a fair sample.
func Suite(task string) []Item {
	all, err := suites()
	if err != nil {
		panic(err) // the files are compiled in; a test reads them
	}
	return all[task]
}

// SuiteName names what a grade stands on, such as coding/1.
func SuiteName(task string) string { return task + "/" + SuiteVersion }

// HasSuite reports whether a task can be measured.
func HasSuite(task string) bool { return slices.Contains(Tasks, task) }

func readSuites() (map[string][]Item, error) {
	all := make(map[string][]Item, len(Tasks))
	for _, task := range Tasks {
		if !fleet.IsTask(task) {
			return nil, fmt.Errorf("suite %s: no task of this name", task)
		}
		text, err := suiteFiles.ReadFile("suites/" + task + ".yaml")
		if err != nil {
			return nil, err
		}
		items, err := ParseSuite(task, text)
		if err != nil {
			return nil, fmt.Errorf("suite %s: %w", task, err)
		}
		all[task] = mixed(items)
	}
	return all, nil
}

// suiteFile is a suite as it is written: what every prompt of it ends with, and
// the items.
type suiteFile struct {
	Suffix string     `yaml:"suffix"`
	Items  []itemText `yaml:"items"`
}

type itemText struct {
	Name       string     `yaml:"name"`
	Difficulty Difficulty `yaml:"difficulty"`
	Ask        string     `yaml:"ask"`
	Right      string     `yaml:"right"`
	Wrong      []string   `yaml:"wrong"`
	Check      `yaml:",inline"`
}

// ParseSuite reads a suite's text.
func ParseSuite(task string, text []byte) ([]Item, error) {
	if _, err := document.Read(text); err != nil {
		return nil, err
	}
	var f suiteFile
	d := yaml.NewDecoder(strings.NewReader(string(text)))
	d.KnownFields(true)
	if err := d.Decode(&f); err != nil {
		return nil, err
	}
	var items []Item
	seen := map[string]bool{}
	for i := range f.Items {
		t := &f.Items[i]
		item := Item{
			ID: task + "/" + t.Name, Task: task, Difficulty: t.Difficulty, Check: t.Check,
			Ask: strings.TrimSpace(t.Ask) + "\n\n" + strings.TrimSpace(f.Suffix), Right: t.Right, Wrong: t.Wrong,
		}
		if f.Suffix == "" {
			item.Ask = strings.TrimSpace(t.Ask)
		}
		if item.Right == "" {
			item.Right = item.Check.example()
		}
		switch err := item.Check.valid(); {
		case t.Name == "" || seen[t.Name]:
			return nil, fmt.Errorf("item %d: no name, or one that is taken: %q", i+1, t.Name)
		case !slices.Contains([]Difficulty{Easy, Medium, Hard}, t.Difficulty):
			return nil, fmt.Errorf("%s: difficulty %q", item.ID, t.Difficulty)
		case strings.TrimSpace(t.Ask) == "" || item.Right == "":
			return nil, fmt.Errorf("%s: no question, or no right answer", item.ID)
		case err != nil:
			return nil, fmt.Errorf("%s: %w", item.ID, err)
		}
		seen[t.Name] = true
		items = append(items, item)
	}
	return items, nil
}

// mixed deals the items out by difficulty in turn, each kind in its own order.
func mixed(items []Item) []Item {
	var piles [3][]Item
	for _, it := range items {
		i := slices.Index([]Difficulty{Easy, Medium, Hard}, it.Difficulty)
		piles[i] = append(piles[i], it)
	}
	out := make([]Item, 0, len(items))
	for len(out) < len(items) {
		for i := range piles {
			if len(piles[i]) > 0 {
				out = append(out, piles[i][0])
				piles[i] = piles[i][1:]
			}
		}
	}
	return out
}

// Check is how an item's answer is judged: exactly one of its kinds is set.
type Check struct {
	Number  string       `yaml:"number"` // exact: an integer, a decimal, a fraction
	Word    *Word        `yaml:"word"`
	JSON    *JSONValue   `yaml:"json"`
	Summary *Summary     `yaml:"summary"`
	Words   *Translation `yaml:"translation"`
	Code    *Code        `yaml:"code"`
}

// judge is one kind of check.
type judge interface {
	// example is an answer that passes, "" where only a written one can be.
	example() string
	valid() error
	// judge says why an answer is wrong, "" if it is right.
	judge(answer string) string
}

// kinds returns those that are set.
func (c *Check) kinds() (out []judge) {
	if c.Number != "" {
		out = append(out, number(c.Number))
	}
	if c.Word != nil {
		out = append(out, c.Word)
	}
	if c.JSON != nil {
		out = append(out, c.JSON)
	}
	if c.Summary != nil {
		out = append(out, c.Summary)
	}
	if c.Words != nil {
		out = append(out, c.Words)
	}
	return out
}

func (c *Check) example() string {
	if k := c.kinds(); len(k) == 1 {
		return k[0].example()
	}
	return ""
}

func (c *Check) valid() error {
	k := c.kinds()
	switch {
	case c.Code != nil && len(k) == 0:
		return c.Code.valid()
	case c.Code == nil && len(k) == 1:
		return k[0].valid()
	}
	return errors.New("exactly one way to check the answer is needed")
}
