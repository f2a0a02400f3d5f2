package main

import (
	"bytes"
	"context"
	"encoding/csv"
	"errors"
	"fmt"
	"io"
	"maps"
	"os"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"bellwether/engine/evidence"
	"bellwether/engine/fleet"
)

const (
	modelsFile = "assets/catalogue/models.yaml"
	priorsFile = "assets/catalogue/priors.yaml"
)

// catalogueTask makes the catalogue's priors from a table of published scores
// with the columns model, model_as_published, task, metric, value, source,
// source_commit_or_date, note. It says which metrics counted and what of the
// table is in no catalogue.
func catalogueTask(_ context.Context, args []string) error {
	if len(args) != 1 {
		return errors.New("name the table of published scores: go run ./build catalogue PRIORS.csv")
	}
	text, err := os.ReadFile(modelsFile)
	if err != nil {
		return err
	}
	models, err := evidence.ParseCatalogue(modelsFile, text)
	if err != nil {
		return err
	}
	table, err := os.Open(args[0])
	if err != nil {
		return err
	}
	defer table.Close()
	scores, strangers, err := readScores(table, models)
	if err != nil {
		return fmt.Errorf("%s: %w", args[0], err)
	}
	priors := map[string]map[string]fleet.Prior{} // by name and task
	general := fitTask(scoresFor(scores, ""), nil)
	for _, task := range append(slices.Clone(fleet.Tasks), "") {
		fit := general
		if task != "" {
			fit = fitTask(scoresFor(scores, task), general.ability)
		}
		fit.report(os.Stdout, taskWord(task))
		for name, p := range fit.priors() {
			if priors[name] == nil {
				priors[name] = map[string]fleet.Prior{}
			}
			priors[name][task] = p
		}
	}
	fmt.Printf("%d models have priors; not in the catalogue: %s\n", len(priors), strings.Join(strangers, ", "))
	out := writePriors(models, priors)
	if _, err := evidence.ParseCatalogue(priorsFile, out); err != nil {
		return err
	}
	return os.WriteFile(priorsFile, out, 0o644)
}

// score is one published result of a model of the catalogue.
type score struct {
	model  string
	size   float64 // see sizeOf
	task   string  // the table's word
	metric string
	source string
	date   string // year-month
	value  float64
}

// readScores reads the table. strangers are models it has and the catalogue
// has not.
func readScores(r io.Reader, models *evidence.Catalogue) (scores []score, strangers []string, err error) {
	rows, err := csv.NewReader(r).ReadAll()
	if err != nil {
		return nil, nil, err
	}
	if len(rows) == 0 {
		return nil, nil, errors.New("the table is empty")
	}
	column := map[string]int{}
	for i, name := range rows[0] {
		column[name] = i
	}
	for _, name := range []string{"model", "model_as_published", "task", "metric", "value", "source", "source_commit_or_date"} {
		if _, ok := column[name]; !ok {
			return nil, nil, fmt.Errorf("the column %s is missing", name)
		}
	}
	unknown := map[string]bool{}
	for line, row := range rows[1:] {
		get := func(name string) string { return row[column[name]] }
		e := entryFor(models, get("model"), get("model_as_published"))
		if e == nil {
			unknown[get("model")] = true
			continue
		}
		v, err := strconv.ParseFloat(get("value"), 64)
		if err != nil {
			return nil, nil, fmt.Errorf("row %d: %q is no number", line+2, get("value"))
		}
		source := sourceOf(get("source"))
		if misscored(e.Name, source) || unfit(get("metric")) || e.Parameters == 0 {
			continue
		}
		scores = append(scores, score{
			model: e.Name, size: sizeOf(e), task: get("task"), metric: get("metric"), source: source,
			date: dateOf(get("metric"), get("source_commit_or_date")), value: onLine(get("metric"), v),
		})
	}
	return scores, slices.Sorted(maps.Keys(unknown)), nil
}

