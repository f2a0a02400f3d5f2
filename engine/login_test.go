package engine

import (
	"context"
	"net/http"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"bellwether/engine/admin"
	"bellwether/platform/desktop"
)

// T-01: off until its owner says yes, and whatever they decide later stays.
func TestTheSettingIsFollowedWhenItIsSetAndNeverAgain(t *testing.T) {
	known := desktop.LoginStatus{Known: true, Can: true}
	with := func(s desktop.LoginStatus, change func(*desktop.LoginStatus)) desktop.LoginStatus {
		change(&s)
		return s
	}
	on := with(known, func(s *desktop.LoginStatus) { s.On = true })
	moved := with(on, func(s *desktop.LoginStatus) { s.Moved = true })
	gone := with(known, func(s *desktop.LoginStatus) { s.Moved = true })
	other := with(known, func(s *desktop.LoginStatus) { s.Other = true })
	vetoed := with(known, func(s *desktop.LoginStatus) { s.Vetoed = true })
	for _, c := range []struct {
		name    string
		setting string
		memory  string
		status  desktop.LoginStatus
		act     loginAct
		after   string
		asks    bool
	}{
		{"a first start asks and changes nothing", "ask", "", known, loginLeave, "ask", true},
		{"nor does the next", "ask", "ask", known, loginLeave, "ask", true},
		{"one that answered is not asked again", "ask", "ask answered", known, loginLeave, "ask answered", false},
		{"nor after an update", "ask", " answered", known, loginLeave, "ask answered", false},
		{"one who switched it on elsewhere is not asked", "ask", "", on, loginLeave, "ask answered", false},
		{"one who switched it off in the system's settings is not asked", "ask", "", vetoed, loginLeave, "ask", false},
		{"on switches it on", "on", "ask", known, loginEnable, "on answered", false},
		{"on once followed leaves it off, as its owner did", "on", "on answered", known, loginLeave, "on answered", false},
		{"on does not override the system's settings", "on", "ask", vetoed, loginLeave, "on answered", false},
		{"off switches it off", "off", "ask", on, loginDisable, "off answered", false},
		{"off once followed leaves it on, as its owner did", "off", "off answered", on, loginLeave, "off answered", false},
		{"off goes before a move", "off", "on answered", moved, loginDisable, "off answered", false},
		{"a moved program is written anew where it is on", "ask", "ask answered", moved, loginRewrite, "ask answered", false},
		{"one whose program is gone too, though nothing starts it", "ask", "ask answered", gone, loginRewrite, "ask answered", false},
		{"and off takes that away", "off", "on answered", gone, loginDisable, "off answered", false},
		{"and with on too", "on", "on answered", moved, loginRewrite, "on answered", false},
		{"an entry of another Bellwether is left alone", "ask", "", other, loginLeave, "ask", false},
		{"also with off", "off", "ask", other, loginLeave, "off answered", false},
		{"and replaced when this one is wanted", "on", "ask", other, loginEnable, "on answered", false},
		{"on, off and on again counts each time", "on", "off answered", known, loginEnable, "on answered", false},
		{"a system that does not say is left alone", "on", "", desktop.LoginStatus{Can: true}, loginLeave, "", false},
	} {
		act, after := decideLogin(c.setting, parseLoginMemory(c.memory), c.status)
		if act != c.act || after.String() != c.after {
			t.Errorf("%s: act %d, memory %q; want %d, %q", c.name, act, after, c.act, c.after)
		}
		if asks := mayAsk(c.setting, after, c.status); asks != c.asks {
			t.Errorf("%s: asks %v", c.name, asks)
		}
		if again := parseLoginMemory(after.String()); again != after {
			t.Errorf("%s: memory %+v came back as %+v", c.name, after, again)
		}
	}
	if mayAsk("ask", loginMemory{}, desktop.LoginStatus{Known: true}) {
		t.Error("asked although yes would not work")
	}
}

// loginRig is an engine with a login item of its own, in a folder of the test.
func loginRig(t *testing.T, dir, setting, entries, program string) *rig {
	t.Helper()
	if runtime.GOOS != "linux" {
		t.Skip("the entry of this system is not in a folder")
	}
	t.Setenv("XDG_CURRENT_DESKTOP", "XFCE")
	s := spec{config: "start_at_login: " + setting, before: func(e *Engine) {
		e.opts.AskLogin = true
		e.opts.Login = desktop.NewLoginItem(desktop.LoginOptions{Program: program, Config: entries, Args: []string{"app", "--hidden"}})
	}}
	r, err := s.start(dir)
	if err != nil {
		t.Fatal(err)
	}
	return r
}

func (r *rig) login(t *testing.T) (v admin.LoginView) {
	t.Helper()
	if status := r.owner(t, http.MethodGet, "/admin/login-item", nil, &v); status != http.StatusOK {
		t.Fatal(status)
	}
	return v
}

