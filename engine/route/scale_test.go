package route

import (
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"

	"bellwether/engine/fleet"
)

// With many members a want is looked up instead of tried: that changes nothing.
func TestManyWantsAreFoundAsFewAre(t *testing.T) {
	random := rand.New(rand.NewPCG(4, 2))
	name := func() string {
		return fmt.Sprintf([]string{"m%d", "M%d:latest", "reg.io/m%d:8b", "m%d:8b"}[random.IntN(4)], random.IntN(30))
	}
	for range 2000 {
		j := &judge{}
		for range 1 + random.IntN(40) {
			w := want{name: name()}
			if random.IntN(5) == 0 {
				w.only = fleet.DeploymentID{Node: "n", Runtime: "r", Model: w.name}
			}
			j.add(w)
		}
		d := &fleet.Deployment{ID: fleet.DeploymentID{Node: "n", Runtime: "r", Model: name()}}
		for range random.IntN(3) {
			d.AlsoNamed = append(d.AlsoNamed, name())
		}
		tried := -1
		for i := range j.wants {
			if w := &j.wants[i]; w.only == d.ID || w.only == (fleet.DeploymentID{}) && w.means(d) {
				tried = i
				break
			}
		}
		if found := j.indexedWant(d); found != tried {
			t.Fatalf("%s (%v): found want %d, tried %d of %+v", d.ID, d.AlsoNamed, found, tried, j.wants)
		}
	}
}

// An alias of sixty models on twenty machines is told on a page, whatever it comes
// to; the record holds everything.
func TestWideAliasIsToldOnAPage(t *testing.T) {
	v, p, q := wideAlias()
	d := Decide(v, p, q)
	if lines := strings.Count(d.Explain(), "\n"); d.Verdict != Serve || lines > 250 || !strings.Contains(d.Explain(), "more that could serve") {
		t.Errorf("%s, told in %d lines", d.Verdict, lines)
	}

	q.Needs.Vision = true // nothing here is known to see
	d = Decide(v, p, q)
	told := d.Explain()
	if lines := strings.Count(told, "\n"); d.Verdict != Refuse || lines > 150 || !strings.Contains(told, "out 1,160 more: ") || !strings.Contains(told, "1,160 capability") {
		t.Errorf("%s, told in %d lines\n%s", d.Verdict, lines, told)
	}
	problem := RefusalProblem(d, q, false)
	body, err := json.Marshal(problem.Details)
	if err != nil || len(body) > 50_000 || !strings.Contains(string(body), `"more":{"capability":1100`) {
		t.Errorf("a body of %d bytes (%v)", len(body), err)
	}
	if r := ToRecord(d, q); len(r.Exclusions) != 1200 {
		t.Errorf("the record holds %d", len(r.Exclusions))
	}

	gone := Alias{}
	for i := range 60 {
		gone.Models = append(gone.Models, fmt.Sprintf("gone%02d", i))
	}
	p.Aliases["gone"] = gone
	q.Model = "gone"
	if p := RefusalProblem(Decide(v, p, q), q, false); len(p.Text()) > 400 || !strings.Contains(p.Message, "gone00") || !strings.Contains(p.Message, "and 50 more") {
		t.Errorf("%d letters: %s", len(p.Text()), p.Text())
	}
}

// The work of a decision grows with the deployments at hand, not with their
// square: no more is allocated for each than in a small fleet.
func TestWideAliasCostsNoMorePerDeployment(t *testing.T) {
	per := func(nodes, models int) float64 {
		v, p, q := bigView(nodes, models), DefaultPolicy(), bigQuery()
		q.Model, q.Needs.PrimaryTask = "auto", "coding"
		return testing.AllocsPerRun(5, func() { Decide(v, p, q) }) / float64(nodes*models)
	}
	if small, wide := per(5, 20), per(20, 60); wide > 1.5*small {
		t.Errorf("%.1f allocations a deployment of 1,200, %.1f of 100", wide, small)
	}
}

// Names that a policy has and the request does not ask for cost it next to nothing.
func BenchmarkDecideBesideManyAliases(b *testing.B) {
	v, p, q := bigView(5, 20), DefaultPolicy(), bigQuery()
	_, wide, _ := wideAlias()
	for i := range 200 {
		p.Aliases[fmt.Sprintf("alias%03d-*", i)] = wide.Aliases["wide"]
	}
	b.ReportAllocs()
	for b.Loop() {
		Decide(v, p, q)
	}
}
