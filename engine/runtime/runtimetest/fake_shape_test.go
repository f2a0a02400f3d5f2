package runtimetest

import (
	"bufio"
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"net"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"
)

// shapeExceptions are the recordings whose shape the fake does not reproduce
// by itself, each with its reason.
var shapeExceptions = map[string]string{
	"04-show-vision":  "the recorded file had a vision key in model_info, yet no capability and no images",
	"31-slots-busy":   "needs a running request: TestBusySlotsLookAsRecorded",
	"32-metrics-busy": "needs a running request: TestBusySlotsLookAsRecorded",
}

func TestOllamaHasTheRecordedShapes(t *testing.T) {
	f := start(t, FakeConfig{Models: RecordedModels(), Context: 2048})
	for _, model := range []string{"big300", "tiny"} { // as they were loaded when the recording began
		post(t, f, "/api/generate", `{"model":"`+model+`"}`)
	}
	for _, x := range Recorded(Ollama) {
		t.Run(x.Name, func(t *testing.T) { sameShape(t, f, x) })
	}
}

func TestLlamaServerHasTheRecordedShapes(t *testing.T) {
	named := func(model, name string) []FakeModel {
		m := RecordedModel(model)
		m.Name = name
		return []FakeModel{m}
	}
	router := FakeConfig{Kind: LlamaServer, Router: true, Context: 2048}
	for _, pair := range [][2]string{{"loop", "loop"}, {"mid60", "mid60"}, {"tiny", "tiny-a"}} {
		router.Models = append(router.Models, named(pair[0], pair[1])...)
	}
	loading := FakeConfig{Kind: LlamaServer, Models: named("big300", "big"), LoadBytesPerSecond: 1}
	servers := map[string]*Fake{
		"0": start(t, FakeConfig{Kind: LlamaServer, Models: named("big300", "big"), Context: 2048}),
		"4": start(t, FakeConfig{Kind: LlamaServer, Models: named("tools", "/models/tools.gguf"), APIKey: "sesame"}),
		"5": start(t, FakeConfig{Kind: LlamaServer, Models: named("embed", "/models/embed.gguf"), Parallel: 4}),
		"6": start(t, router),
	}
	servers["00"] = start(t, loading)
	for _, x := range Recorded(LlamaServer) {
		t.Run(x.Name, func(t *testing.T) {
			f := servers[x.Name[:2]]
			if f == nil {
				f = servers[x.Name[:1]]
			}
			if f == nil {
				f = servers["0"]
			}
			sameShape(t, f, x)
		})
	}
}

// sameShape asks f what was recorded and compares the shapes.
func sameShape(t *testing.T, f *Fake, x *Exchange) {
	if why, ok := shapeExceptions[x.Name]; ok {
		t.Skip(why)
	}
	got := exchange(t, f, x)
	if got.Status != x.Status {
		t.Errorf("status %d, want %d: %s", got.Status, x.Status, got.Answer)
	}
	names := func(h http.Header) []string { return slices.Sorted(maps.Keys(h)) }
	if g, w := names(got.AnswerHeader), names(x.AnswerHeader); !slices.Equal(g, w) {
		t.Errorf("headers %v\nwant    %v", g, w)
	}
	for _, name := range []string{"Content-Type", "Connection", "Keep-Alive", "Transfer-Encoding", "Allow", "Server", "Cache-Control", "X-Accel-Buffering"} {
		if g, w := got.AnswerHeader.Values(name), x.AnswerHeader.Values(name); !slices.Equal(g, w) {
			t.Errorf("%s: %q, want %q", name, g, w)
		}
	}
	if g, w := bodyShape(got), bodyShape(x); g != w {
		t.Errorf("shape\n%s\nwant\n%s\nbody %s", g, w, got.Answer)
	}
}