// T-01, T-03, P-33 over a life: asked once, answered, switched off in the
// desktop's own settings, moved, updated.
func TestStartAtLoginOverALife(t *testing.T) {
	dir, entries := t.TempDir(), t.TempDir()
	entry := filepath.Join(entries, "autostart", "bellwether.desktop")
	life := func(setting, program string, do func(r *rig)) {
		t.Helper()
		r := loginRig(t, dir, setting, entries, program)
		do(r)
		if err := r.end(); err != nil {
			t.Fatal(err)
		}
	}
	text := func() string { b, _ := os.ReadFile(entry); return string(b) }

	life("ask", "/bin/sh", func(r *rig) {
		if v := r.login(t); v.On || !v.Ask || !v.Can || v.Entry != entry {
			t.Errorf("at first: %+v, want off and asking", v)
		}
		var v admin.LoginView
		if r.owner(t, http.MethodPost, "/admin/login-item", map[string]bool{"on": true}, &v); !v.On || v.Ask {
			t.Errorf("after yes: %+v", v)
		}
		if !strings.Contains(text(), "Exec=/bin/sh app --hidden\n") {
			t.Errorf("the entry:\n%s", text())
		}
	})
	moved := strings.ReplaceAll(text(), "Exec=/bin/sh", "Exec=/nowhere/bellwether")
	if err := os.WriteFile(entry, []byte(moved), 0o600); err != nil {
		t.Fatal(err)
	}
	life("ask", "/bin/ls", func(r *rig) { // an update put it elsewhere
		r.await(t, "the entry to be written anew", func() bool { return strings.Contains(text(), "Exec=/bin/ls app") })
	})
	life("ask", "/bin/sh", func(r *rig) { // a second installation leaves it to the first
		r.await(t, "the setting to be followed", func() bool { return r.loginMemory().followed == "ask" })
		if v := r.login(t); v.On || v.Ask || !strings.Contains(v.Reason, "/bin/ls") || !strings.Contains(text(), "Exec=/bin/ls app") {
			t.Errorf("seen by a second installation: %+v\n%s", v, text())
		}
	})
	if err := os.WriteFile(entry, []byte(text()+"Hidden=true\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	life("on", "/bin/sh", func(r *rig) { // its user switched it off; on in the file is no answer to that
		r.await(t, "the setting to be followed", func() bool { return r.loginMemory().followed == "on" })
		if v := r.login(t); v.On || v.Ask || !strings.Contains(v.Reason, "switched off") {
			t.Errorf("switched off in the desktop's settings: %+v", v)
		}
		if !strings.Contains(text(), "Hidden=true") {
			t.Errorf("it was overridden:\n%s", text())
		}
		r.owner(t, http.MethodPost, "/admin/login-item", map[string]bool{"on": false}, nil)
	})
	life("on", "/bin/sh", func(r *rig) {
		if v := r.login(t); v.On || v.Ask {
			t.Errorf("switched off here while the file says on: %+v", v)
		}
	})
	life("off", "/bin/sh", func(r *rig) {
		r.await(t, "the setting to be followed", func() bool { return r.loginMemory().followed == "off" })
	})
	life("on", "/bin/sh", func(r *rig) {
		r.await(t, "on to count again", func() bool { return r.login(t).On })
	})
}

func TestTheQuestionCanBeLeft(t *testing.T) {
	r := loginRig(t, t.TempDir(), "ask", t.TempDir(), "/bin/sh")
	defer func() { _ = r.end() }()
	var v admin.LoginView
	if r.owner(t, http.MethodPost, "/admin/login-item", map[string]any{}, &v); v.On || v.Ask || !v.Can {
		t.Errorf("%+v, want off and not asking", v)
	}
}

func TestAPathThatIsGoneTomorrowIsRefusedWithWhatToDo(t *testing.T) {
	r := loginRig(t, t.TempDir(), "ask", t.TempDir(), "") // go test's own program
	defer func() { _ = r.end() }()
	if v := r.login(t); v.Can || v.Ask || v.Reason == "" || v.Remedy == "" {
		t.Errorf("%+v", v)
	}
	var said struct{ Error admin.Refusal }
	if status := r.owner(t, http.MethodPost, "/admin/login-item", map[string]bool{"on": true}, &said); status != http.StatusConflict || said.Error.Code != "login_refused" || said.Error.Remedy == "" {
		t.Errorf("%d %+v", status, said)
	}
}

func TestASettingThatCannotBeFollowedIsTold(t *testing.T) {
	r := loginRig(t, t.TempDir(), "on", t.TempDir(), "") // go test's own program
	defer func() { _ = r.end() }()
	f, there := r.finding("login")
	if !there || f.Severity != isNote || !strings.Contains(f.Text, "gone tomorrow") || f.Remedy == "" || f.Setting != "start_at_login" {
		t.Errorf("%v %+v", there, f)
	}
}

// T-07: an engine that listens on every address is shown by one of this machine.
func TestTheWindowsLinkIsOfThisMachineWhateverListens(t *testing.T) {
	r := newRig(t, spec{listen: "0.0.0.0:0", config: "security: {api_keys: [{name: a, key: 0123456789abcdef}]}"})
	var link admin.EnterLink
	if status := r.owner(t, http.MethodPost, "/admin/enter-link", nil, &link); status != http.StatusOK {
		t.Fatal(status)
	}
	if !strings.HasPrefix(link.URL, "http://localhost:") && !strings.HasPrefix(link.URL, "http://127.0.0.1:") {
		t.Errorf("the link is %s", link.URL)
	}
	req, err := http.NewRequestWithContext(context.Background(), http.MethodGet, link.URL, nil)
	if err != nil {
		t.Fatal(err)
	}
	resp, err := r.client.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	_ = resp.Body.Close()
	if resp.StatusCode != http.StatusOK {
		t.Errorf("the link answers %s", resp.Status)
	}
}
