package engine

import (
	"archive/zip"
	"bytes"
	"context"
	"encoding/json"
	"io"
	"net/http"
	"net/http/cookiejar"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/fstest"
	"time"

	"bellwether/engine/admin"
	"bellwether/engine/fleet"
	"bellwether/engine/route"
	"bellwether/engine/runtime/runtimetest"
	"bellwether/engine/socket"
)

// owner sends a command with the owner's token.
func (r *rig) owner(t testing.TB, method, path string, in, out any) int {
	t.Helper()
	body := ""
	if in != nil {
		b, err := json.Marshal(in)
		if err != nil {
			t.Fatal(err)
		}
		body = string(b)
	}
	a := ask(t, r.client, method, r.base+path, body, "X-Fleet-Admin", r.token)
	if out != nil {
		if err := json.Unmarshal(a.Body, out); err != nil {
			t.Fatalf("%s %s: %d %s", method, path, a.Status, a.Body)
		}
	}
	return a.Status
}

func TestABrowserIsUnlockedByALinkAndByNothingElse(t *testing.T) {
	r := newRig(t, spec{config: quick, fakes: map[string]runtimetest.FakeConfig{"ollama": {Models: []runtimetest.FakeModel{{Name: "chat:1b"}}}}})
	jar, err := cookiejar.New(nil)
	if err != nil {
		t.Fatal(err)
	}
	browser := &http.Client{Jar: jar, CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }}
	defer browser.CloseIdleConnections()
	base := r.Address() // http://localhost:PORT

	if a := ask(t, browser, "GET", base+"/", "", "Accept", "text/html,*/*"); a.Status != http.StatusFound || a.Header.Get("Location") != "/ui/" {
		t.Errorf("a browser at /: %d to %q", a.Status, a.Header.Get("Location"))
	}
	if a := ask(t, browser, "GET", base+"/", "", "Accept", "*/*"); string(a.Body) != "Ollama is running" {
		t.Errorf("an Ollama client at /: %s", a.Body)
	}
	if a := ask(t, browser, "GET", base+"/ui/", ""); a.Status != 200 || !strings.Contains(string(a.Body), "go run ./build ui") {
		t.Errorf("/ui/ without a UI: %d %s", a.Status, a.Body)
	}
	pause := func(header ...string) int {
		return ask(t, browser, "POST", base+"/admin/pause", `{"reason":"ui"}`, header...).Status
	}
	if s := pause("Origin", base); s != http.StatusForbidden {
		t.Errorf("locked: %d", s)
	}
	var link admin.EnterLink
	if s := r.owner(t, "POST", "/admin/enter-link", nil, &link); s != 200 || !strings.HasPrefix(link.URL, base+"/admin/enter?t=") {
		t.Fatalf("%d %+v", s, link)
	}
	if a := ask(t, browser, "GET", link.URL, ""); a.Status != 200 {
		t.Fatalf("enter: %d %s", a.Status, a.Body)
	}
	if s := ask(t, browser, "GET", base+"/admin/session", "").ok(t).at("unlocked"); s != true {
		t.Error("not unlocked")
	}
	for name, header := range map[string][]string{
		"no origin": nil, "another port": {"Origin", "http://127.0.0.1:1"}, "another site": {"Origin", "https://evil.example"}, "a listed app": {"Origin", "app://obsidian.md"},
	} {
		if s := pause(header...); s != http.StatusForbidden {
			t.Errorf("%s: %d", name, s)
		}
	}
	if s := pause("Origin", base, "Host", "evil.example"); s != http.StatusForbidden {
		t.Errorf("a rebound name: %d", s)
	}
	if r.agent.Heartbeat().State.Paused {
		t.Fatal("one of them paused the machine")
	}
	if s := pause("Origin", base); s != 200 || !r.agent.Heartbeat().State.Paused {
		t.Errorf("unlocked: %d", s)
	}
	if strings.Contains(r.logs.String(), link.URL[strings.Index(link.URL, "t=")+2:]) {
		t.Error("the link was logged")
	}
}

