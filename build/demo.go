package main

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"time"
)

// demoTask shows the product on a machine without any model; with app, as the
// desktop app.
func demoTask(ctx context.Context, args []string) error {
	d := &demo{out: os.Stdout, command: "serve"}
	switch {
	case len(args) == 1 && args[0] == "app":
		d.command = args[0]
	case len(args) > 0:
		return fmt.Errorf("demo takes nothing or app, not %s", strings.Join(args, " "))
	}
	defer d.stop()
	if err := d.start(ctx); err != nil {
		return err
	}
	d.explain()
	return d.wait(ctx)
}

// demoRuntime is one stand-in: how it is called, and what it costs to use.
type demoRuntime struct {
	name, kind, about string
	flags             []string
	url               string
}

// demoRuntimes are three machines one could own. A model's name on two of them
// is the same model; while nothing is measured, the first by name gets it. Sizes
// and load rates are a tenth of real ones, so that all of it fits into the
// memory of any machine the demo runs on. What they get right of an eval's
// questions is made up as well: the coder codes better than its published score
// says that the other one does.
func demoRuntimes() []demoRuntime {
	return []demoRuntime{
		{name: "desk", kind: "ollama", about: "fast, 64 GB",
			flags: []string{"--memory", "6.4GB", "--load-rate", "600MB", "--prefill", "1200", "--decode", "70", "--parallel", "4",
				"-m", "qwen3:8b=520MB,ctx=32768,caps=completion+tools,family=qwen3,params=8.2B,coding=0.5,all=0.8", "-m", "qwen2.5-coder:14b=900MB,ctx=32768,caps=completion+tools,family=qwen2,params=14.8B,coding=0.95,all=0.6",
				"-m", "nomic-embed-text=30MB,caps=embedding,width=768,family=nomic-bert"}},
		{name: "laptop", kind: "ollama", about: "middling, 16 GB",
			flags: []string{"--memory", "1.6GB", "--load-rate", "200MB", "--prefill", "300", "--decode", "25", "--parallel", "1",
				"-m", "qwen3:8b=520MB,ctx=32768,caps=completion+tools,family=qwen3,params=8.2B,coding=0.5,all=0.8", "-m", "llava:7b=470MB,caps=completion+vision,family=llama,params=7.2B"}},
		{name: "cupboard", kind: "llama-server", about: "slow, one small model always loaded",
			flags: []string{"--prefill", "80", "--decode", "9", "--parallel", "2", "-m", "llama3.2:3b=200MB,ctx=8192,params=3.2B,family=llama"}},
	}
}

// demo is the running cast.
type demo struct {
	out      io.Writer
	dir      string
	command  string // of bellwether: serve or app
	runtimes []demoRuntime
	procs    []*exec.Cmd
	address  string     // what apps use
	ended    chan error // gets one report for each process
	heard    int        // reports taken from it
}

func (d *demo) start(ctx context.Context) (err error) {
	if d.dir, err = os.MkdirTemp("", "bellwether-demo"); err != nil {
		return err
	}
	fmt.Fprintln(d.out, "Building ...")
	uiIfAtHand(ctx)
	if err := goBuild(ctx, d.dir, "./cmd/bellwether", "./cmd/fakeruntime"); err != nil {
		return err
	}
	if d.command == "app" {
		windowIfAtHand(ctx, d.dir)
	}
	exam, err := command(ctx, d.path(exe("bellwether")), "exam").Output()
	if err == nil {
		err = os.WriteFile(d.path("exam.jsonl"), exam, 0o600)
	}
	if err != nil {
		return fmt.Errorf("write the questions of evals, which the stand-ins answer: %w", err)
	}
	d.runtimes = demoRuntimes()
	d.ended = make(chan error, len(d.runtimes)+1) // each process reports its end once
	for i := range d.runtimes {
		r := &d.runtimes[i]
		args := append([]string{"--kind", r.kind, "--exam", d.path("exam.jsonl")}, r.flags...)
		if r.url, err = d.launch(ctx, "fakeruntime", args...); err != nil {
			return fmt.Errorf("start %s: %w", r.name, err)
		}
	}
	if err := d.writeConfig(); err != nil {
		return err
	}
	if _, err := d.launch(ctx, "bellwether", d.command, "--data-dir", d.path("data"), "--listen", "127.0.0.1:0"); err != nil {
		return fmt.Errorf("start bellwether: %w", err)
	}
	return d.ready(ctx)
}

func (d *demo) path(name string) string { return filepath.Join(d.dir, name) }

