package runtimetest

import (
	"bufio"
	"context"
	"encoding/json"
	"io"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"
)

func chat(model string) string {
	return `{"model":"` + model + `","messages":[{"role":"user","content":"hi"}]}`
}

func models(names ...string) (list []FakeModel) {
	for _, n := range names {
		list = append(list, FakeModel{Name: n})
	}
	return list
}

// call is a request that runs beside the test.
type call struct {
	status int
	body   string
	err    error
	leave  context.CancelFunc
	done   chan struct{}
}

func send(t testing.TB, f *Fake, path, body string) *call {
	ctx, cancel := context.WithCancel(context.Background())
	c := &call{leave: cancel, done: make(chan struct{})}
	t.Cleanup(func() { cancel(); <-c.done })
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, f.URL()+path, strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	go func() {
		defer close(c.done)
		resp, err := http.DefaultClient.Do(req)
		if err != nil {
			c.err = err
			return
		}
		defer resp.Body.Close()
		b, err := io.ReadAll(resp.Body)
		c.status, c.body, c.err = resp.StatusCode, string(b), err
	}()
	return c
}

func (c *call) wait(t testing.TB) *call {
	t.Helper()
	select {
	case <-c.done:
		return c
	case <-time.After(20 * time.Second):
		t.Fatal("no answer")
		return nil
	}
}

func TestModelLoadsOnFirstUseAndStays(t *testing.T) {
	f := start(t, FakeConfig{Models: models("a")})
	if got := f.Loaded(); got != nil {
		t.Fatalf("loaded at start: %v", got)
	}
	for range 3 {
		post(t, f, "/api/chat", chat("a"))
	}
	if got := f.Loads("A:latest"); got != 1 {
		t.Errorf("loads %d, want 1", got)
	}
	if got := f.Loaded(); !slices.Equal(got, []string{"a:latest"}) {
		t.Errorf("loaded %v", got)
	}
}

func TestFourthModelEvictsTheOneUnusedForLongest(t *testing.T) {
	f := start(t, FakeConfig{Models: models("a", "b", "c", "d")})
	for _, m := range []string{"a", "b", "c", "a", "d"} {
		post(t, f, "/api/chat", chat(m))
	}
	if got, want := f.Loaded(), []string{"a:latest", "c:latest", "d:latest"}; !slices.Equal(got, want) {
		t.Errorf("loaded %v, want %v", got, want)
	}
}

func TestIdleModelLeavesWhenItsKeepAliveEnds(t *testing.T) {
	f := start(t, FakeConfig{Models: models("a", "b")})
	post(t, f, "/api/generate", `{"model":"a","keep_alive":"30ms"}`)
	post(t, f, "/api/generate", `{"model":"b","keep_alive":-1}`)
	await(t, f, "a leaves", func() bool { return slices.Equal(f.Loaded(), []string{"b:latest"}) })
	if ps := get(t, f, "/api/ps"); !strings.Contains(ps, `"expires_at":"23`) {
		t.Errorf("keep_alive -1 ends: %s", ps)
	}
}

func TestExpiryKeepsMovingWhileARequestRuns(t *testing.T) {
	f := start(t, FakeConfig{Models: models("a"), KeepAlive: time.Hour})
	f.Inject(Fault{Break: BreakHold})
	c := send(t, f, "/api/chat", chat("a"))
	await(t, f, "it runs", func() bool { return f.Running("a") == 1 })
	first, second := expiry(t, f), expiry(t, f)
	if !second.After(first) {
		t.Errorf("expires_at stood still at %v", first)
	}
	f.Release()
	c.wait(t)
	await(t, f, "it ends", func() bool { return f.Running("a") == 0 })
	if first, second = expiry(t, f), expiry(t, f); !second.Equal(first) {
		t.Errorf("expires_at of an idle model moved from %v to %v", first, second)
	}
}

func expiry(t *testing.T, f *Fake) time.Time {
	t.Helper()
	var ps struct {
		Models []struct {
			ExpiresAt time.Time `json:"expires_at"`
		}
	}
	if err := json.Unmarshal([]byte(get(t, f, "/api/ps")), &ps); err != nil || len(ps.Models) != 1 {
		t.Fatalf("%v %+v", err, ps)
	}
	return ps.Models[0].ExpiresAt
}

func TestOtherContextReloadsTheModel(t *testing.T) {
	f := start(t, FakeConfig{Models: models("a"), Context: 2048})
	with := func(ctx string) string {
		return `{"model":"a","stream":false,"options":{"num_ctx":` + ctx + `},"messages":[{"role":"user","content":"hi"}]}`
	}
	post(t, f, "/api/chat", with("2048"))
	post(t, f, "/api/chat", with("2048"))
	if got := f.Loads("a"); got != 1 {
		t.Fatalf("loads %d, want 1", got)
	}
	post(t, f, "/api/chat", with("8192"))
	post(t, f, "/api/chat", with("2048"))
	if got := f.Loads("a"); got != 3 {
		t.Errorf("loads %d, want 3", got)
	}
}

