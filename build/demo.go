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

// demoTask shows the product on a machine without any model.
func demoTask(ctx context.Context, _ []string) error {
	d := &demo{out: os.Stdout}
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
// memory of any machine the demo runs on.
func demoRuntimes() []demoRuntime {
	return []demoRuntime{
		{name: "desk", kind: "ollama", about: "fast, 64 GB",
			flags: []string{"--memory", "6.4GB", "--load-rate", "600MB", "--prefill", "1200", "--decode", "70", "--parallel", "4",
				"-m", "qwen3:8b=520MB,ctx=32768,caps=completion+tools,family=qwen3,params=8.2B", "-m", "qwen2.5-coder:14b=900MB,ctx=32768,caps=completion+tools,family=qwen2,params=14.8B",
				"-m", "nomic-embed-text=30MB,caps=embedding,width=768,family=nomic-bert"}},
		{name: "laptop", kind: "ollama", about: "middling, 16 GB",
			flags: []string{"--memory", "1.6GB", "--load-rate", "200MB", "--prefill", "300", "--decode", "25", "--parallel", "1",
				"-m", "qwen3:8b=520MB,ctx=32768,caps=completion+tools,family=qwen3,params=8.2B", "-m", "llava:7b=470MB,caps=completion+vision,params=7.2B"}},
		{name: "cupboard", kind: "llama-server", about: "slow, one small model always loaded",
			flags: []string{"--prefill", "80", "--decode", "9", "--parallel", "2", "-m", "llama3.2:3b=200MB,ctx=8192"}},
	}
}

// demo is the running cast.
type demo struct {
	out      io.Writer
	dir      string
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
	d.runtimes = demoRuntimes()
	d.ended = make(chan error, len(d.runtimes)+1) // each process reports its end once
	for i := range d.runtimes {
		r := &d.runtimes[i]
		args := append([]string{"--kind", r.kind}, r.flags...)
		if r.url, err = d.launch(ctx, "fakeruntime", args...); err != nil {
			return fmt.Errorf("start %s: %w", r.name, err)
		}
	}
	if err := d.writeConfig(); err != nil {
		return err
	}
	if _, err := d.launch(ctx, "bellwether", "serve", "--config", d.path("config.yaml"), "--data-dir", d.path("data"), "--listen", "127.0.0.1:0"); err != nil {
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
		d.ended <- fmt.Errorf("%s ended: %w", name, errors.Join(cmd.Wait(), errEnded))
	}()
	if err != nil {
		text, _ := os.ReadFile(log.Name())
		return "", fmt.Errorf("it ended without a word: %s", strings.TrimSpace(string(text)))
	}
	return strings.TrimSpace(first), nil
}

// errEnded is part of the report of a process that ended by itself, also with
// exit code 0.
var errEnded = errors.New("by itself")

func (d *demo) writeConfig() error {
	var b strings.Builder
	b.WriteString("node: {name: demo}\nruntimes:\n")
	for _, r := range d.runtimes {
		fmt.Fprintf(&b, "  - {name: %s, kind: %s, url: %q}\n", r.name, r.kind, r.url)
	}
	return os.WriteFile(d.path("config.yaml"), []byte(b.String()), 0o600)
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

// explain prints what there is and what to try.
func (d *demo) explain() {
	say := func(format string, args ...any) { fmt.Fprintf(d.out, format+"\n", args...) }
	say("\nBellwether serves three stand-in runtimes at %s\n", d.address)
	for _, r := range d.runtimes {
		say("  %-9s %-13s %-42s %s", r.name, r.kind, r.about, r.url)
	}
	say("\nAsk, in any of four protocols (their answers are made up, their speed is not):\n")
	for _, line := range d.requests() {
		say("  %s", line)
	}
	bell := fmt.Sprintf("%s --data-dir %s", d.path(exe("bellwether")), d.path("data"))
	say("\nLet it choose, by what each request is about:\n")
	say(`  curl -s %s/v1/chat/completions -d '{"model":"auto:quality","messages":[{"role":"user","content":"Write a Go function that reverses a linked list."}]}'`, d.address)
	say("\nSee where requests went, and why:\n")
	say("  %s status", bell)
	say("  %s decisions", bell)
	say(`  echo '{"model":"qwen3:8b","messages":[{"role":"user","content":"hi"}]}' | %s explain --live -`, bell)
	first := d.runtimes[0]
	say("\nBreak %s, ask for qwen3:8b again, and look at the decisions:\n", first.name)
	say(`  curl -s %s/__control -d '{"inject":[{"status":500,"body":"{\"error\":\"broken\"}"}]}'   # others serve in its place`, first.url)
	say(`  curl -s %s/__control -d '{"heal":true,"inject":[{"break":"cut","after":5}]}'   # its streams tear in their middle, and say so`, first.url)
	say(`  curl -s %s/__control -d '{"heal":true}'   # all is well again`, first.url)
	say("\nCtrl-C ends all of it and leaves nothing behind.")
}

// requests are the lines to paste: one for each protocol.
func (d *demo) requests() []string {
	const hi = `"messages":[{"role":"user","content":"Why is the sky blue?"}]`
	return []string{
		fmt.Sprintf(`curl -sN %s/v1/chat/completions -H 'Content-Type: application/json' -d '{"model":"qwen3:8b","stream":true,%s}'`, d.address, hi),
		fmt.Sprintf(`curl -s %s/v1/messages -H 'Content-Type: application/json' -d '{"model":"claude-sonnet-4-5","max_tokens":200,%s}'`, d.address, hi),
		fmt.Sprintf(`curl -s %s/v1/responses -H 'Content-Type: application/json' -d '{"model":"llama3.2:3b","input":"Why is the sky blue?"}'`, d.address),
		fmt.Sprintf(`curl -sN %s/api/chat -d '{"model":"qwen3:8b",%s}'`, d.address, hi),
		fmt.Sprintf(`curl -s %s/v1/embeddings -H 'Content-Type: application/json' -d '{"model":"nomic-embed-text","input":"sky","dimensions":6}'`, d.address),
	}
}

// wait returns when the owner ends the demo, or a process ends by itself.
func (d *demo) wait(ctx context.Context) error {
	var err error
	select {
	case <-ctx.Done():
	case err = <-d.ended:
		d.heard++
	}
	if ctx.Err() != nil { // Ctrl-C reaches the processes as well as us
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
