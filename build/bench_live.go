package main

import (
	"bufio"
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httputil"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"time"
)

// The live bench compares three ways to one and the same fake runtime, in
// turn, in one run: directly, through httputil.ReverseProxy with full duplex
// (the bare baseline), and through bellwether with decision records on. Only
// the ratios mean something: machines are noisy, and all three share it.

const (
	benchClients = 16
	benchRounds  = 7
	benchFor     = 1500 * time.Millisecond
	bigPrompt    = 1 << 20
	choices      = 20 // models an alias chooses among
	slowStreams  = 200
)

// way is one route to the runtime.
type way struct{ name, base string }

// benchLive runs the whole comparison and prints it.
func benchLive(ctx context.Context, out io.Writer) error {
	b, err := startBench(ctx)
	if err != nil {
		return err
	}
	defer b.stop()
	for _, job := range []struct {
		name string
		run  func() error
	}{
		{"non-stream, 16 clients (requests/s)", func() error { return b.throughput(out, chatBody("bench", false, 16, "hi"), false) }},
		{"unpaced streams of 64 tokens, 16 clients (streams/s)", func() error { return b.throughput(out, chatBody("bench", true, 64, "hi"), true) }},
		{"1 MB prompt, one client (ms)", func() error { return b.latency(out) }},
		{"a choice among 20 models against a concrete name, one client (ms)", func() error { return b.choice(out) }},
		{"200 slow streams at once", func() error { return b.slow(out) }},
		{"memory of bellwether", func() error { return b.memory(out) }},
	} {
		fmt.Fprintf(out, "\n%s\n", job.name)
		if err := job.run(); err != nil {
			return fmt.Errorf("%s: %w", job.name, err)
		}
	}
	return nil
}

type bench struct {
	ways  []way
	procs []*exec.Cmd
	dir   string
	idle  int64 // resident bytes of bellwether before the first request
	http  *http.Client
}

func startBench(ctx context.Context) (b *bench, err error) {
	b = &bench{http: &http.Client{Transport: &http.Transport{MaxIdleConnsPerHost: 512, DisableCompression: true}}}
	if b.dir, err = os.MkdirTemp("", "bellwether-bench"); err != nil {
		return nil, err
	}
	defer func() {
		if err != nil {
			b.stop()
		}
	}()
	if err := goBuild(ctx, b.dir, "./cmd/bellwether", "./cmd/fakeruntime"); err != nil {
		return b, err
	}
	ports, err := freePorts(4)
	if err != nil {
		return b, err
	}
	fake, paced, bare, bell := ports[0], ports[1], ports[2], ports[3]
	self, err := os.Executable()
	if err != nil {
		return b, err
	}
	config := filepath.Join(b.dir, "config.yaml")
	text := fmt.Sprintf(`runtimes:
  - {name: bench, kind: ollama, url: "http://%s", parallel: 256}
  - {name: paced, kind: ollama, url: "http://%s", parallel: 256}
routing: {max_slots: 256, kv_per_request_gb: 0.01}
deployments:
  - {match: "other*", tags: [choice]}
  - {match: "other01*", quality: {coding: 0.95, reasoning: 0.95, chat: 0.95}}
aliases: {choice: {tags: [choice]}}
`, addr(fake), addr(paced))
	if err := os.WriteFile(config, []byte(text), 0o600); err != nil {
		return b, err
	}
	fakeruntime := filepath.Join(b.dir, exe("fakeruntime"))
	models := []string{fakeruntime, "--addr", addr(fake), "--parallel", "512", "--log", "0", "--context", "1048576", "-m", "bench=100MB,ctx=1048576,tokens=64"}
	for i := 1; i <= choices; i++ {
		models = append(models, "-m", fmt.Sprintf("other%02d=%dMB,ctx=32768,tokens=16", i, 100*i))
	}
	for _, argv := range [][]string{
		models,
		{fakeruntime, "--addr", addr(paced), "--parallel", "512", "--log", "0", "--decode", "20", "-m", "paced=100MB,tokens=64"},
		{self, bareProxyTask, addr(bare), "http://" + addr(fake)},
		{filepath.Join(b.dir, exe("bellwether")), "serve", "--config", config, "--data-dir", filepath.Join(b.dir, "data"), "--listen", addr(bell)},
	} {
		if err := b.start(ctx, argv); err != nil {
			return b, err
		}
	}
	b.ways = []way{{"direct", "http://" + addr(fake)}, {"bare proxy", "http://" + addr(bare)}, {"bellwether", "http://" + addr(bell)}}
	if err := b.ready(ctx); err != nil {
		return b, err
	}
	b.idle, err = residentBytes(b.bellwether().Pid)
	return b, err
}

