package app

import (
	"os"
	"slices"
	"strings"
	"testing"

	"bellwether/app/notice"
)

func TestFindingsOfTheFeedReachTheNotices(t *testing.T) {
	hello, err := os.ReadFile("../engine/admin/testdata/wire/hello.json")
	if err != nil {
		t.Fatal(err)
	}
	var p picture
	if got := p.found(); got != nil {
		t.Errorf("before the first frame: %v, want nil, which is no finding gone", got)
	}
	if err := p.apply(hello); err != nil {
		t.Fatal(err)
	}
	got := p.found()
	if len(got) == 0 || len(got) != len(p.findings) {
		t.Fatalf("%d findings of %d", len(got), len(p.findings))
	}
	if !slices.IsSortedFunc(got, func(a, b notice.Finding) int { return strings.Compare(a.ID, b.ID) }) {
		t.Errorf("in no order: %v", got)
	}
	for _, f := range got {
		if f.ID == "" || f.Severity == "" || f.Text == "" {
			t.Errorf("%+v", f)
		}
	}
}