func TestABuiltUIIsServed(t *testing.T) {
	dir := t.TempDir()
	s := spec{config: quick, fakes: map[string]runtimetest.FakeConfig{"ollama": {Models: []runtimetest.FakeModel{{Name: "chat:1b"}}}}, ui: fstest.MapFS{"index.html": {Data: []byte("<title>ours</title><body></body>")}}}
	r, err := s.start(dir)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = r.end() }()
	a := r.get(t, "/ui/")
	if a.Status != 200 || !strings.HasPrefix(string(a.Body), "<title>ours</title><body>") || !strings.Contains(a.Header.Get("Content-Security-Policy"), "default-src 'self'") {
		t.Errorf("%d %s %v", a.Status, a.Body, a.Header)
	}
	if !strings.Contains(string(a.Body), `<script type="application/json" id="state">{"type":"hello",`) || !strings.Contains(string(a.Body), "chat:1b") {
		t.Errorf("the state of the moment does not come with the page: %s", a.Body)
	}
	for _, no := range [][]string{{"Host", "evil.example"}, {"Origin", "https://evil.example"}, {"X-Forwarded-For", "192.0.2.1"}} {
		if a := ask(t, r.client, "GET", r.base+"/ui/", "", no...); a.Status < 400 || strings.Contains(string(a.Body), "chat:1b") {
			t.Errorf("%v gets %d %s", no, a.Status, a.Body)
		}
	}
}

// feedOf follows the feed until cond holds of its state.
func (r *rig) feedOf(t testing.TB, what string, cond func(state map[string]map[string]tree, rows map[string]tree) bool) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	c, err := socket.Dial(ctx, "ws"+strings.TrimPrefix(r.base, "http")+"/admin/ws", http.Header{"Origin": {r.base}}, socket.Options{ReadLimit: 64 << 20})
	if err != nil {
		t.Fatal(err)
	}
	state, rows, met := map[string]map[string]tree{}, map[string]tree{}, false
	_ = c.Serve(ctx, func(text []byte) error {
		f := parse(t, text)
		take := func(v any, del bool) {
			sections, _ := v.(map[string]any)
			for name, values := range sections {
				if state[name] == nil {
					state[name] = map[string]tree{}
				}
				if list, ok := values.([]any); ok && del {
					for _, k := range list {
						delete(state[name], k.(string))
					}
				}
				if of, ok := values.(map[string]any); ok {
					for k, v := range of {
						state[name][k] = tree{v}
					}
				}
			}
		}
		take(f.at("state"), false)
		take(f.at("set"), false)
		take(f.at("del"), true)
		for _, at := range []string{"state.rows", "rows"} {
			list, _ := f.at(at).([]any)
			for _, v := range list {
				rows[tree{v}.str("request_id")] = tree{v}
			}
		}
		if !met && cond(state, rows) {
			met = true
			c.Cut(socket.Normal, "seen", nil)
		}
		return nil
	})
	if !met {
		t.Fatalf("the feed never told %s", what)
	}
}

func TestTheFeedTellsWhatHappens(t *testing.T) {
	r := newRig(t, spec{config: quick, fakes: map[string]runtimetest.FakeConfig{"ollama": {Models: []runtimetest.FakeModel{{Name: "chat:1b", Capabilities: []string{"completion"}}}}}})
	id := fleet.DeploymentID{Node: r.nodeID, Runtime: "ollama", Model: "chat:1b"}.String()
	asked := ""
	r.feedOf(t, "the request, from queue to end", func(s map[string]map[string]tree, rows map[string]tree) bool {
		if asked == "" {
			asked = r.post(t, "/v1/chat/completions", `{"model":"chat:1b","messages":[{"role":"user","content":"`+secretPrompt+`"}]}`, "X-Fleet-App", "editor").Header.Get("X-Fleet-Request-Id")
		}
		return rows[asked].str("outcome") == "ok" && rows[asked].str("deployment") == id && s["deployments"][id].str("residency") == "loaded" &&
			s["apps"]["editor"].num("requests") == 1 && s["findings"]["private"].str("severity") == "ok" && s["meta"]["engine"].str("settings_revision") != ""
	})
	done := make(chan struct{})
	go func() { defer close(done); r.agent.Pause("a build", time.Time{}) }()
	r.feedOf(t, "the pause", func(s map[string]map[string]tree, _ map[string]tree) bool {
		return s["nodes"][r.nodeID].str("state") == "paused" && s["findings"]["pause"].str("cure.label") == "Resume"
	})
	<-done
	if code := r.owner(t, "POST", "/admin/findings/pause/cure", nil, nil); code != 200 || r.agent.Heartbeat().State.Paused {
		t.Errorf("the cure: %d", code)
	}
	if code := r.owner(t, "POST", "/admin/findings/pause/cure", nil, nil); code != 404 {
		t.Errorf("a cure for what has passed: %d", code)
	}
	if code := r.owner(t, "POST", "/admin/models/pull", map[string]any{"model": "new:1b", "background": true}, nil); code != http.StatusAccepted {
		t.Errorf("pull: %d", code)
	}
	r.feedOf(t, "the pull, and what it brought", func(s map[string]map[string]tree, _ map[string]tree) bool {
		for _, j := range s["jobs"] {
			if j.str("model") == "new:1b" && j.str("state") == "done" {
				return s["deployments"][strings.Replace(id, "chat", "new", 1)].v != nil
			}
		}
		return false
	})
}

