package admin

import (
	"context"
	"log/slog"
	"math"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"
)

const (
	logLines   = 2000
	logMostSay = 2000 // bytes of one text of a line
)

// LogBook keeps the last lines of the log in memory, for the admin UI. Its
// mutex guards lines and seq.
type LogBook struct {
	// File is where the lines are written as well, "" = nowhere. It is set before
	// the book is used.
	File string

	mu    sync.Mutex
	lines []LogLine // a ring: line seq lies at seq % logLines
	seq   uint64    // of the last line, 0 = none yet
}

// NewLogBook returns an empty book.
func NewLogBook() *LogBook { return &LogBook{} }

// Handler writes into the book what it passes to others. A line that none of
// them wants is not kept either.
func (b *LogBook) Handler(others ...slog.Handler) slog.Handler {
	return &bookHandler{book: b, others: others}
}

func (b *LogBook) add(l LogLine) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.seq++
	l.Seq = b.seq
	if len(b.lines) < logLines {
		b.lines = append(b.lines, l)
		return
	}
	b.lines[(b.seq-1)%logLines] = l
}

// Tail returns the lines after a number of a level or worse, at most most of
// them, the last ones; oldest first.
func (b *LogBook) Tail(after uint64, most int, least slog.Level) LogAnswer {
	b.mu.Lock()
	defer b.mu.Unlock()
	if after > b.seq {
		after = 0 // of another start
	}
	kept := b.seq - uint64(len(b.lines)) // the number before the oldest that is kept
	from := max(after, kept)
	out := LogAnswer{Lines: []LogLine{}, Next: b.seq, File: b.File}
	if after > 0 {
		out.Lost = from - after
	}
	for n := b.seq; n > from; n-- {
		l := &b.lines[(n-1)%logLines]
		switch {
		case l.level < least:
		case len(out.Lines) < most:
			out.Lines = append(out.Lines, *l)
		case after > 0:
			out.Lost++
		}
	}
	slices.Reverse(out.Lines)
	return out
}

// bookHandler is the slog.Handler of a book.
type bookHandler struct {
	book   *LogBook
	others []slog.Handler
	group  string    // prefix of keys
	attrs  []LogAttr // of With
}

func (h *bookHandler) Enabled(ctx context.Context, level slog.Level) bool {
	return slices.ContainsFunc(h.others, func(o slog.Handler) bool { return o.Enabled(ctx, level) })
}

func (h *bookHandler) Handle(ctx context.Context, r slog.Record) error {
	l := LogLine{At: r.Time.UTC().Truncate(time.Millisecond), Level: strings.ToLower(r.Level.String()), level: r.Level, Message: cropped(r.Message), Attrs: slices.Clone(h.attrs)}
	r.Attrs(func(a slog.Attr) bool {
		l.Attrs = appendAttr(l.Attrs, h.group, a)
		return true
	})
	h.book.add(l)
	var err error
	for _, o := range h.others {
		if o.Enabled(ctx, r.Level) {
			if e := o.Handle(ctx, r.Clone()); e != nil {
				err = e
			}
		}
	}
	return err
}

func (h *bookHandler) WithAttrs(attrs []slog.Attr) slog.Handler {
	next := &bookHandler{book: h.book, group: h.group, attrs: slices.Clone(h.attrs)}
	for _, a := range attrs {
		next.attrs = appendAttr(next.attrs, h.group, a)
	}
	for _, o := range h.others {
		next.others = append(next.others, o.WithAttrs(attrs))
	}
	return next
}

func (h *bookHandler) WithGroup(name string) slog.Handler {
	next := &bookHandler{book: h.book, group: h.group, attrs: h.attrs}
	if name != "" {
		next.group += name + "."
	}
	for _, o := range h.others {
		next.others = append(next.others, o.WithGroup(name))
	}
	return next
}

func appendAttr(to []LogAttr, group string, a slog.Attr) []LogAttr {
	v := a.Value.Resolve()
	if v.Kind() == slog.KindGroup {
		if a.Key != "" {
			group += a.Key + "."
		}
		for _, in := range v.Group() {
			to = appendAttr(to, group, in)
		}
		return to
	}
	if a.Key == "" {
		return to
	}
	return append(to, LogAttr{group + a.Key, cropped(v.String())})
}

func cropped(s string) string {
	if len(s) > logMostSay {
		return strings.ToValidUTF8(s[:logMostSay], "") + "..."
	}
	return s
}

// log is the end of the log: ?lines= of it (200 unless said), ?after= a number
// that an answer gave as next, ?level= that and what is worse.
func (a *api) log(w http.ResponseWriter, r *http.Request) {
	q := r.URL.Query()
	most, after := 200, uint64(0)
	var err error
	if s := q.Get("lines"); s != "" {
		if most, err = strconv.Atoi(s); err != nil || most < 1 || most > logLines {
			refuse(w, http.StatusBadRequest, "invalid_lines", "lines is a whole number from 1 to "+strconv.Itoa(logLines)+".", "")
			return
		}
	}
	if s := q.Get("after"); s != "" {
		if after, err = strconv.ParseUint(s, 10, 64); err != nil {
			refuse(w, http.StatusBadRequest, "invalid_after", "after is a number that an answer gave as next.", "")
			return
		}
	}
	least := slog.Level(math.MinInt)
	if s := q.Get("level"); s != "" {
		if err = least.UnmarshalText([]byte(s)); err != nil {
			refuse(w, http.StatusBadRequest, "invalid_level", "level is debug, info, warn or error.", "")
			return
		}
	}
	answer(w, http.StatusOK, a.Logs.Tail(after, most, least))
}
