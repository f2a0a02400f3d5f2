package main

import (
	"bufio"
	"bytes"
	"fmt"
	"io"
	"net/http"
	"os"
	"regexp"
	"slices"
	"strings"
	"time"

	"bellwether/engine"
	"bellwether/engine/admin"
	"bellwether/engine/dialect"
	"bellwether/engine/route"
)

type explainCmd struct {
	File     string `arg:"" optional:"" help:"The request's body, or a scenario that decisions --export wrote, as a file; - reads it from standard input. A scenario is decided again offline: 0 the same as recorded, 1 not."`
	JSONL    string `name:"jsonl" help:"Explain many: one request body a line in, one JSON line out." type:"path" placeholder:"FILE"`
	Live     bool   `help:"Ask the running engine instead of a saved state."`
	Snapshot string `help:"The saved state (status --snapshot); default: the last one the engine left." type:"path" placeholder:"FILE"`
	Protocol string `help:"How the body is to be read." enum:"openai-chat,openai-completions,openai-responses,openai-embeddings,anthropic-messages,ollama-chat,ollama-generate,ollama-embed,auto" default:"auto"`
	Session  string `help:"As if the header X-Fleet-Session named this session."`
	App      string `help:"As if the header X-Fleet-App named this app."`

	Header []string `short:"H" sep:"none" help:"As if the request had this header, as curl takes it: -H 'X-Fleet-Profile: fast'. Repeatable." placeholder:"NAME: VALUE"`
}

func (c *explainCmd) Run(e *environ) error {
	if (c.File == "") == (c.JSONL == "") {
		return coded(exitUsage, "explain takes one request's FILE (or -), or --jsonl FILE")
	}
	if err := c.checkHeaders(); err != nil {
		return err
	}
	if c.JSONL != "" {
		judge, err := c.judge(e)
		if err != nil {
			return err
		}
		return c.lines(e, judge)
	}
	body, err := readInput(e, c.File)
	if err != nil {
		return err
	}
	if route.IsScenario(string(body)) {
		if len(c.Header) > 0 {
			return coded(exitUsage, "%s is a scenario, which holds its own request: --header is for a request's body", c.File)
		}
		return c.replay(e, string(body))
	}
	judge, err := c.judge(e)
	if err != nil {
		return err
	}
	x, err := judge(body)
	if err != nil {
		return err
	}
	if e.cli.JSON {
		err = e.json(x)
	} else {
		e.printf("%s", x.Text)
		if x.Problem != "" {
			e.printf("%s\n", x.Problem)
		}
	}
	if err == nil && x.Verdict == route.Refuse {
		return coded(exitRefused, "")
	}
	return err
}

// judge returns the function that judges one body, live or offline.
func (c *explainCmd) judge(e *environ) (func([]byte) (*admin.Explained, error), error) {
	if c.Live {
		client, err := e.engine()
		if err != nil {
			return nil, err
		}
		return func(body []byte) (*admin.Explained, error) { return c.live(client, body) }, nil
	}
	path := c.Snapshot
	if path == "" {
		folders, err := e.folders()
		if err != nil {
			return nil, err
		}
		path = engine.SnapshotPath(folders)
	}
	text, err := os.ReadFile(path)
	if err == nil && c.Snapshot == "" {
		e.tellAge(path)
	}
	if err != nil {
		return nil, coded(exitFailed, "no saved state can be read: %w. Save one with bellwether status --snapshot FILE, or ask the running engine with --live", err)
	}
	saved, err := route.ReadScenario(string(text))
	if err != nil {
		return nil, coded(exitFailed, "%s: %w", path, err)
	}
	if len(saved.Steps) == 0 {
		return nil, coded(exitFailed, "%s holds no state of a fleet", path)
	}
	step := &saved.Steps[0]
	return func(body []byte) (*admin.Explained, error) {
		header := http.Header{}
		c.headers(header.Set)
		x, p := engine.Explain(step.View, step.Policy, "", dialect.Protocol(c.protocol(body)), body, header)
		if p != nil {
			return nil, coded(exitRefused, "%s", p.Text())
		}
		return x, nil
	}, nil
}