func TestNoByteComesBeforeTheSlotIsFree(t *testing.T) {
	f := start(t, FakeConfig{Models: models("a")})
	f.Inject(Fault{Break: BreakHold, After: 2, Times: 1})
	first := send(t, f, "/api/chat", chat("a"))
	await(t, f, "the first holds", func() bool { return seen(f, 0).Tokens == 2 })
	second := send(t, f, "/api/chat", chat("a"))
	await(t, f, "the second waits", func() bool { return f.Waiting("a") == 1 })
	if got := seen(f, 1).Status; got != 0 {
		t.Errorf("the waiting one was answered: %d", got)
	}
	f.Release()
	if a, b := first.wait(t), second.wait(t); a.status != 200 || b.status != 200 {
		t.Errorf("status %d %d", a.status, b.status)
	}
	if got := f.MaxRunning("a"); got != 1 {
		t.Errorf("ran %d at once on one slot", got)
	}
}

func TestParallelSlotsRunTogether(t *testing.T) {
	f := start(t, FakeConfig{Models: models("a"), Parallel: 2})
	f.Inject(Fault{Break: BreakHold})
	var calls []*call
	for range 4 {
		calls = append(calls, send(t, f, "/api/chat", chat("a")))
	}
	await(t, f, "two run and two wait", func() bool { return f.Running("a") == 2 && f.Waiting("a") == 2 })
	f.Heal()
	for _, c := range calls {
		c.wait(t)
	}
	if got := f.MaxRunning("a"); got != 2 {
		t.Errorf("ran %d at once, want 2", got)
	}
}

// As recorded in 41-queue-full.
func TestQueueCountsOnlyRequestsThatNeedALoad(t *testing.T) {
	f := start(t, FakeConfig{Models: models("a", "b"), MaxLoaded: 1, MaxQueue: 2})
	f.Inject(Fault{Model: "a", Times: 1, Break: BreakHold, After: 1})
	busy := send(t, f, "/api/chat", chat("a"))
	await(t, f, "a runs", func() bool { return f.Running("a") == 1 })
	var queued []*call
	for i := range 3 {
		queued = append(queued, send(t, f, "/api/chat", chat("b")))
		await(t, f, "b waits", func() bool { return f.Waiting("b") == i+1 })
	}
	for range 3 {
		status, body := post(t, f, "/api/chat", chat("b"))
		if status != 503 || body != `{"error":"server busy, please try again.  maximum pending requests exceeded"}` {
			t.Errorf("over the queue: %d %s", status, body)
		}
	}
	overtaker := send(t, f, "/api/chat", chat("a"))
	await(t, f, "the second a waits for its slot", func() bool { return f.Waiting("a") == 1 })
	f.Release()
	if c := busy.wait(t); c.status != 200 {
		t.Errorf("busy: %d", c.status)
	}
	if c := overtaker.wait(t); c.status != 200 {
		t.Errorf("overtaker: %d", c.status)
	}
	for _, c := range queued {
		if c.wait(t).status != 200 {
			t.Errorf("queued: %d %s", c.status, c.body)
		}
	}
	if got := f.Loads("a"); got != 1 {
		t.Errorf("a was loaded %d times: the overtaker came after the eviction", got)
	}
	if got := f.Loads("b"); got != 1 {
		t.Errorf("b was loaded %d times", got)
	}
}

func TestClientLeavingDuringALoadAbortsIt(t *testing.T) {
	f := start(t, FakeConfig{Models: models("a"), LoadBytesPerSecond: 1})
	c := send(t, f, "/api/chat", chat("a"))
	await(t, f, "it waits", func() bool { return f.Waiting("a") == 1 })
	if ps := get(t, f, "/api/ps"); ps != `{"models":[]}` {
		t.Errorf("a model being loaded is listed: %s", ps)
	}
	c.leave()
	await(t, f, "it is gone", func() bool { return f.Waiting("a") == 0 })
	f.mu.Lock()
	left := len(f.runners)
	f.mu.Unlock()
	if left != 0 || f.Loads("a") != 0 {
		t.Errorf("%d runners, %d loads", left, f.Loads("a"))
	}
	await(t, f, "the log knows", func() bool { return seen(f, 0).Done && seen(f, 0).Disconnected })
}

