package admin

import "testing"

func TestIDsThatAppsSeeLeadToTheirRequest(t *testing.T) {
	const id = "0199f3c2aa0b4c5d6e7f8091a2b3c4d5"
	for _, seen := range []string{id, "req_" + id, "chatcmpl-" + id, "cmpl-" + id, "resp_" + id, "msg_" + id, "msg_" + id + "00", "rs_" + id + "1f", "fc_" + id + "100", "call_" + id + "_0", " req_" + id + " "} {
		if got := requestOf(seen); got != id {
			t.Errorf("%q leads to %q", seen, got)
		}
	}
	for seen, want := range map[string]string{"0123": "0123", "req_0123": "0123", "": "", "call_abcdefghijklmnop": "abcdefghijklmnop"} {
		if got := requestOf(seen); got != want {
			t.Errorf("%q leads to %q, want %q", seen, got, want)
		}
	}
}
