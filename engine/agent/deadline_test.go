package agent

import (
	"errors"
	"io"
	"testing"
	"testing/synctest"
	"time"

	"bellwether/engine/fleet"
)

// TestDeadlinesStrikeWhenTheyShould runs on synthetic time: to the second.
func TestDeadlinesStrikeWhenTheyShould(t *testing.T) {
	for _, c := range []struct {
		name               string
		tape               tape
		first, idle, total time.Duration
		fails              bool
		after              time.Duration // from the grant
	}{
		{"no content", tape{chunks: 5, silent: 1}, 10 * time.Second, time.Second, time.Hour, true, 10 * time.Second},
		{"silence later", tape{chunks: 5, silent: 3, pace: 4 * time.Second}, 10 * time.Second, 7 * time.Second, time.Hour, true, 15 * time.Second},
		{"idle longer than the first deadline", tape{chunks: 5, silent: 2}, 2 * time.Second, 30 * time.Second, time.Hour, true, 30 * time.Second},
		{"idle far shorter than the first deadline", tape{chunks: 5, silent: 2}, 10 * time.Minute, 5 * time.Second, time.Hour, true, 5 * time.Second},
		{"slow but never silent", tape{chunks: 50, pace: 4 * time.Second}, 5 * time.Second, 5 * time.Second, time.Hour, false, 200 * time.Second},
		{"total", tape{chunks: 50, pace: 4 * time.Second}, 5 * time.Second, 5 * time.Second, 30 * time.Second, true, 30 * time.Second},
		{"the total is tighter than the first", tape{chunks: 5, silent: 1}, time.Minute, time.Second, 3 * time.Second, true, 3 * time.Second},
		{"defaults", tape{chunks: 5, silent: 1}, 0, 0, 0, true, 60 * time.Second},
	} {
		t.Run(c.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				a, g := onTape(t, &c.tape)
				g.FirstContent, g.Idle, g.Total = c.first, c.idle, c.total
				began := time.Now()
				run, err := a.Do(t.Context(), g, question(t, "m"))
				if err != nil {
					t.Fatal(err)
				}
				defer run.Close()
				err = drainTo(run)
				if took := time.Since(began); took != c.after {
					t.Errorf("ended after %v, want %v", took, c.after)
				}
				if !c.fails {
					if !errors.Is(err, io.EOF) {
						t.Errorf("ended with %v, want EOF", err)
					}
					return
				}
				if f := wantFailure(t, err, fleet.FailTimeout); !f.MayRun {
					t.Errorf("failure = %+v, want it to say that the call may still run", f)
				}
			})
		})
	}
}

func TestSlowReaderIsNotTheRuntimesSilence(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		a, g := onTape(t, &tape{chunks: 5})
		g.Idle = time.Second
		run, err := a.Do(t.Context(), g, question(t, "m"))
		if err != nil {
			t.Fatal(err)
		}
		defer run.Close()
		for range 3 {
			if _, err := run.Next(); err != nil {
				t.Fatal(err)
			}
			time.Sleep(time.Minute) // the client's network is slow; the chunks wait for it
		}
		if err := drainTo(run); !errors.Is(err, io.EOF) {
			t.Errorf("ended with %v, want EOF", err)
		}
	})
}

func TestUnusedGrantIsNotTakenLate(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		a, g := onTape(t, &tape{chunks: 1})
		v := a.knock(&admission{grant: g, at: time.Now().Add(-fleet.GrantTTL - time.Millisecond)})
		wantRefusal(t, refusalError(v), fleet.CodeAdmission)
	})
}

func refusalError(v verdict) error {
	if v.refusal == nil {
		return nil
	}
	return v.refusal
}

func TestHeartbeatsComeEveryFiveSecondsAndRefusalsAreFollowedSooner(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		a, g := onTape(t, &tape{chunks: 1})
		synctest.Wait()
		before := a.Heartbeat().Sequence
		time.Sleep(20*heartbeatEvery + time.Second)
		synctest.Wait()
		if n := a.Heartbeat().Sequence - before; n != 20 {
			t.Errorf("%d heartbeats in 101 quiet seconds, want 20", n)
		}
		before = a.Heartbeat().Sequence
		g.Deployment.Model = "nope"
		_, err := a.Do(t.Context(), g, question(t, "nope"))
		r := wantRefusal(t, err, fleet.CodeModelAbsent)
		if r.Sequence != before {
			t.Errorf("refused at sequence %d, the last report was %d", r.Sequence, before)
		}
		time.Sleep(retryReport)
		synctest.Wait()
		if got := a.Heartbeat().Sequence; got != before+1 {
			t.Errorf("sequence %d a quarter of a second after the refusal, want %d", got, before+1)
		}
	})
}