// tellAge says how old the state is that the engine left, where it no longer is
// that of the moment.
func (e *environ) tellAge(path string) {
	if info, err := os.Stat(path); err == nil {
		if age := time.Since(info.ModTime()); age > 2*time.Minute {
			fmt.Fprintf(e.err, "bellwether: the fleet is as the engine left it %s ago; --live asks the running one\n", age.Round(time.Minute))
		}
	}
}

// headers sets those of the request that is explained. Of a header that is given
// twice the first counts, as the gateway reads it.
func (c *explainCmd) headers(set func(name, value string)) {
	for _, h := range slices.Backward(c.Header) {
		name, value, _ := strings.Cut(h, ":")
		set(name, strings.TrimSpace(value))
	}
	if c.Session != "" {
		set("X-Fleet-Session", c.Session)
	}
	if c.App != "" {
		set("X-Fleet-App", c.App)
	}
}

// headerLine is a name, a colon and a value of one line.
var headerLine = regexp.MustCompile(`^[A-Za-z0-9_-]+:[^\x00-\x08\x0a-\x1f\x7f]*$`)

// checkHeaders refuses what is no header, and the one that is ours: it lets the
// command in, and no app sends it.
func (c *explainCmd) checkHeaders() error {
	for _, h := range c.Header {
		name, _, _ := strings.Cut(h, ":")
		switch {
		case !headerLine.MatchString(h):
			return coded(exitUsage, "%q is no header: write NAME: VALUE, as in --header 'X-Fleet-Profile: fast'", h)
		case strings.EqualFold(name, "X-Fleet-Admin"):
			return coded(exitUsage, "X-Fleet-Admin is between this command and the engine: no request is routed by it")
		}
	}
	return nil
}

func (c *explainCmd) live(client *client, body []byte) (*admin.Explained, error) {
	var x admin.Explained
	err := client.call("POST", "/admin/explain/"+c.protocol(body), body, &x, c.headers)
	return &x, err
}

func (c *explainCmd) lines(e *environ, judge func([]byte) (*admin.Explained, error)) error {
	f, err := os.Open(c.JSONL)
	if err != nil {
		return err
	}
	defer f.Close()
	wrong := 0
	in := bufio.NewReaderSize(f, 1<<16)
	for {
		line, err := in.ReadBytes('\n')
		if line = bytes.TrimSpace(line); len(line) > 0 {
			began := time.Now()
			x, judgeErr := judge(line)
			out := map[string]any{"micros": float64(time.Since(began).Nanoseconds()) / 1000}
			if judgeErr != nil {
				wrong++
				out["error"] = judgeErr.Error()
			} else {
				out = map[string]any{"requirements": x.Requirements, "micros": x.Micros, "verdict": x.Verdict, "chosen": x.Chosen, "record": x.Record}
			}
			if err := e.jsonLine(out); err != nil {
				return err
			}
		}
		if err == io.EOF {
			if wrong > 0 {
				return coded(exitDegraded, "%d of the requests cannot be read; their lines say why", wrong)
			}
			return nil
		}
		if err != nil {
			return err
		}
	}
}

// protocol tells by a body's own members which protocol it is of, unless said.
func (c *explainCmd) protocol(body []byte) string {
	if c.Protocol != "auto" {
		return c.Protocol
	}
	has := map[string]bool{}
	for m := range dialect.Members(body) {
		has[m.Name] = true
	}
	switch {
	case has["messages"] && (has["options"] || has["keep_alive"] || has["format"]):
		return string(dialect.OllamaChat)
	case has["messages"]:
		return string(dialect.OpenAIChat)
	case has["input"] && (has["instructions"] || has["tools"] || has["stream"] || has["reasoning"] || has["store"]):
		return string(dialect.OpenAIResponses)
	case has["input"]:
		return string(dialect.OpenAIEmbeddings)
	case has["prompt"] && has["max_tokens"]:
		return string(dialect.OpenAICompletion)
	case has["prompt"]:
		return string(dialect.OllamaGenerate)
	}
	return string(dialect.OpenAIChat)
}

func readInput(e *environ, file string) ([]byte, error) {
	if file == "-" {
		return io.ReadAll(e.in)
	}
	return os.ReadFile(file)
}