// Queued, sent to and running on are different things, and each is told with
// its machine.
func TestARequestRunsOnlyOnceItsMachineAnswers(t *testing.T) {
	r := newRig(t, spec{config: quick, more: ", parallel: 1", fakes: map[string]runtimetest.FakeConfig{"ollama": {Models: []runtimetest.FakeModel{{Name: "chat:1b"}}}}})
	f := r.fakes["ollama"]
	body := `{"model":"chat:1b","stream":true,"messages":[{"role":"user","content":"hi"}]}`
	if a := r.post(t, "/v1/chat/completions", body); a.Status != 200 { // loads the model
		t.Fatalf("%d %s", a.Status, a.Body)
	}
	f.Inject(runtimetest.Fault{Break: runtimetest.BreakHold, Times: 1}) // before its content
	ended := make(chan int, 2)
	request := func(app string) {
		go func() {
			resp, err := send(t.Context(), r.client, http.MethodPost, r.base+"/v1/chat/completions", body, "X-Fleet-App", app)
			if err != nil {
				ended <- 0
				return
			}
			_, _ = io.Copy(io.Discard, resp.Body)
			_ = resp.Body.Close()
			ended <- resp.StatusCode
		}()
	}
	of := func(rows map[string]tree, app string) tree {
		for _, row := range rows {
			if row.str("app") == app {
				return row
			}
		}
		return tree{}
	}
	id := map[string]string{}
	decided := func(app, outcome string) { // as whoever opens its record sees it
		t.Helper()
		rec := route.Record{}
		if code := r.owner(t, "GET", "/admin/decisions/"+id[app], nil, &rec); code != 200 || string(rec.Outcome) != outcome || len(rec.Candidates) != 1 ||
			rec.Requirements.Tokens.Input == 0 || len(rec.Reasons) == 0 || rec.Node != "studio" || rec.App != app {
			t.Errorf("%s: %d, outcome %q of %q, candidates %v, needs %+v, reasons %v", app, code, rec.Outcome, outcome, rec.Candidates, rec.Requirements, rec.Reasons)
		}
	}
	request("first")
	r.feedOf(t, "that it was sent", func(_ map[string]map[string]tree, rows map[string]tree) bool {
		row := of(rows, "first")
		id["first"] = row.str("request_id")
		return row.str("stage") == "sent" && row.str("node_name") == "studio" && row.num("ttft_ms") == 0
	})
	decided("first", "")
	request("second") // the only slot is taken
	r.feedOf(t, "that the other one is queued", func(_ map[string]map[string]tree, rows map[string]tree) bool {
		id["second"] = of(rows, "second").str("request_id")
		return of(rows, "second").str("stage") == "queued" && of(rows, "first").str("stage") == "sent"
	})
	decided("second", "")
	f.Inject(runtimetest.Fault{Break: runtimetest.BreakHold, After: 3, Times: 1}) // the next one, in mid-answer
	f.Release()
	r.feedOf(t, "that the other one runs", func(_ map[string]map[string]tree, rows map[string]tree) bool {
		row := of(rows, "second")
		return row.str("stage") == "running" && row.str("outcome") == "" && row.num("ttft_ms") > 0 && row.str("node_name") == "studio" &&
			of(rows, "first").str("outcome") == "ok"
	})
	f.Release()
	r.feedOf(t, "its end", func(_ map[string]map[string]tree, rows map[string]tree) bool {
		row := of(rows, "second")
		return row.str("stage") == "" && row.str("outcome") == "ok"
	})
	decided("first", "ok")
	decided("second", "ok")
	for range 2 {
		if status := <-ended; status != 200 {
			t.Errorf("answer %d", status)
		}
	}
}

