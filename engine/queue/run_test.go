package queue

import (
	"context"
	"errors"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"bellwether/engine/fleet"
	"bellwether/engine/route"
)

// start runs a dispatcher over a registry until the test's end.
func start(t *testing.T, reg *fleet.Registry) (*Dispatcher, context.CancelFunc) {
	p := route.DefaultPolicy()
	d := New(Config{Policy: func() *route.Policy { return p }, Fleet: reg.Snapshot, Decide: decideSimply})
	ctx, stop := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	go func() { ended <- d.Run(ctx) }()
	t.Cleanup(func() {
		stop()
		if err := <-ended; err != nil && !errors.Is(err, context.Canceled) {
			t.Error(err)
		}
	})
	return d, stop
}

func registry(nodes ...*fleet.Node) *fleet.Registry {
	reg := fleet.NewRegistry("studio", 15*time.Second, 30*time.Second)
	for _, n := range nodes {
		reg.Report(n.Heartbeat, time.Now())
	}
	return reg
}

func TestRunGrantsHoldsAndTellsTheTime(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		studio := machine("studio", loaded("qwen3", 1))
		reg := registry(studio)
		d, _ := start(t, reg)
		a := d.Submit(query("a", "qwen3"))
		first := <-a.C()
		if first.Grant == nil || first.Queued != 0 {
			t.Fatalf("got %+v", first)
		}
		began := time.Now()
		second := <-a.C() // unused: it comes again after 2 s
		if waited := time.Since(began); waited != fleet.GrantTTL || second.Grant.ID == first.Grant.ID {
			t.Errorf("the second grant came after %v: %+v", waited, second.Grant)
		}
		if a.Used(*first.Grant) || !a.Used(*second.Grant) {
			t.Error("the first grant must not be good any more, the second must be")
		}
		b := d.Submit(query("b", "qwen3"))
		synctest.Wait()
		studio.State.Paused = true
		studio.Sequence++
		reg.Report(studio.Heartbeat, time.Now())
		d.FleetChanged()
		began = time.Now()
		if out := <-b.C(); !out.HeldOut || out.Queued != 30*time.Second || time.Since(began) != 30*time.Second {
			t.Errorf("after %v got %+v", time.Since(began), out)
		}
	})
}

func TestStoppingAnswersWhoWaits(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d, stop := start(t, registry(machine("studio", loaded("qwen3", 1))))
		running, waits, held := d.Submit(query("a", "qwen3")), d.Submit(query("b", "qwen3")), d.Submit(query("c", "qwen3", boundTo("studio")))
		if a := <-running.C(); a.Grant == nil {
			t.Fatal("no grant")
		}
		synctest.Wait()
		stop()
		for name, tk := range map[string]*Ticket{"b": waits, "c": held, "late": nil} {
			if tk == nil {
				synctest.Wait()
				tk = d.Submit(query("late", "qwen3"))
			}
			if a := <-tk.C(); a.Grant != nil || a.Decision.RefuseCode != route.RefuseStopping {
				t.Errorf("%s got %+v", name, a)
			}
		}
		synctest.Wait()
		if s := d.Status(); s.Lanes != nil || d.View() != nil {
			t.Errorf("an ended dispatcher tells of %+v", s)
		}
		running.Abandon("nothing happens")
	})
}

func TestViewIsACopy(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d, _ := start(t, registry(machine("studio", loaded("qwen3", 1))))
		a := d.Submit(query("a", "qwen3"))
		g := (<-a.C()).Grant
		v := d.View()
		if lane := v.Lanes[g.Deployment]; lane.Running != 1 || v.Now.IsZero() || len(v.Fleet.Nodes) != 1 {
			t.Fatalf("view %+v", v)
		}
		v.Lanes[g.Deployment] = route.Lane{Running: 99}
		v.Fleet.Nodes[0].State.Paused = true
		a.Used(*g)
		d.Released(fleet.Released{Grant: g.ID, Deployment: g.Deployment})
		d.Completed(fleet.Completed{Grant: g.ID, Outcome: fleet.OutcomeOK, Validated: true})
		b := d.Submit(query("b", "qwen3"))
		if ans := <-b.C(); ans.Grant == nil {
			t.Errorf("the copy reached back into the dispatcher: %+v", ans.Decision)
		}
		b.Abandon("")
	})
}

// Whoever comes first decides: a grant is either presented or taken back.
func TestPresentingRacesWithTakingBack(t *testing.T) {
	for range 300 {
		synctest.Test(t, func(t *testing.T) {
			d, _ := start(t, registry(machine("studio", loaded("qwen3", 1))))
			a := d.Submit(query("a", "qwen3"))
			g := (<-a.C()).Grant
			var used bool
			var wg sync.WaitGroup
			wg.Go(func() {
				time.Sleep(fleet.GrantTTL) // at the very instant it comes back
				used = a.Used(*g)
			})
			wg.Wait()
			synctest.Wait()
			select {
			case again := <-a.C():
				if used {
					t.Errorf("used, and granted again: %+v", again)
				}
			default:
				if !used {
					t.Error("not good any more, and nothing came instead")
				}
			}
			a.Abandon("")
		})
	}
}
