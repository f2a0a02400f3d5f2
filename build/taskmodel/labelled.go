package taskmodel

import (
	"bytes"
	"cmp"
	"compress/gzip"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"

	"bellwether/engine/dialect"
)

// Labelled is a request whose task people agreed on, for measuring.
type Labelled struct {
	ID       string            `json:"id"`
	Source   string            `json:"source"`
	Label    string            `json:"label"`
	Accept   []string          `json:"accept"`
	Tier     string            `json:"tier"` // core, soft, adversarial
	Quality  string            `json:"label_quality"`
	Lang     string            `json:"lang"`
	Requires []string          `json:"requires"`
	Group    string            `json:"group"`
	Messages []json.RawMessage `json:"messages"`
	Tools    json.RawMessage   `json:"tools"`
}

// Request is the row as an OpenAI client would send it.
func (l *Labelled) Request() (*dialect.Request, error) {
	body := map[string]any{"model": "auto", "messages": l.Messages}
	if len(l.Tools) > 0 && !bytes.Equal(l.Tools, []byte("null")) {
		body["tools"] = l.Tools
	}
	b, err := json.Marshal(body)
	if err != nil {
		return nil, err
	}
	r, problem := dialect.Parse(dialect.OpenAIChat, b)
	if problem != nil {
		return nil, fmt.Errorf("row %s: %s", l.ID, problem.Message)
	}
	return r, nil
}

// Right reports whether an answer is right: core rows have one right answer,
// the others those they accept.
func (l *Labelled) Right(answer string) bool {
	if l.Tier == "core" {
		return answer == l.Label
	}
	return slices.Contains(l.Accept, answer)
}

// ReadLabelled reads rows, one a line; a name that ends in .gz is unpacked.
func ReadLabelled(path string) ([]Labelled, error) {
	b, err := os.ReadFile(path)
	if err != nil {
		return nil, err
	}
	if strings.HasSuffix(path, ".gz") {
		z, err := gzip.NewReader(bytes.NewReader(b))
		if err != nil {
			return nil, err
		}
		if b, err = io.ReadAll(z); err != nil {
			return nil, err
		}
	}
	var out []Labelled
	for line := range bytes.Lines(b) {
		var l Labelled
		if err := json.Unmarshal(line, &l); err != nil {
			return nil, fmt.Errorf("%s: %w", path, err)
		}
		out = append(out, l)
	}
	return out, nil
}

// Tally counts right answers by what rows have in common.
type Tally struct{ right, all map[string]int }

// Add counts an answer to a row.
func (t *Tally) Add(l *Labelled, answer string) {
	if t.all == nil {
		t.right, t.all = map[string]int{}, map[string]int{}
	}
	keys := []string{"all", "tier " + l.Tier, "language " + l.Lang}
	if l.Tier == "core" {
		keys = append(keys, "label "+l.Label, "core, labelled by "+l.Quality, "source "+l.Source)
	}
	for _, k := range keys {
		t.all[k]++
		if l.Right(answer) {
			t.right[k]++
		}
	}
}

// Share is the part of right answers under a key, 0 to 1.
func (t *Tally) Share(key string) float64 { return float64(t.right[key]) / float64(max(t.all[key], 1)) }

// Print writes a table.
func (t *Tally) Print(out io.Writer) {
	keys := sortedKeys(t.all)
	slices.SortStableFunc(keys, func(a, b string) int {
		x, _, _ := strings.Cut(a, " ")
		y, _, _ := strings.Cut(b, " ")
		return cmp.Compare(x, y)
	})
	for _, k := range keys {
		fmt.Fprintf(out, "  %-36s %4d of %4d  %5.1f %%\n", k, t.right[k], t.all[k], 100*t.Share(k))
	}
}