func TestAPullCanBeCancelled(t *testing.T) {
	r := newRig(t, spec{config: quick, fakes: map[string]runtimetest.FakeConfig{"ollama": {Models: []runtimetest.FakeModel{{Name: "chat:1b"}}, PullBytesPerSecond: 1000, Registry: []runtimetest.FakeModel{{Name: "huge:70b", Size: 40e9}}}}})
	var job admin.JobView
	if code := r.owner(t, "POST", "/admin/models/pull", map[string]any{"model": "huge:70b", "background": true}, &job); code != http.StatusAccepted || !job.Cancellable {
		t.Fatalf("%d %+v", code, job)
	}
	r.await(t, "progress", func() bool { j := r.jobs()[0]; return j.TotalBytes != nil && *j.TotalBytes > 0 })
	if code := r.owner(t, "POST", "/admin/jobs/"+job.ID+"/cancel", nil, nil); code != 200 {
		t.Errorf("cancel: %d", code)
	}
	r.await(t, "its end", func() bool { j := r.jobs()[0]; return j.State == "cancelled" && !j.Cancellable })
}

func TestSettingsAreChangedFromTheUI(t *testing.T) {
	r := newRig(t, spec{config: quick, fakes: map[string]runtimetest.FakeConfig{"ollama": {Models: []runtimetest.FakeModel{{Name: "chat:1b"}}}}})
	var s admin.SettingsAnswer
	r.owner(t, "GET", "/admin/settings", nil, &s)
	by := map[string]admin.SettingView{}
	for _, v := range s.Settings {
		by[v.Key] = v
		if v.Kind == "" || v.Doc == "" || v.Allowed == "" || v.Choices == nil || v.Env == nil {
			t.Errorf("setting %+v", v)
		}
	}
	if len(by) != len(settings) || s.File != "config.yaml" || s.Error != "" || by["log_level"].Kind != "choice" || len(by["log_level"].Choices) != 4 || !by["security.api_keys"].Secret || !by["listen"].Restart {
		t.Errorf("%d settings, file %q; log_level %+v", len(by), s.File, by["log_level"])
	}
	change := func(revision string, dry bool, pairs ...string) (admin.SettingsPreview, int) {
		t.Helper()
		var p admin.SettingsPreview
		code := r.owner(t, "POST", "/admin/settings", admin.SettingsChange{Revision: revision, Changes: changing(pairs...), DryRun: dry}, &p)
		return p, code
	}
	file := r.conf().file
	before, _ := os.ReadFile(file)
	p, code := change(s.Revision, true, "routing.max_retries", "0", "listen", "localhost:11999", "aliases", `{"work":{"models":["chat:1b"]}}`)
	if after, _ := os.ReadFile(file); code != 200 || p.Saved || !bytes.Equal(before, after) || len(p.Changed) != 3 || len(p.Restart) != 1 || p.Restart[0] != "listen" {
		t.Errorf("preview: %d %+v", code, p)
	}
	if _, code = change("0123456789abcdef", false, "routing.max_retries", "0"); code != http.StatusConflict {
		t.Errorf("an old revision: %d", code)
	}
	p, code = change(s.Revision, false, "routing.max_retries", "0", "aliases", `{"work":{"models":["chat:1b"]}}`)
	if code != 200 || !p.Saved || p.Revision == s.Revision || r.policy.Load().MaxRetries != 0 {
		t.Fatalf("change: %d %+v", code, p)
	}
	if a := r.post(t, "/v1/chat/completions", `{"model":"work","messages":[{"role":"user","content":"hi"}]}`); a.Status != 200 {
		t.Errorf("the alias is not in force: %d %s", a.Status, a.Body)
	}
	if _, code = change(s.Revision, false, "routing.max_retries", "1"); code != http.StatusConflict {
		t.Errorf("the revision before: %d", code)
	}
	revision := p.Revision
	var wrong admin.SettingsError
	code = r.owner(t, "POST", "/admin/settings", admin.SettingsChange{Revision: revision, Changes: changing("log_level", "loud", "routing.hold.interval", "1h", "routing.nonsense", "1")}, &wrong)
	if code != 400 || wrong.Err.Code != "settings_wrong" || wrong.Keys["log_level"] == "" || wrong.Keys["routing.nonsense"] == "" {
		t.Errorf("wrong ones: %d %+v", code, wrong)
	}
	code = r.owner(t, "POST", "/admin/settings", admin.SettingsChange{Revision: revision, Changes: changing("aliases", `{"a":{"models":["b"]},"b":{"models":["a"]}}`)}, &wrong)
	if code != 400 || !strings.Contains(wrong.Keys["aliases"], "its own member") {
		t.Errorf("settings against each other: %d %+v", code, wrong)
	}
	p, code = change(revision, false, "security.api_keys", `[{"name":"phone","key":"`+secretKey+`"}]`)
	if code != 200 || len(r.conf().Security.APIKeys) != 1 {
		t.Fatalf("a key: %d %+v", code, p)
	}
	r.owner(t, "GET", "/admin/settings", nil, &s)
	if text, _ := json.Marshal(s); strings.Contains(string(text), secretKey) || !strings.Contains(string(text), hidden) {
		t.Error("the key is shown, or not even that there is one")
	}
	p, code = change(p.Revision, false, "security.api_keys", `[{"name":"phone","key":"(hidden)","rights":["manage"]}]`)
	if keys := r.conf().Security.APIKeys; code != 200 || !keys[0].Matches(secretKey) || !keys[0].May(RightManage) {
		t.Errorf("a right for a hidden key: %d %+v", code, p)
	}
	if _, code = change(p.Revision, false, "aliases", "-", "routing.max_retries", "-", "security.api_keys", "-"); code != 200 || r.policy.Load().MaxRetries != Default().Routing.MaxRetries {
		t.Errorf("back to the defaults: %d", code)
	}
}