// launch starts a program and returns the first line it prints.
func (d *demo) launch(ctx context.Context, name string, args ...string) (string, error) {
	cmd := command(ctx, d.path(exe(name)), args...)
	log, err := os.OpenFile(d.path(name+".log"), os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
	if err != nil {
		return "", err
	}
	defer func() { _ = log.Close() }() // the child has its own
	cmd.Stderr = log
	stdout, err := cmd.StdoutPipe()
	if err != nil {
		return "", err
	}
	if err := cmd.Start(); err != nil {
		return "", err
	}
	d.procs = append(d.procs, cmd)
	lines := bufio.NewReader(stdout)
	first, err := lines.ReadString('\n')
	go func() {
		_, _ = io.Copy(io.Discard, lines)
		err := cmd.Wait()
		if err == nil && name == "bellwether" && d.command == "app" {
			d.ended <- errQuit
			return
		}
		d.ended <- fmt.Errorf("%s ended: %w", name, errors.Join(err, errEnded))
	}()
	if err != nil {
		text, _ := os.ReadFile(log.Name())
		return "", fmt.Errorf("it ended without a word: %s", strings.TrimSpace(string(text)))
	}
	return strings.TrimSpace(first), nil
}

// errQuit is the end of a desktop app whose user chose Quit.
var errQuit = errors.New("quit")

// errEnded is part of the report of a process that ended by itself, also with
// exit code 0.
var errEnded = errors.New("by itself")

func (d *demo) writeConfig() error {
	var b strings.Builder
	b.WriteString("node: {name: demo}\nruntimes:\n")
	for _, r := range d.runtimes {
		fmt.Fprintf(&b, "  - {name: %s, kind: %s, url: %q}\n", r.name, r.kind, r.url)
	}
	if err := os.Mkdir(d.path("data"), 0o700); err != nil {
		return err
	}
	return os.WriteFile(d.path(filepath.Join("data", "config.yaml")), []byte(b.String()), 0o600)
}

// ready waits until all models of all runtimes are offered.
func (d *demo) ready(ctx context.Context) error {
	deadline := time.Now().Add(30 * time.Second)
	for {
		err := d.lookForModels(ctx)
		if err == nil {
			return nil
		}
		if time.Now().After(deadline) {
			return fmt.Errorf("bellwether does not offer the models: %w (its log: %s)", err, d.path("bellwether.log"))
		}
		select {
		case <-ctx.Done():
			return ctx.Err()
		case err := <-d.ended:
			d.heard++
			return err
		case <-time.After(100 * time.Millisecond):
		}
	}
}

func (d *demo) lookForModels(ctx context.Context) error {
	raw, err := os.ReadFile(d.path(filepath.Join("data", "engine.json")))
	if err != nil {
		return err
	}
	var state struct{ Address string }
	if err := json.Unmarshal(raw, &state); err != nil {
		return err
	}
	d.address = state.Address
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, d.address+"/v1/models", nil)
	if err != nil {
		return err
	}
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		return err
	}
	defer func() { _ = resp.Body.Close() }()
	text, err := io.ReadAll(resp.Body)
	if err != nil {
		return err
	}
	for _, model := range []string{"qwen3:8b", "qwen2.5-coder:14b", "llava:7b", "llama3.2:3b"} {
		if !strings.Contains(string(text), model) {
			return fmt.Errorf("%s is not listed yet", model)
		}
	}
	return nil
}

// demoPart is one thing to try: what it is, and lines to paste.
type demoPart struct {
	about string
	lines []demoLine
}

// demoLine is a command of a shell. shows are texts that its output holds, which
// the test of the demo looks for.
type demoLine struct {
	command string
	shows   []string
}

// explain prints what there is and what to try.
func (d *demo) explain() {
	say := func(format string, args ...any) { fmt.Fprintf(d.out, format+"\n", args...) }
	say("\nBellwether serves three stand-in runtimes at %s\n", d.address)
	for _, r := range d.runtimes {
		say("  %-9s %-13s %-42s %s", r.name, r.kind, r.about, r.url)
	}
	for _, p := range d.parts() {
		say("\n%s\n", p.about)
		for _, l := range p.lines {
			say("  %s", l.command)
		}
	}
	bell := d.bell()
	say("\nEverything else it does, of this demo while it runs; open shows the admin UI in your browser:\n")
	for _, what := range []string{"open", "doctor", "--help"} {
		say("  %s", bell+what)
	}
	if d.command == "app" {
		say("\nIts icon is in the bar (a bell), its window opens beside it. Where there is none, %sdoctor says why.", bell)
		say("Quit in the menu, or Ctrl-C here, ends all of it and leaves nothing behind.")
		return
	}
	say("\nWith an icon in the bar and a window: go run ./build demo app")
	say("Ctrl-C ends all of it and leaves nothing behind.")
}

