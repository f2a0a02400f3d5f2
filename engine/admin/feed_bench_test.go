package admin

import (
	"context"
	"net/http/httptest"
	"runtime"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"bellwether/engine/queue"
	"bellwether/engine/socket"
)

// A second of a large fleet's life, with so many windows open: 50 machines with
// 20 models each report every 5 s, 100 requests are queued, sent and ended. The
// result is the whole process's time for it, the windows' own reading of the
// sockets included: 20 ms/op are 2 % of a core. The loop is driven by hand, 20
// deltas a second, as its timer would.
func benchmarkWindows(b *testing.B, windows int) {
	r := newFeedRig(b)
	r.stop() // the loop is ours from here on
	<-r.feed.done
	const nodes, models, decisions = 50, 20, 100
	for i := range nodes {
		r.node(i, models, nil)
	}
	feed := NewFeed(r.feed.src)
	w := newWatch(feed, context.Background())
	s := httptest.NewServer(feed)
	defer s.Close()
	var done sync.WaitGroup
	var read atomic.Int64 // frames, by all windows
	for range windows {
		done.Go(func() {
			c, err := socket.Dial(context.Background(), "ws"+strings.TrimPrefix(s.URL, "http"), nil, socket.Options{ReadLimit: 64 << 20})
			if err != nil {
				b.Error(err)
				return
			}
			_ = c.Serve(context.Background(), func([]byte) error { read.Add(1); return nil })
		})
		for n := len(w.readers); len(w.readers) == n; {
			(<-feed.in)(w) // findings may come between
		}
	}
	defer func() {
		close(feed.done)
		for r := range w.readers {
			r.conn.Cut(socket.GoingAway, "", nil)
		}
		done.Wait()
		feed.serving.Wait()
		w.rest()
		w.work.Wait()
	}()
	id, first := 0, w.seq
	for second := 0; b.Loop(); second++ {
		for tick := range 20 {
			if tick%2 == 0 { // ten nodes a second
				r.node((second*10+tick/2)%nodes, models, nil)
				w.onFleet()
			}
			for range decisions / 20 {
				id++
				for _, kind := range []queue.EventKind{queue.EventQueued, queue.EventGranted, queue.EventDone} {
					e := eventOf(id, kind)
					w.onEvent(&e, true)
				}
				w.onRecord(recordOf(id), true)
			}
			now := r.feed.src.Now()
			w.do(taskRows, now)
			if tick%5 == 0 {
				w.do(taskQueues, now)
			}
			if tick%10 == 0 {
				w.do(taskFleet, now)
				w.do(taskMeta, now)
				w.do(taskJobs, now)
			}
			if tick == 0 {
				w.do(taskApps, now)
				w.do(taskNames, now)
			}
			w.flush()
		}
		for want := int64(w.seq-first+1) * int64(windows); read.Load() < want && len(w.readers) == windows; {
			runtime.Gosched() // a second is long enough for them
		}
	}
	if len(w.readers) != windows {
		b.Errorf("%d windows are left of %d", len(w.readers), windows)
	}
}

func BenchmarkOneWindow(b *testing.B)   { benchmarkWindows(b, 1) }
func BenchmarkFiveWindows(b *testing.B) { benchmarkWindows(b, 5) }

// BenchmarkUnwatched is what a request costs the feed while nobody watches.
func BenchmarkUnwatched(b *testing.B) {
	r := newFeedRig(b)
	rec := recordOf(1)
	for b.Loop() {
		r.feed.Ended(rec)
	}
}

// BenchmarkHello is what a window costs that opens onto a large fleet.
func BenchmarkHello(b *testing.B) {
	r := newFeedRig(b)
	for i := range 50 {
		r.node(i, 20, nil)
	}
	for b.Loop() {
		c, err := socket.Dial(context.Background(), r.address, nil, socket.Options{ReadLimit: 64 << 20})
		if err != nil {
			b.Fatal(err)
		}
		_ = c.Serve(context.Background(), func(text []byte) error {
			b.SetBytes(int64(len(text)))
			c.Cut(socket.Normal, "", nil)
			return nil
		})
	}
}