// bellwether is the process under test: the last one started.
func (b *bench) bellwether() *os.Process { return b.procs[len(b.procs)-1].Process }

func (b *bench) start(ctx context.Context, argv []string) error {
	cmd := exec.CommandContext(ctx, argv[0], argv[1:]...)
	cmd.Stderr = os.Stderr
	if err := cmd.Start(); err != nil {
		return err
	}
	b.procs = append(b.procs, cmd)
	return nil
}

func (b *bench) stop() {
	for _, p := range b.procs {
		_ = p.Process.Kill()
		_ = p.Wait()
	}
	_ = os.RemoveAll(b.dir)
}

// ready waits until every way answers a request of both models.
func (b *bench) ready(ctx context.Context) error {
	deadline := time.Now().Add(20 * time.Second)
	for _, first := range []struct {
		way
		model string
	}{{b.ways[0], "bench"}, {b.ways[1], "bench"}, {b.ways[2], "bench"}, {b.ways[2], "paced"}} {
		for {
			_, err := b.ask(ctx, first.way, chatBody(first.model, false, 1, "hi"), false)
			if err == nil {
				break
			}
			if time.Now().After(deadline) {
				return fmt.Errorf("%s is not ready: %w", first.name, err)
			}
			time.Sleep(50 * time.Millisecond)
		}
	}
	return nil
}

// ask sends one request and reads its answer to the end; streams must end by
// [DONE]. It returns the time of the last byte.
func (b *bench) ask(ctx context.Context, w way, body []byte, stream bool) (time.Duration, error) {
	began := time.Now()
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, w.base+"/v1/chat/completions", bytes.NewReader(body))
	if err != nil {
		return 0, err
	}
	req.Header.Set("Content-Type", "application/json")
	resp, err := b.http.Do(req)
	if err != nil {
		return 0, err
	}
	defer resp.Body.Close()
	if resp.StatusCode != http.StatusOK {
		text, _ := io.ReadAll(io.LimitReader(resp.Body, 300))
		return 0, fmt.Errorf("%s: %s", resp.Status, text)
	}
	if !stream {
		n, err := io.Copy(io.Discard, resp.Body)
		if err == nil && n == 0 {
			err = errors.New("empty answer")
		}
		return time.Since(began), err
	}
	done := false
	lines := bufio.NewScanner(resp.Body)
	for lines.Scan() {
		done = done || strings.HasPrefix(lines.Text(), "data: [DONE]")
	}
	if err := lines.Err(); err != nil {
		return 0, err
	}
	if !done {
		return 0, errors.New("the stream ended without [DONE]")
	}
	return time.Since(began), nil
}

// throughput asks by all ways in turn, round by round, and prints medians and
// the ratio of each round's pair.
func (b *bench) throughput(out io.Writer, body []byte, stream bool) error {
	rates := map[string][]float64{}
	for round := range benchRounds + 1 {
		for _, w := range b.ways {
			rate, err := b.rate(w, body, stream)
			if err != nil {
				return fmt.Errorf("%s: %w", w.name, err)
			}
			if round > 0 { // the first warms up
				rates[w.name] = append(rates[w.name], rate)
			}
		}
	}
	for _, w := range b.ways {
		fmt.Fprintf(out, "  %-11s %8.0f   %.2f x the bare proxy (median of %d pairs)\n", w.name, median(rates[w.name]), median(ratios(rates[w.name], rates["bare proxy"])), benchRounds)
	}
	return nil
}

func (b *bench) rate(w way, body []byte, stream bool) (float64, error) {
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	var done atomic.Int64
	var first atomic.Pointer[error]
	var group sync.WaitGroup
	began := time.Now()
	for range benchClients {
		group.Go(func() {
			for time.Since(began) < benchFor {
				if _, err := b.ask(ctx, w, body, stream); err != nil {
					first.CompareAndSwap(nil, &err)
					return
				}
				done.Add(1)
			}
		})
	}
	group.Wait()
	if err := first.Load(); err != nil {
		return 0, *err
	}
	return float64(done.Load()) / time.Since(began).Seconds(), nil
}

// latency compares the time of a request with a 1 MB prompt.
func (b *bench) latency(out io.Writer) error {
	body := chatBody("bench", false, 1, strings.Repeat("All work and no play makes a dull day. ", bigPrompt/39))
	times := map[string][]float64{}
	for range 25 {
		for _, w := range b.ways {
			took, err := b.ask(context.Background(), w, body, false)
			if err != nil {
				return fmt.Errorf("%s: %w", w.name, err)
			}
			times[w.name] = append(times[w.name], float64(took.Microseconds())/1000)
		}
	}
	direct := median(times["direct"])
	for _, w := range b.ways {
		m := median(times[w.name])
		fmt.Fprintf(out, "  %-11s %8.2f   +%.2f ms over direct (medians of 25)\n", w.name, m, m-direct)
	}
	return nil
}

