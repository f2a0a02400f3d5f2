package queue

import (
	"context"
	"fmt"
	"testing"
	"time"

	"bellwether/engine/fleet"
	"bellwether/engine/route"
)

// BenchmarkDispatch is one request's whole way through the dispatcher: Submit,
// grant, Used, Released, Completed, over five deployments with the real Decide.
func BenchmarkDispatch(b *testing.B) {
	for _, real := range []bool{true, false} {
		name := "decide"
		if !real {
			name = "without-decide"
		}
		b.Run(name, func(b *testing.B) { benchDispatch(b, real) })
	}
}

func benchDispatch(b *testing.B, real bool) {
	s := &fleet.Snapshot{Version: 1, Settled: true}
	for i := range 5 {
		s.Nodes = append(s.Nodes, *card(fmt.Sprint("node", i), 400))
		s.Nodes[i].Deployments[0].Slots = 8
	}
	p := route.DefaultPolicy()
	c := Config{Policy: func() *route.Policy { return p }, Fleet: func() *fleet.Snapshot { return s }}
	if !real {
		dec := &route.Decision{Verdict: route.Serve, Chosen: s.Nodes[0].Deployments[0].ID, Plan: route.Plan{Slots: 8, PredictedSeconds: 1}}
		c.Decide = func(*route.View, *route.Policy, *route.Query) *route.Decision { return dec }
	}
	d := New(c)
	ctx, stop := context.WithCancel(context.Background())
	ended := make(chan error, 1)
	go func() { ended <- d.Run(ctx) }()
	q := query("r", "m", answering, session("s"))
	b.ReportAllocs()
	for b.Loop() {
		next := *q
		next.Arrived = time.Now()
		t := d.Submit(&next)
		a := <-t.C()
		if a.Grant == nil || !t.Used(*a.Grant) {
			b.Fatal("no grant")
		}
		d.Released(fleet.Released{Grant: a.Grant.ID, Node: a.Grant.Deployment.Node, Deployment: a.Grant.Deployment})
		d.Completed(fleet.Completed{Grant: a.Grant.ID, Request: "r", Deployment: a.Grant.Deployment, Outcome: fleet.OutcomeOK, Validated: true})
	}
	b.StopTimer()
	stop()
	<-ended
}

// BenchmarkBusyLane is a grant from a lane with 1,000 waiting of 20 apps.
func BenchmarkBusyLane(b *testing.B) {
	var o order
	now := time.Now()
	for i := range 1000 {
		t := &Ticket{q: &route.Query{}, seq: uint64(i), arrived: now.Add(time.Duration(i)), decision: &route.Decision{Plan: route.Plan{PredictedSeconds: float64(1 + i%7)}}}
		t.q.Needs.App = fmt.Sprint("app", i%20)
		o.add(t)
	}
	b.ReportAllocs()
	for b.Loop() {
		t := o.next(now)
		o.take(t)
		o.add(t)
	}
}
