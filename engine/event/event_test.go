package event

import (
	"sync"
	"testing"
)

func drain[T any](s *Sub[T]) []T {
	var got []T
	for {
		select {
		case e, open := <-s.C:
			if !open {
				return got
			}
			got = append(got, e)
		default:
			return got
		}
	}
}

func TestEverySubscriberGetsEveryEventInOrder(t *testing.T) {
	h := NewHub[int](8)
	a, b := h.Subscribe(), h.Subscribe()
	for i := range 5 {
		h.Publish(i)
	}
	for name, s := range map[string]*Sub[int]{"a": a, "b": b} {
		got := drain(s)
		if len(got) != 5 || got[0] != 0 || got[4] != 4 {
			t.Errorf("%s got %v", name, got)
		}
	}
}

func TestSlowSubscriberIsCutAndToldSo(t *testing.T) {
	h := NewHub[int](2)
	slow, quick := h.Subscribe(), h.Subscribe()
	seen := 0
	for i := range 5 {
		h.Publish(i)
		seen += len(drain(quick))
	}
	if seen != 5 || quick.Lagged() {
		t.Errorf("the quick one saw %d of 5, lagged %v", seen, quick.Lagged())
	}
	if got := drain(slow); len(got) != 2 || !slow.Lagged() {
		t.Errorf("the slow one got %v, lagged %v; want its 2 and the news that more are missing", got, slow.Lagged())
	}
	if _, open := <-slow.C; open {
		t.Error("the slow one's channel is not closed")
	}
	slow.Close()
}

func TestClosedSubscriptionGetsNothingAndDidNotLag(t *testing.T) {
	h := NewHub[int](2)
	s := h.Subscribe()
	s.Close()
	s.Close()
	h.Publish(1)
	if _, open := <-s.C; open || s.Lagged() || h.Watched() {
		t.Errorf("open %v lagged %v watched %v", open, s.Lagged(), h.Watched())
	}
}

func TestNilHubSwallowsEvents(t *testing.T) {
	var h *Hub[int]
	h.Publish(1)
	if h.Watched() {
		t.Error("nobody can watch it")
	}
}

func TestHubFromManyGoroutines(t *testing.T) {
	h := NewHub[int](4)
	var wg sync.WaitGroup
	for range 4 {
		wg.Go(func() {
			for i := range 500 {
				h.Publish(i)
			}
		})
		wg.Go(func() {
			for range 100 {
				s := h.Subscribe()
				drain(s)
				s.Close()
			}
		})
	}
	wg.Wait()
	if h.Watched() {
		t.Error("a subscription is left")
	}
}

func BenchmarkPublishUnwatched(b *testing.B) {
	h := NewHub[int](4)
	for b.Loop() {
		h.Publish(1)
	}
}