func TestClientLeavingWhileStreamingFreesTheSlot(t *testing.T) {
	f := start(t, FakeConfig{Models: []FakeModel{{Name: "a", Tokens: -1}}, DecodeRate: 500})
	c := send(t, f, "/api/chat", chat("a"))
	await(t, f, "tokens come", func() bool { return seen(f, 0).Tokens > 3 })
	c.leave()
	await(t, f, "the slot is free", func() bool { return f.Running("a") == 0 })
	await(t, f, "the log knows", func() bool { return seen(f, 0).Disconnected })
}

func TestModelsOutgrowingTheMemoryEvictOrFail(t *testing.T) {
	big := FakeModel{Name: "big", Size: 8 << 30, KVBytesPerToken: 1}
	f := start(t, FakeConfig{MemoryBytes: 10 << 30, Models: []FakeModel{
		{Name: "a", Size: 6 << 30, KVBytesPerToken: 1}, {Name: "b", Size: 3 << 30, KVBytesPerToken: 1}, big,
		{Name: "huge", Size: 20 << 30, KVBytesPerToken: 1}}})
	post(t, f, "/api/chat", chat("a"))
	post(t, f, "/api/chat", chat("b"))
	if got := f.Loaded(); len(got) != 2 {
		t.Fatalf("loaded %v", got)
	}
	post(t, f, "/api/chat", chat("big"))
	if got := f.Loaded(); !slices.Equal(got, []string{"big:latest"}) {
		t.Errorf("loaded %v", got)
	}
	status, body := post(t, f, "/api/chat", chat("huge"))
	if status != 500 || !strings.Contains(body, "model requires more system memory (20.0 GiB) than is available (10.0 GiB)") {
		t.Errorf("%d %s", status, body)
	}
}

func TestBrokenModelFailsItsLoadWithTheReason(t *testing.T) {
	f := start(t, FakeConfig{Models: []FakeModel{{Name: "a", Broken: "llama runner process has terminated: exit status 2"}, {Name: "b"}}})
	if status, body := post(t, f, "/api/chat", chat("a")); status != 500 || !strings.Contains(body, "has terminated") {
		t.Errorf("%d %s", status, body)
	}
	if status, _ := post(t, f, "/api/chat", chat("b")); status != 200 {
		t.Errorf("the next model: %d", status)
	}
}

func TestUnloadWaitsForTheRunningRequest(t *testing.T) {
	f := start(t, FakeConfig{Models: models("a")})
	f.Inject(Fault{Break: BreakHold, After: 1})
	c := send(t, f, "/api/chat", chat("a"))
	await(t, f, "it runs", func() bool { return f.Running("a") == 1 })
	if _, body := post(t, f, "/api/generate", `{"model":"a","keep_alive":0}`); !strings.Contains(body, `"done_reason":"unload"`) {
		t.Errorf("%s", body)
	}
	if len(f.Loaded()) != 1 {
		t.Error("gone while it runs")
	}
	f.Release()
	if c.wait(t); c.status != 200 || !strings.Contains(c.body, `"done":true`) {
		t.Errorf("%d %s", c.status, c.body)
	}
	await(t, f, "it leaves", func() bool { return len(f.Loaded()) == 0 })
}

func TestKillDropsEverythingAndTheSamePortServesAgain(t *testing.T) {
	f := start(t, FakeConfig{Models: []FakeModel{{Name: "a", Tokens: -1}}, DecodeRate: 500})
	c := send(t, f, "/api/chat", chat("a"))
	await(t, f, "tokens come", func() bool { return seen(f, 0).Tokens > 3 })
	url := f.URL()
	f.Kill()
	if c.wait(t); c.err == nil {
		t.Errorf("the stream ended cleanly: %q", c.body)
	}
	if got := f.Loaded(); got != nil {
		t.Errorf("still loaded: %v", got)
	}
	if err := f.Start(); err != nil {
		t.Fatal(err)
	}
	if f.URL() != url {
		t.Errorf("now at %s, was at %s", f.URL(), url)
	}
	if got := get(t, f, "/api/ps"); got != `{"models":[]}` {
		t.Errorf("%s", got)
	}
}

func TestPacedAnswersTakeTheirTime(t *testing.T) {
	f := start(t, FakeConfig{Models: []FakeModel{{Name: "a", Tokens: 10}}, DecodeRate: 200})
	resp, err := http.Post(f.URL()+"/api/chat", "", strings.NewReader(chat("a")))
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	began := time.Now()
	lines := 0
	for scan := bufio.NewScanner(resp.Body); scan.Scan(); lines++ {
	}
	if took := time.Since(began); took < 40*time.Millisecond { // 12 pieces at 5 ms, the first before the headers
		t.Errorf("%d lines in %v", lines, took)
	}
}