// choice compares a request by a concrete name with one that has to be ranked
// among many models, in turn.
func (b *bench) choice(out io.Writer) error {
	w := b.ways[2]
	prompt := strings.Repeat("Write a function that sorts a list of names, and say how long it takes. ", 8)
	times := map[string][]float64{}
	for range 400 {
		for _, model := range []string{"other01", "choice"} {
			took, err := b.ask(context.Background(), w, chatBody(model, false, 1, prompt), false)
			if err != nil {
				return fmt.Errorf("%s: %w", model, err)
			}
			times[model] = append(times[model], float64(took.Microseconds())/1000)
		}
	}
	named, chosen := median(times["other01"]), median(times["choice"])
	fmt.Fprintf(out, "  by name %.3f, by choice %.3f: +%.3f ms (medians of 400)\n", named, chosen, chosen-named)
	return nil
}

// slow runs many paced streams at once through bellwether; none may be lost.
func (b *bench) slow(out io.Writer) error {
	w := b.ways[2]
	body := chatBody("paced", true, 60, "hi")
	var ok, lost atomic.Int64
	var why atomic.Pointer[error]
	var group sync.WaitGroup
	began := time.Now()
	for range slowStreams {
		group.Go(func() {
			if _, err := b.ask(context.Background(), w, body, true); err != nil {
				lost.Add(1)
				why.CompareAndSwap(nil, &err)
				return
			}
			ok.Add(1)
		})
	}
	group.Wait()
	fmt.Fprintf(out, "  %d whole, %d lost, in %.1f s\n", ok.Load(), lost.Load(), time.Since(began).Seconds())
	if err := why.Load(); err != nil {
		return *err
	}
	return nil
}

func (b *bench) memory(out io.Writer) error {
	after, err := residentBytes(b.bellwether().Pid)
	if err != nil {
		return err
	}
	fmt.Fprintf(out, "  idle %.1f MB, after the load above %.1f MB resident\n", float64(b.idle)/1e6, float64(after)/1e6)
	return nil
}

// bareProxyTask is the hidden task that is the bare baseline, a process of
// its own like the others.
const bareProxyTask = "bare-proxy"

func bareProxy(listen, target string) error {
	u, err := url.Parse(target)
	if err != nil {
		return err
	}
	proxy := &httputil.ReverseProxy{
		Rewrite:       func(r *httputil.ProxyRequest) { r.SetURL(u) },
		FlushInterval: -1,
		Transport:     &http.Transport{MaxIdleConnsPerHost: 512, DisableCompression: true},
	}
	return http.ListenAndServe(listen, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		// Without full duplex, streamed answers to POSTs break against a fast runtime.
		_ = http.NewResponseController(w).EnableFullDuplex()
		proxy.ServeHTTP(w, r)
	}))
}

func chatBody(model string, stream bool, tokens int, prompt string) []byte {
	return fmt.Appendf(nil, `{"model":%q,"stream":%t,"max_tokens":%d,"messages":[{"role":"user","content":%q}]}`, model, stream, tokens, prompt)
}

func addr(port int) string { return net.JoinHostPort("127.0.0.1", strconv.Itoa(port)) }

func freePorts(n int) ([]int, error) {
	var ports []int
	for range n {
		l, err := net.Listen("tcp", "127.0.0.1:0")
		if err != nil {
			return nil, err
		}
		defer l.Close()
		ports = append(ports, l.Addr().(*net.TCPAddr).Port)
	}
	return ports, nil
}

// residentBytes is a process's resident memory (Linux; elsewhere unknown).
func residentBytes(pid int) (int64, error) {
	raw, err := os.ReadFile(fmt.Sprintf("/proc/%d/statm", pid))
	if err != nil {
		return 0, fmt.Errorf("resident memory is only read on Linux: %w", err)
	}
	fields := strings.Fields(string(raw))
	if len(fields) < 2 {
		return 0, errors.New("statm has no second field")
	}
	pages, err := strconv.ParseInt(fields[1], 10, 64)
	return pages * int64(os.Getpagesize()), err
}

func median(v []float64) float64 {
	if len(v) == 0 {
		return 0
	}
	s := slices.Clone(v)
	slices.SortFunc(s, cmp.Compare[float64])
	return s[len(s)/2]
}

func ratios(a, b []float64) []float64 {
	var r []float64
	for i := range min(len(a), len(b)) {
		r = append(r, a[i]/b[i])
	}
	return r
}
