package runtime

import (
	"bytes"
	"errors"
	"io"
	"slices"
	"strings"
	"testing"
	"testing/iotest"
)

func readLines(r io.Reader) (lines []string, err error) {
	l := lineReader{r: r}
	for {
		b, err := l.next()
		if err != nil {
			return lines, err
		}
		lines = append(lines, string(b))
	}
}

func readEvents(r io.Reader) (events []string, err error) {
	s := sseReader{lines: lineReader{r: r}}
	for {
		b, err := s.next()
		if err != nil {
			return events, err
		}
		events = append(events, string(b))
	}
}

func TestLinesEndInLFOrCRLFAndTheLastMayLackIt(t *testing.T) {
	got, err := readLines(strings.NewReader("a\nb\r\n\nlast"))
	if want := []string{"a", "b", "", "last"}; !slices.Equal(got, want) || err != io.EOF {
		t.Errorf("got %q, %v", got, err)
	}
}

func TestALineMayBeLongerThanAnyBuffer(t *testing.T) { // protocols.md 8.7
	for _, n := range []int{4 << 10, 64 << 10, 9 << 20} {
		long := strings.Repeat("x", n)
		got, err := readLines(strings.NewReader("a\n" + long + "\nb\n"))
		if err != io.EOF || len(got) != 3 || got[1] != long || got[2] != "b" {
			t.Errorf("%d bytes: %d lines, %v", n, len(got), err)
		}
	}
}

func TestALineOverTheBoundIsAnError(t *testing.T) {
	l := lineReader{r: zeros{}, most: 1 << 20}
	if _, err := l.next(); !errors.Is(err, errLineTooLong) {
		t.Errorf("got %v", err)
	}
}

type zeros struct{}

func (zeros) Read(p []byte) (int, error) {
	for i := range p {
		p[i] = '0'
	}
	return len(p), nil
}

func TestLinesBeforeAnErrorAreNotLost(t *testing.T) {
	cut := errors.New("cut")
	got, err := readLines(io.MultiReader(strings.NewReader("a\nb\nhalf"), iotest.ErrReader(cut)))
	if want := []string{"a", "b"}; !slices.Equal(got, want) || err != cut {
		t.Errorf("got %q, %v", got, err)
	}
}

func TestCharactersMayBeCutAnywhere(t *testing.T) { // W-24
	want := []string{`{"a":"日本語 🙂"}`, `{"b":"é"}`}
	got, _ := readLines(iotest.OneByteReader(strings.NewReader(strings.Join(want, "\n") + "\n")))
	if !slices.Equal(got, want) {
		t.Errorf("got %q", got)
	}
}

func TestEventsOfEveryLegalShapeAreRead(t *testing.T) {
	for _, c := range []struct {
		name, in string
		want     []string
	}{
		{"usual", "data: {\"a\":1}\n\ndata: [DONE]\n\n", []string{`{"a":1}`, "[DONE]"}},
		{"no space after the colon", "data:{\"a\":1}\n\n", []string{`{"a":1}`}},
		{"CRLF", "data: 1\r\n\r\ndata: 2\r\n\r\n", []string{"1", "2"}},
		{"comments between and inside", ": ping\n\n: ping\ndata: 1\n: ping\n\n:\n\n", []string{"1"}},
		{"other fields", "event: x\nid: 7\nretry: 10\ndata: 1\n\n", []string{"1"}},
		{"several data lines", "data: {\ndata: }\n\n", []string{"{\n}"}},
		{"an event without data", "event: ping\n\ndata: 1\n\n", []string{"1"}},
		{"many blank lines", "\n\n\ndata: 1\n\n\n\n", []string{"1"}},
		{"the last without its blank line", "data: 1\n\ndata: [DONE]", []string{"1", "[DONE]"}},
		{"the last cut off", "data: 1\n\ndata: {\"a\":", []string{"1"}},
		{"an error field", "error: {\"code\":500,\"message\":\"x\"}\n\n", []string{`{"error":{"code":500,"message":"x"}}`}},
	} {
		for _, r := range []io.Reader{strings.NewReader(c.in), iotest.OneByteReader(strings.NewReader(c.in))} {
			got, err := readEvents(r)
			if !slices.Equal(got, c.want) || err != io.EOF {
				t.Errorf("%s: got %q, %v, want %q", c.name, got, err, c.want)
			}
		}
	}
}