// exchange sends the recorded request over a plain socket, so that no client
// adds to it or hides anything of the answer.
func exchange(t *testing.T, f *Fake, x *Exchange) *Exchange {
	t.Helper()
	conn, err := net.Dial("tcp", strings.TrimPrefix(f.URL(), "http://"))
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	_ = conn.SetDeadline(time.Now().Add(20 * time.Second))
	var b bytes.Buffer
	fmt.Fprintf(&b, "%s %s HTTP/1.1\r\n", x.Method, x.Path)
	host := x.Header.Get("Host")
	if host == "" {
		host = strings.TrimPrefix(f.URL(), "http://")
	}
	fmt.Fprintf(&b, "Host: %s\r\n", host)
	for name, values := range x.Header {
		if name != "Host" {
			fmt.Fprintf(&b, "%s: %s\r\n", name, values[0])
		}
	}
	if len(x.Body) > 0 {
		fmt.Fprintf(&b, "Content-Type: application/json\r\nContent-Length: %d\r\n", len(x.Body))
	}
	b.WriteString("\r\n")
	b.Write(x.Body)
	if _, err := conn.Write(b.Bytes()); err != nil {
		t.Fatal(err)
	}
	in := bufio.NewReader(conn)
	var head strings.Builder
	for {
		line, err := in.ReadString('\n')
		if err != nil {
			t.Fatalf("answer header: %v", err)
		}
		head.WriteString(line)
		if line == "\r\n" {
			break
		}
	}
	_, lines, _ := strings.Cut(head.String(), "\r\n")
	got := &Exchange{Method: x.Method, AnswerHeader: headersOf(lines)}
	resp, err := http.ReadResponse(bufio.NewReader(io.MultiReader(strings.NewReader(head.String()), in)), &http.Request{Method: x.Method})
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	got.Status = resp.StatusCode
	if got.Answer, err = io.ReadAll(resp.Body); err != nil {
		t.Errorf("answer body: %v", err)
	}
	return got
}

// bodyShape describes a body: names, types and nulls, but no values; runs of
// frames of one shape are told once.
func bodyShape(x *Exchange) string {
	if kind := x.AnswerHeader.Get("Content-Type"); kind != eventText && kind != ndjson {
		return shapeOf(x.Answer)
	}
	var lines []string
	for line := range strings.Lines(string(x.Answer)) {
		line = strings.TrimRight(line, "\n")
		if line == "" {
			line = "(blank)"
		}
		if data, ok := strings.CutPrefix(line, "data: "); ok {
			line = "data: " + shapeOf([]byte(data))
		} else if strings.HasPrefix(line, "{") {
			line = shapeOf([]byte(line))
		}
		lines = append(lines, line)
	}
	return strings.Join(dropRepeats(lines), "\n")
}

// dropRepeats drops a group of lines (a frame with its blank) that repeats
// the one before.
func dropRepeats(lines []string) []string {
	for size := 3; size >= 1; size-- {
		for i := 0; i+2*size <= len(lines); {
			if slices.Equal(lines[i:i+size], lines[i+size:i+2*size]) {
				lines = slices.Delete(lines, i, i+size)
				continue
			}
			i++
		}
	}
	return lines
}

func shapeOf(b []byte) string {
	var v any
	if err := json.Unmarshal(b, &v); err != nil {
		s := string(b)
		if strings.Contains(s, "# HELP") { // metrics: the names
			var names []string
			for line := range strings.Lines(s) {
				if name, value, ok := strings.Cut(line, " "); ok && name != "#" {
					line = name + " number"
					if _, err := strconv.ParseFloat(strings.TrimSpace(value), 64); err != nil {
						line = name + " " + value
					}
				}
				names = append(names, line)
			}
			return strings.Join(names, "")
		}
		return s
	}
	end := ""
	if bytes.HasSuffix(b, []byte("\n")) {
		end = "⏎"
	}
	return shape(v) + end
}

func shape(v any) string {
	switch v := v.(type) {
	case map[string]any:
		var parts []string
		for _, name := range slices.Sorted(maps.Keys(v)) {
			parts = append(parts, name+":"+shape(v[name]))
		}
		return "{" + strings.Join(parts, " ") + "}"
	case []any:
		set := map[string]bool{}
		for _, e := range v {
			set[shape(e)] = true
		}
		return "[" + strings.Join(slices.Sorted(maps.Keys(set)), "|") + "]"
	case nil:
		return "null"
	}
	return fmt.Sprintf("%T", v)
}