// bell begins the commands of the demo's own bellwether.
func (d *demo) bell() string {
	return fmt.Sprintf("%s --data-dir %s ", d.path(exe("bellwether")), d.path("data"))
}

// parts are what to try, in an order in which each works.
func (d *demo) parts() []demoPart {
	bell := d.bell()
	first := d.runtimes[0]
	control := func(orders, about string) string {
		return fmt.Sprintf(`curl -s %s/__control -d '%s'   # %s`, first.url, orders, about)
	}
	code := d.ask("/v1/chat/completions", "auto:quality", "Write a Go function that reverses a linked list.", "")
	return []demoPart{
		{"Ask, in any of four protocols (their answers are made up, their speed is not):", d.requests()},
		{"Let it choose. Nothing is measured yet, so published scores count:", []demoLine{
			{code, []string{"qwen3:8b answers"}},
		}},
		{"Have the two grade themselves by questions with known answers (half a minute), and ask again: the better coder gets it now.", []demoLine{
			{bell + "eval qwen3:8b qwen2.5-coder:14b --tasks coding --items 16 --mode live --yes --save-measurements", []string{"2 of 2 grades were kept"}},
			{code, []string{"qwen2.5-coder:14b answers"}},
		}},
		{"See where requests went, and why:", []demoLine{
			{bell + "status", []string{"demo is serving", "qwen3:8b", "llama3.2:3b"}},
			{bell + "decisions --app curl", []string{"auto:quality", "demo/desk/qwen2.5-coder:14b", "claude-sonnet-4-5"}},
			{`echo '{"model":"auto:quality","messages":[{"role":"user","content":"Why is the sky blue?"}]}' | ` + bell + "explain --live -", []string{"serve demo/", "wins among"}},
		}},
		{"Pause this machine (what is asked meanwhile waits half a minute, then is refused), and take work again:", []demoLine{
			{bell + "pause", []string{"demo is paused"}},
			{bell + "resume", []string{"demo is serving"}},
		}},
		{fmt.Sprintf("Break %s, ask for qwen3:8b again, and look at the decisions:", first.name), []demoLine{
			{control(`{"inject":[{"status":500,"body":"{\"error\":\"broken\"}"}]}`, "laptop serves qwen3:8b in its place"), nil},
			{control(`{"heal":true,"inject":[{"break":"cut","after":5}]}`, "its streams tear in their middle, and say so (laptop has the model too by now: every other goes there)"), nil},
			{control(`{"heal":true}`, "all is well again"), nil},
		}},
	}
}

// requests are one line for each protocol, and one for embeddings.
func (d *demo) requests() []demoLine {
	const sky = "Why is the sky blue?"
	return []demoLine{
		{d.ask("/v1/chat/completions", "qwen3:8b", sky, `"stream":true,`), []string{"data: [DONE]"}},
		{d.ask("/v1/messages", "claude-sonnet-4-5", sky, `"max_tokens":200,`), []string{`"stop_reason":"end_turn"`}},
		{fmt.Sprintf(`curl -s %s/v1/responses -d '{"model":"llama3.2:3b","input":"%s"}'`, d.address, sky), []string{"llama3.2:3b answers"}},
		{d.ask("/api/chat", "qwen3:8b", sky, ""), []string{`"done":true`}},
		{fmt.Sprintf(`curl -s %s/v1/embeddings -d '{"model":"nomic-embed-text","input":"sky","dimensions":6}'`, d.address), []string{`"embedding":[`}},
	}
}

// ask is a chat request of one turn; more are further members of its body.
func (d *demo) ask(path, model, text, more string) string {
	return fmt.Sprintf(`curl -sN %s%s -d '{"model":"%s",%s"messages":[{"role":"user","content":"%s"}]}'`, d.address, path, model, more, text)
}

// wait returns when the owner ends the demo, or a process ends by itself.
func (d *demo) wait(ctx context.Context) error {
	var err error
	select {
	case <-ctx.Done():
	case err = <-d.ended:
		d.heard++
	}
	if ctx.Err() != nil || errors.Is(err, errQuit) { // Ctrl-C reaches the processes as well as us
		fmt.Fprintln(d.out, "\nEnding ...")
		return nil
	}
	return err
}

// stop ends the processes, the last started first, and removes the folder.
func (d *demo) stop() {
	for i := len(d.procs) - 1; i >= 0; i-- {
		_ = d.procs[i].Cancel()
	}
	for ; d.heard < len(d.procs); d.heard++ {
		select {
		case <-d.ended:
		case <-time.After(15 * time.Second): // Cancel and WaitDelay have failed
		}
	}
	if d.dir != "" {
		_ = os.RemoveAll(d.dir)
	}
}