func TestBufferedTellsAWholeFrameFromHalfAndFromAComment(t *testing.T) {
	for _, c := range []struct {
		rest string
		line bool
		sse  bool
	}{
		{"", false, false},
		{"\n", false, false},
		{`{"a"`, false, false},
		{"{}\n", true, false},
		{"\r\n{}\r\n", true, false},
		{"data: 1\n", true, false},
		{"data: 1\n\n", true, true},
		{"data: 1\r\n\r\n", true, true},
		{": ping\n\n", true, false},
		{": ping\n\ndata: 1\n\n", true, true},
		{"event: x\n\n", true, false},
	} {
		l := lineReader{buf: []byte(c.rest), end: len(c.rest)}
		if got := l.buffered(); got != c.line {
			t.Errorf("line %q: got %v", c.rest, got)
		}
		s := sseReader{lines: lineReader{buf: []byte(c.rest), end: len(c.rest)}}
		if got := s.buffered(); got != c.sse {
			t.Errorf("event %q: got %v", c.rest, got)
		}
	}
}

// FuzzLines: whatever the bytes and however they are cut, the lines are those
// of a plain split.
func FuzzLines(f *testing.F) {
	f.Add([]byte("{}\n{}\r\n\n"), 3)
	f.Add([]byte(`{"message":{"content":"日本"}}`+"\n"+`{"done":true}`), 1)
	f.Add([]byte("\r\n\r\r\n"), 2)
	f.Fuzz(func(t *testing.T, in []byte, cut int) {
		got, err := readLines(&pieces{in, cut})
		if err != io.EOF {
			t.Fatal(err)
		}
		var want []string
		for rest := in; len(rest) > 0; {
			line, after, _ := bytes.Cut(rest, []byte("\n"))
			want = append(want, string(bytes.TrimSuffix(line, []byte("\r"))))
			rest = after
		}
		if !slices.Equal(got, want) {
			t.Fatalf("got %q, want %q", got, want)
		}
	})
}

// FuzzEvents: the cuts do not matter, and no event holds what stood in none.
func FuzzEvents(f *testing.F) {
	f.Add([]byte("data: {\"choices\":[]}\n\ndata: [DONE]\n\n"), 3)
	f.Add([]byte(": c\r\ndata:1\r\n\r\nevent: x\ndata: a\ndata: b\n\n"), 1)
	f.Add([]byte("error: {}\n\n\n"), 2)
	f.Fuzz(func(t *testing.T, in []byte, cut int) {
		whole, _ := readEvents(bytes.NewReader(in))
		got, err := readEvents(&pieces{in, cut})
		if err != io.EOF {
			t.Fatal(err)
		}
		if !slices.Equal(got, whole) {
			t.Fatalf("cut: %q, whole: %q", got, whole)
		}
	})
}

// FuzzStreams: any bytes at all are read without a panic and end in a Final
// chunk or a failure; every text handed out is a literal.
func FuzzStreams(f *testing.F) {
	f.Add([]byte(`{"message":{"content":"a"},"done":false}`+"\n"+`{"message":{"content":""},"done":true,"done_reason":"stop"}`), 7)
	f.Add([]byte(`{"response":"a"}`+"\n"+`{"error":"x"}`), 1)
	f.Add([]byte("data: {\"choices\":[{\"delta\":{\"content\":\"a\"}}]}\n\ndata: {\"choices\":[{\"delta\":{\"tool_calls\":[{\"function\":{\"name\":\"f\",\"arguments\":\"{}\"}}]},\"finish_reason\":\"stop\"}]}\n\ndata: [DONE]\n\n"), 5)
	f.Add([]byte(`{"message":{"tool_calls":[{"function":{"name":"f","arguments":{}}}]},"done":true}`), 2)
	f.Fuzz(func(t *testing.T, in []byte, cut int) {
		readOut(t, ollamaFrom(&pieces{in, cut}, &ollamaPlan{}))
		readOut(t, ollamaFrom(&pieces{in, cut}, &ollamaPlan{callAny: true}))
		readOut(t, eventsFrom(&pieces{in, cut}))
	})
}

// pieces yields its bytes a few at a time.
type pieces struct {
	rest []byte
	n    int
}

func (p *pieces) Read(b []byte) (int, error) {
	if len(p.rest) == 0 {
		return 0, io.EOF
	}
	n := p.n % 64
	if n <= 0 {
		n = 1
	}
	n = copy(b, p.rest[:min(n, len(p.rest))])
	p.rest = p.rest[n:]
	return n, nil
}