func TestASettingThatAVariableFixesIsNotChanged(t *testing.T) {
	c := mustLoad(t, "log_level: info\n", "FLEET_LOG_LEVEL=debug")
	d := settingsDesk{e: &Engine{}}
	d.e.reading.Store(&reading{config: c})
	for _, s := range d.Settings().Settings {
		if fixed := strings.Contains(s.Fixed, "FLEET_LOG_LEVEL"); fixed != (s.Key == "log_level") {
			t.Errorf("%s is fixed: %q", s.Key, s.Fixed)
		}
	}
	_, err := d.change(t.Context(), c, admin.SettingsChange{Revision: c.revision, Changes: changing("log_level", "warn")})
	if err == nil || !strings.Contains(err.(*admin.SettingsError).Keys["log_level"], "FLEET_LOG_LEVEL") {
		t.Errorf("got %v", err)
	}
}

// P-42: what goes out of the house must not hold what is said in it.
func TestABundleHoldsNoSecretsPromptsOrPlaces(t *testing.T) {
	home, err := os.UserHomeDir()
	if err != nil {
		t.Skip("this machine has no home folder")
	}
	r := newRig(t, spec{config: quick + "node: {name: heronhouse}\n", more: ", api_key: " + secretKey, fakes: map[string]runtimetest.FakeConfig{"ollama": {Models: []runtimetest.FakeModel{{Name: "chat:1b"}}}}})
	r.post(t, "/v1/chat/completions", `{"model":"chat:1b","messages":[{"role":"user","content":"`+secretPrompt+`"}]}`)
	r.post(t, "/v1/chat/completions", `{"model":"none:1b","messages":[{"role":"user","content":"`+secretPrompt+`"}]}`)
	r.log.Warn("something failed", "path", filepath.Join(home, "private", "plan.txt"), "url", "http://ann:egret-word@10.0.0.1/", "other", `C:\Users\ann\x`, "data", r.opts.Folders.Data)
	var link admin.EnterLink
	r.owner(t, "POST", "/admin/enter-link", nil, &link)
	host, _ := os.Hostname()
	files := func(path string) map[string]string {
		t.Helper()
		a := ask(t, r.client, "GET", r.base+path, "", "X-Fleet-Admin", r.token)
		if a.Status != 200 {
			t.Fatalf("%d", a.Status)
		}
		return filesOf(t, a.Body)
	}
	all := files("/admin/bundle")
	for _, name := range []string{"README.txt", "status.json", "health.json", "settings.json", "jobs.json", "queue.json", "fleet.scenario", "log.txt", "versions.json"} {
		if all[name] == "" {
			t.Errorf("%s is missing or empty", name)
		}
	}
	for name, text := range all {
		if name == "README.txt" {
			continue
		}
		for _, never := range []string{secretPrompt, secretKey, "egret-word", r.token, link.URL, r.opts.Folders.Data, "heronhouse", `Users\ann`, "ann:"} {
			if i := strings.Index(text, never); i >= 0 {
				t.Errorf("%s holds %q: ...%s...", name, never, text[max(0, i-80):min(len(text), i+80)])
			}
		}
		if len(home) > 2 && strings.Contains(text, home+"/") {
			t.Errorf("%s names the home folder", name)
		}
		if len(host) >= 4 && strings.Contains(text, host) {
			t.Errorf("%s names the host", name)
		}
	}
	if !strings.Contains(all["log.txt"], "something failed") || !strings.Contains(all["log.txt"], "~") || !strings.Contains(all["status.json"], "machine-1") {
		t.Errorf("log:\n%s", all["log.txt"])
	}
	if named := files("/admin/bundle?names=yes"); !strings.Contains(named["status.json"], "heronhouse") || strings.Contains(named["settings.json"], secretKey) {
		t.Error("the names were asked for")
	}
}

