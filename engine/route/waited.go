package route

import "time"

// Waited is what a request was held for longest, in words, and how long.
type Waited struct {
	For  string        `json:"for"`
	Took time.Duration `json:"took"`
}

func (w *Waited) words() string {
	return "it waited " + span(w.Took.Round(100*time.Millisecond).Seconds()) + ": " + w.For
}

// HeldBy is what a request that is held waits for: its code, and in words.
func (d *Decision) HeldBy() (code, words string) {
	if x, ok := d.nearestHold(); ok {
		return string(x.Code), Render(x).Reason
	}
	if n := len(d.Reasons); n > 0 {
		return d.Reasons[n-1].Code, RenderReason(d.Reasons[n-1])
	}
	return "", "no machine can serve it yet"
}
