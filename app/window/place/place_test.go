package place

import "testing"

func TestAWindowFitsBesideThePanels(t *testing.T) {
	want := Size{1180, 740}
	for _, c := range []struct {
		name  string
		space Space
		want  Rect
	}{
		{"a panel above", Space{Work: Rect{0, 36, 1280, 764}}, Rect{50, 36, 1180, 716}},
		{"room to spare", Space{Work: Rect{0, 0, 1920, 1040}}, Rect{370, 126, 1180, 740}},
		{"a narrow screen on the right", Space{Work: Rect{1920, 100, 1024, 700}}, Rect{1920, 100, 1024, 652}},
		{"panels that nobody tells of", Space{Work: Rect{0, 0, 1280, 800}, Whole: true}, Rect{50, 32, 1180, 688}},
	} {
		got := Fit(want, c.space)
		if got != c.want {
			t.Errorf("%s: %+v, want %+v", c.name, got, c.want)
		}
		w := c.space.Work
		if got.X < w.X || got.Y < w.Y || got.X+got.Width > w.X+w.Width || got.Y+titleBar+got.Height > w.Y+w.Height {
			t.Errorf("%s: %+v is not within %+v", c.name, got, w)
		}
	}
}