func TestABundleHoldsNoWordsOfAnOwner(t *testing.T) {
	r := newRig(t, spec{config: quick, fakes: map[string]runtimetest.FakeConfig{"ollama": {Models: []runtimetest.FakeModel{{Name: "chat:1b"}}}}})
	for _, reason := range []string{"Hildegard is ill, call 0151 \"555\" <now>", "ill"} {
		r.agent.Pause(reason, time.Now().Add(time.Hour))
		r.await(t, "the pause to be known", func() bool { return r.registry.Snapshot().Nodes[0].State.PauseReason == reason })
		all := bundleOf(t, r)
		for name, text := range all {
			for _, never := range []string{"Hildegard", "0151", `"ill`, "(ill)", "pause_reason ill"} {
				if i := strings.Index(text, never); i >= 0 {
					t.Errorf("%q: %s holds %q: ...%s...", reason, name, never, text[max(0, i-80):min(len(text), i+80)])
				}
			}
		}
		if _, err := route.ReadScenario(all["fleet.scenario"]); err != nil {
			t.Errorf("%q: the scenario cannot be read any more: %v", reason, err)
		}
		if !json.Valid([]byte(all["status.json"])) || !strings.Contains(all["status.json"], hidden) {
			t.Errorf("%q: %s", reason, all["status.json"])
		}
	}
}

// bundleOf is a bundle's files by their names.
func bundleOf(t *testing.T, r *rig) map[string]string {
	t.Helper()
	text, err := uiDesk{r.Engine}.Bundle(t.Context(), false)
	if err != nil {
		t.Fatal(err)
	}
	return filesOf(t, text)
}

// filesOf unpacks an archive.
func filesOf(t *testing.T, archive []byte) map[string]string {
	t.Helper()
	z, err := zip.NewReader(bytes.NewReader(archive), int64(len(archive)))
	if err != nil {
		t.Fatal(err)
	}
	out := map[string]string{}
	for _, f := range z.File {
		in, err := f.Open()
		if err != nil {
			t.Fatal(err)
		}
		text, err := io.ReadAll(in)
		if err != nil {
			t.Fatal(err)
		}
		out[f.Name] = string(text)
	}
	return out
}