// entryFor finds a model by the name it was published under, which says more,
// else by the table's own.
func entryFor(models *evidence.Catalogue, name, published string) *evidence.Entry {
	published, _, _ = strings.Cut(published, " (") // (FC), (Prompt)
	for _, n := range []string{published, name} {
		if e := models.Find(&fleet.Deployment{ID: fleet.DeploymentID{Model: n}}); e != nil {
			return e
		}
	}
	return nil
}

var sourceNames = []struct{ part, name string }{
	{"livebench", "livebench"}, {"open-llm-leaderboard", "openllm"}, {"gorilla", "bfcl"}, {"bigcode-bench", "bigcodebench"},
	{"zeroeval", "zeroeval"}, {"wildbench", "wildbench"}, {"lmarena_", "lmarena"}, {"arena-hard", "arenahard"}, {"aider", "aider"},
	{"vectara", "vectara"}, {"evalplus", "evalplus"}, {"alpaca", "alpacaeval"}, {"deepseek-r1", "deepseek"}, {"embeddings-benchmark", "mteb"},
}

func sourceOf(source string) string {
	lower := strings.ToLower(source)
	for _, n := range sourceNames {
		if strings.Contains(lower, n.part) {
			return n.name
		}
	}
	word, _, _ := strings.Cut(lower, "/")
	return word
}

// misscored says which results are known to be wrong: that board cut the
// reasoning distills off before they answered.
func misscored(model, source string) bool {
	return source == "openllm" && strings.HasPrefix(model, "deepseek-r1")
}

// unfit are metrics that compare something else than models, or repeat what
// the same source's overall figure holds.
func unfit(metric string) bool {
	return strings.Contains(metric, "quantisation study") || strings.HasPrefix(metric, "BFCL") && !strings.HasSuffix(metric, "overall")
}

var dated = regexp.MustCompile(`(20\d\d)[-_](\d\d)`)

// dateOf is the benchmark's own date where its name has one, else that of the
// published table, as year and month.
func dateOf(metric, table string) string {
	for _, s := range []string{metric, table} {
		if m := dated.FindStringSubmatch(s); m != nil {
			return m[1] + "-" + m[2]
		}
	}
	return "undated"
}

// tableTasks are the table's words that belong to a task of ours.
var tableTasks = map[string][]string{"coding": {"coding", "coding_agentic"}}

// scoresFor picks the scores that speak for a task; "" = all that are about
// answering text.
func scoresFor(all []score, task string) []score {
	words := tableTasks[task]
	if words == nil {
		words = []string{task}
	}
	var out []score
	for _, s := range all {
		if task == "" && !strings.HasPrefix(s.task, "embedding_") && s.task != "vision" || slices.Contains(words, s.task) {
			out = append(out, s)
		}
	}
	return out
}

func taskWord(task string) string {
	if task == "" {
		return "any"
	}
	return task
}

const priorsHeader = `# What models are worth at tasks, before anyone measured them here: 0 to 1, on
# the scale of the guess by size (0.75 is an average 8B model). Made by
#   go run ./build catalogue PRIORS.csv
# from published scores; what is written here by hand is lost. A line holds the
# value, the sources and the latest date of any of them. No line: nobody
# published anything that could be placed. How it is computed: docs/catalogue.md.

models:
`

// writePriors writes the priors in the catalogue's own form and order.
func writePriors(models *evidence.Catalogue, priors map[string]map[string]fleet.Prior) []byte {
	var b bytes.Buffer
	b.WriteString(priorsHeader)
	for _, e := range models.Entries() {
		p := priors[e.Name]
		if len(p) == 0 {
			continue
		}
		fmt.Fprintf(&b, "  - name: %s\n    priors:\n", e.Name)
		for _, task := range evidence.Tasks(p) {
			fmt.Fprintf(&b, "      %s: %.2f %s\n", taskWord(task), p[task].Value, p[task].Provenance)
		}
	}
	return b.Bytes()
}
