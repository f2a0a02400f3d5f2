package runtimetest

import (
	"net/http"
	"testing"

	"go.uber.org/goleak"
)

func TestCloseLeavesNoGoroutine(t *testing.T) {
	http.DefaultClient.CloseIdleConnections()
	before := goleak.IgnoreCurrent()
	for _, c := range []FakeConfig{
		{Models: []FakeModel{{Name: "a", Tokens: -1}, {Name: "b"}}, DecodeRate: 200},
		{Kind: LlamaServer, Models: []FakeModel{{Name: "a", Tokens: -1}}, DecodeRate: 200},
	} {
		f, err := NewFake(c)
		if err != nil {
			t.Fatal(err)
		}
		if err := f.Start(); err != nil {
			t.Fatal(err)
		}
		f.Inject(Fault{Model: "b", LoadDelay: 1 << 40})
		var calls []*call
		for i, model := range []string{"a", "a", "b"} { // one streams, one waits for its slot, one for its load
			calls = append(calls, send(t, f, "/v1/chat/completions", `{"model":"`+model+`","stream":true,`+hi+`}`))
			await(t, f, "one runs and the others wait", func() bool {
				return f.Running("a") == 1 && f.Waiting("a")+f.Waiting("b") == i
			})
		}
		f.Close()
		for _, c := range calls {
			c.wait(t)
		}
		if f.Running("a") != 0 || f.Waiting("a")+f.Waiting("b") != 0 {
			t.Errorf("%d run, %d wait after Close", f.Running("a"), f.Waiting("a")+f.Waiting("b"))
		}
	}
	http.DefaultClient.CloseIdleConnections()
	goleak.VerifyNone(t, before)
}