func TestTestTrafficGoesThroughEveryProtocol(t *testing.T) {
	r := newRig(t, spec{config: strings.Replace(quick, "settle: 0", "settle: 0, hold: {max: 500ms, interval: 500ms}", 1), fakes: map[string]runtimetest.FakeConfig{
		"ollama": {Models: []runtimetest.FakeModel{{Name: "chat:1b"}, {Name: "embed:1b", Capabilities: []string{"embedding"}}}},
		"lms":    {Kind: runtimetest.LlamaServer, Models: []runtimetest.FakeModel{{Name: "other.gguf"}}}}})
	run := func() (lines []admin.TrafficLine) {
		a := ask(t, r.client, "POST", r.base+"/admin/test-traffic", "", "X-Fleet-Admin", r.token)
		in := json.NewDecoder(bytes.NewReader(a.Body))
		for in.More() {
			var l admin.TrafficLine
			if err := in.Decode(&l); err != nil {
				t.Fatalf("%v in %s", err, a.Body)
			}
			lines = append(lines, l)
		}
		return lines
	}
	lines := run()
	last := lines[len(lines)-1]
	if lines[0].Kind != "plan" || lines[0].Requests != len(lines)-2 || last.Kind != "done" || last.Passed != lines[0].Requests || last.Failed != 0 {
		t.Fatalf("%+v", lines)
	}
	for _, l := range lines[1 : len(lines)-1] {
		if !l.OK || l.Status != 200 || l.RequestID == "" || l.TotalMs == nil || l.TTFTMs == nil {
			t.Errorf("%+v", l)
		}
	}
	must(t, r.agent.Pause("", time.Time{})) // the first refusal is that of all
	lines = run()
	if last := lines[len(lines)-1]; len(lines) != 3 || last.Failed != 1 || last.Error != "Not all were sent: studio is paused." || !strings.Contains(last.Remedy, "Resume it with") {
		t.Errorf("of a paused machine: %+v", lines)
	}
	must(t, r.agent.Resume())
	r.inject(runtimetest.Fault{Status: 500})
	lines = run()
	if last := lines[len(lines)-1]; last.Failed == 0 {
		t.Fatalf("%+v", lines)
	}
	for _, l := range lines[1 : len(lines)-1] {
		if !l.OK && (l.Error == "" || l.Remedy == "") {
			t.Errorf("%+v", l)
		}
	}
}

func TestAPlanSaysWhatALoadWouldTake(t *testing.T) {
	r := newRig(t, spec{config: strings.Replace(quick, "thinking", "context_protection: strip, thinking", 1), fakes: map[string]runtimetest.FakeConfig{
		"ollama": {KeepAlive: -1, Models: []runtimetest.FakeModel{{Name: "a:1b", Size: 30 << 30}, {Name: "b:1b", Size: 40 << 30}, {Name: "c:1b", Size: 90 << 30}, {Name: "d:1b", Size: 1 << 30}}}}})
	if err := r.agent.Load(t.Context(), "ollama", "a:1b"); err != nil {
		t.Fatal(err)
	}
	if err := r.agent.Refresh(t.Context()); err != nil {
		t.Fatal(err)
	}
	pool := r.agent.Heartbeat().Pools[0].Name
	for model, want := range map[string]string{"a:1b": "loaded", "b:1b": "evict", "c:1b": "never", "d:1b": "fits"} {
		var p admin.EvictionPlan
		code := r.owner(t, "GET", "/admin/pools/studio/"+pool+"/plan?model="+model, nil, &p)
		if code != 200 || p.Verdict != want || p.Text == "" || p.NeedBytes == nil || *p.NeedBytes <= 0 {
			t.Errorf("%s: %d %+v, want %s", model, code, p, want)
		}
		if want == "evict" && (len(p.Evict) != 1 || !strings.HasSuffix(p.Evict[0].Deployment, "/a:1b") || p.Evict[0].Bytes == nil) {
			t.Errorf("%s evicts %+v", model, p.Evict)
		}
	}
	for _, path := range []string{"/admin/pools/studio/" + pool + "/plan?model=none", "/admin/pools/studio/none/plan?model=a:1b", "/admin/pools/none/" + pool + "/plan?model=a:1b"} {
		if code := r.owner(t, "GET", path, nil, nil); code != 404 {
			t.Errorf("%s: %d", path, code)
		}
	}
	if len(r.fakes["ollama"].Loaded()) != 1 {
		t.Error("a plan loaded something")
	}
}

func TestTheLogIsReadAndKeptInAFile(t *testing.T) {
	r := newRig(t, spec{config: quick, fakes: map[string]runtimetest.FakeConfig{"ollama": {Models: []runtimetest.FakeModel{{Name: "chat:1b"}}}}})
	var l admin.LogAnswer
	if code := r.owner(t, "GET", "/admin/log", nil, &l); code != 200 || len(l.Lines) == 0 || l.Next == 0 {
		t.Fatalf("%d %+v", code, l)
	}
	if l.File != LogPath(r.opts.Folders) {
		t.Errorf("the log is said to be in %q", l.File)
	}
	r.await(t, "the log to be in its file", func() bool { // an engine answers before it says that it serves
		text, err := os.ReadFile(l.File)
		return err == nil && strings.Contains(string(text), "msg=serving")
	})
	if a := r.get(t, "/admin/log"); a.Status != http.StatusForbidden {
		t.Errorf("without the token: %d", a.Status)
	}
}
