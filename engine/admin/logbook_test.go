package admin

import (
	"bytes"
	"encoding/json"
	"fmt"
	"log/slog"
	"strings"
	"testing"
)

func TestTheLogIsKeptWithItsFacts(t *testing.T) {
	book := NewLogBook()
	var text bytes.Buffer
	log := slog.New(book.Handler(slog.NewTextHandler(&text, &slog.HandlerOptions{Level: slog.LevelInfo})))
	log.Debug("not wanted")
	log.With("part", "agent").WithGroup("run").With("n", 1).Warn("it failed", "err", "no \"luck\"", slog.Group("at", "x", 2))
	got := book.Tail(0, 10, slog.LevelDebug)
	if len(got.Lines) != 1 || got.Next != 1 {
		t.Fatalf("%+v", got)
	}
	l := got.Lines[0]
	if l.Seq != 1 || l.Level != "warn" || l.Message != "it failed" || fmt.Sprint(l.Attrs) != `[{part agent} {run.n 1} {run.err no "luck"} {run.at.x 2}]` {
		t.Errorf("%+v", l)
	}
	if !strings.Contains(text.String(), "part=agent run.n=1") {
		t.Errorf("passed on: %s", text.String())
	}
}

func TestTheEndOfTheLogIsReadOn(t *testing.T) {
	book := NewLogBook()
	log := slog.New(book.Handler(slog.DiscardHandler))
	say := func(n int) {
		for i := range n {
			book.add(LogLine{Message: fmt.Sprint(i)})
		}
	}
	log.Info("nobody wants it")
	say(3)
	if got := book.Tail(1, 10, slog.LevelDebug); len(got.Lines) != 2 || got.Lines[0].Seq != 2 || got.Next != 3 || got.Lost != 0 {
		t.Errorf("after 1: %+v", got)
	}
	if got := book.Tail(3, 10, slog.LevelDebug); len(got.Lines) != 0 || got.Next != 3 {
		t.Errorf("after the last: %+v", got)
	}
	if got := book.Tail(99, 10, slog.LevelDebug); len(got.Lines) != 3 {
		t.Errorf("after one of another start: %+v", got)
	}
	say(2 * logLines)
	got := book.Tail(3, 10*logLines, slog.LevelDebug)
	if len(got.Lines) != logLines || got.Lost != logLines || got.Next != 3+2*logLines || got.Lines[0].Seq != got.Next-logLines+1 {
		t.Errorf("%d lines from %d, next %d, lost %d", len(got.Lines), got.Lines[0].Seq, got.Next, got.Lost)
	}
	if got := book.Tail(0, 5, slog.LevelDebug); len(got.Lines) != 5 || got.Lost != 0 || got.Lines[4].Seq != got.Next {
		t.Errorf("the last five: %+v", got)
	}
}

func TestTheLogIsAskedForByHTTP(t *testing.T) {
	api, _, _ := newAPI(t)
	for _, q := range []string{"?lines=0", "?lines=x", "?lines=99999", "?after=-1"} {
		if w := do(api, "GET", "/admin/log"+q, "secret", ""); w.Code != 400 {
			t.Errorf("%s: %d", q, w.Code)
		}
	}
	w := do(api, "GET", "/admin/log?lines=5&after=0", "secret", "")
	var got LogAnswer
	if err := json.Unmarshal(w.Body.Bytes(), &got); err != nil || got.Lines == nil {
		t.Errorf("%d %s", w.Code, w.Body)
	}
}

func TestALongTextIsCropped(t *testing.T) {
	if got := cropped(strings.Repeat("ä", logMostSay)); len(got) > logMostSay+3 || !strings.HasSuffix(got, "...") {
		t.Errorf("%d bytes", len(got))
	}
}
