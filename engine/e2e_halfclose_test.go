package engine

import (
	"bufio"
	"fmt"
	"net"
	"net/http"
	"strings"
	"testing"

	"bellwether/engine/fleet"
	"bellwether/engine/runtime/runtimetest"
)

// A client that closes its sending half counts as gone, but it still reads: an
// empty 200 would tell it that the model had nothing to say.
func TestAClientThatHalfClosesIsToldAndNotSentAnEmptyAnswer(t *testing.T) {
	r := newRig(t, spec{config: quick, fakes: map[string]runtimetest.FakeConfig{"ollama": {Models: []runtimetest.FakeModel{{Name: "chat:1b"}}}}})
	r.inject(runtimetest.Fault{Break: runtimetest.BreakHold})
	conn := r.dial(t)
	defer conn.Close()
	body := chatWire.body("chat:1b", "go", false)
	fmt.Fprintf(conn, "POST /v1/chat/completions HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\nContent-Length: %d\r\n\r\n%s", len(body), body)
	r.holding(t)
	if err := conn.(*net.TCPConn).CloseWrite(); err != nil {
		t.Fatal(err)
	}
	resp, err := http.ReadResponse(bufio.NewReader(conn), nil)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	text := new(strings.Builder)
	if _, err := bufio.NewReader(resp.Body).WriteTo(text); err != nil {
		t.Fatal(err)
	}
	if resp.StatusCode != 499 || !strings.Contains(text.String(), `"code":"client_left"`) {
		t.Errorf("%d %s", resp.StatusCode, text)
	}
	r.await(t, "the record", func() bool { return r.latest(t).Outcome == fleet.OutcomeClientDisconnected })
	r.idle(t)
}
