package admin

import (
	"context"
	"errors"
	"log/slog"
	"net/http"
	"strings"
	"testing"
)

// machine is a Host that notes what is asked of it.
type machine struct {
	opened []string
	no     error
	login  LoginView
	left   bool
}

func (m *machine) OpenURL(address string) error {
	m.opened = append(m.opened, address)
	return m.no
}
func (m *machine) Login(context.Context) LoginView { return m.login }
func (m *machine) SetLogin(_ context.Context, on bool) error {
	if m.no == nil {
		m.login.On = on
	}
	return m.no
}
func (m *machine) LeaveLogin() { m.left = true }

func hostAPI(m *machine) http.Handler {
	return New(Config{Token: "secret", Host: m, Log: slog.New(slog.DiscardHandler)})
}

func TestOnlyTheOwnersPagesOpenTheBrowserAndOnlyOnTheWeb(t *testing.T) {
	m := &machine{}
	api := hostAPI(m)
	for _, c := range []struct {
		token, body string
		status      int
	}{
		{"", `{"url":"https://example.com/"}`, 403},
		{"wrong", `{"url":"https://example.com/"}`, 403},
		{"secret", `{"url":"https://ollama.com/library?q=a&b=c#d"}`, 200},
		{"secret", `{"url":"http://localhost:11435/ui/"}`, 200},
		{"secret", `{"url":"file:///etc/passwd"}`, 400},
		{"secret", `{"url":"javascript:alert(1)"}`, 400},
		{"secret", `{"url":"https:///nowhere"}`, 400},
		{"secret", `{"url":"https://user:pass@example.com/"}`, 400},
		{"secret", `{"url":"--help"}`, 400},
		{"secret", `{}`, 400},
	} {
		if w := do(api, "POST", "/admin/open-url", c.token, c.body); w.Code != c.status {
			t.Errorf("%s with token %q: %d %s", c.body, c.token, w.Code, w.Body)
		}
	}
	if got := strings.Join(m.opened, " "); got != "https://ollama.com/library?q=a&b=c#d http://localhost:11435/ui/" {
		t.Errorf("opened %s", got)
	}
	m.no = errors.New("none here")
	if w := do(api, "POST", "/admin/open-url", "secret", `{"url":"https://example.com/"}`); w.Code != 501 || !strings.Contains(w.Body.String(), "Open it yourself: https://example.com/") {
		t.Errorf("without a browser: %d %s", w.Code, w.Body)
	}
}

func TestStartAtLoginIsReadByAllAndChangedByTheOwner(t *testing.T) {
	m := &machine{login: LoginView{Known: true, Can: true, Ask: true, Entry: "/x"}}
	api := hostAPI(m)
	for _, c := range []struct {
		method, token, body string
		status              int
		want                string
	}{
		{"GET", "", "", 200, `{"known":true,"on":false,"can":true,"reason":"","remedy":"","entry":"/x","ask":true}`},
		{"POST", "", `{"on":true}`, 403, "admin_token_needed"},
		{"POST", "secret", `{"on":true}`, 200, `"on":true`},
		{"POST", "secret", `{"on":false}`, 200, `"on":false`},
		{"POST", "secret", `{}`, 200, `"on":false`},
		{"POST", "secret", `{"on":"yes"}`, 400, "invalid_request"},
	} {
		if w := do(api, c.method, "/admin/login-item", c.token, c.body); w.Code != c.status || !strings.Contains(w.Body.String(), c.want) {
			t.Errorf("%s %s: %d %s", c.method, c.body, w.Code, w.Body)
		}
	}
	if !m.left {
		t.Error("the question was not left")
	}
}
