package gateway

import (
	"bytes"
	"container/list"
	"sync"
	"time"

	"bellwether/engine/dialect"
)

// itemStore keeps the items of Responses answers for previous_response_id and
// item_reference: in memory only, at most so many bytes, at most so long, the
// oldest gone first. Prompt and answer text lives here and nowhere on disk.
// The mutex guards everything.
type itemStore struct {
	mu       sync.Mutex
	maxBytes int
	ttl      time.Duration
	bytes    int
	byID     map[string]*list.Element
	items    map[string]dialect.Raw // by item id
	order    *list.List             // of *storedResponse, oldest first
}

// storedResponse is one answered request: its conversation, then the answer.
type storedResponse struct {
	id    string
	at    time.Time
	items []dialect.Raw
	bytes int
}

func newItemStore(maxBytes int, ttl time.Duration) *itemStore {
	return &itemStore{maxBytes: maxBytes, ttl: ttl, byID: map[string]*list.Element{}, items: map[string]dialect.Raw{}, order: list.New()}
}

// put keeps a conversation under the id of its last answer. The items are
// copied: those of a request alias its whole body.
func (s *itemStore) put(id string, now time.Time, conversation, output []dialect.Raw) {
	r := &storedResponse{id: id, at: now}
	for _, part := range [][]dialect.Raw{conversation, output} {
		for _, item := range part {
			r.items = append(r.items, bytes.Clone(item))
			r.bytes += len(item)
		}
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if r.bytes > s.maxBytes/4 {
		return // one conversation may not push all others out
	}
	s.byID[id] = s.order.PushBack(r)
	s.bytes += r.bytes
	for _, item := range r.items {
		if id := dialect.ResponseItemID(item); id != "" {
			s.items[id] = item
		}
	}
	s.trim(now)
}

func (s *itemStore) trim(now time.Time) {
	for e := s.order.Front(); e != nil; e = s.order.Front() {
		r := e.Value.(*storedResponse)
		if s.bytes <= s.maxBytes && now.Sub(r.at) < s.ttl {
			return
		}
		s.order.Remove(e)
		delete(s.byID, r.id)
		s.bytes -= r.bytes
		for _, item := range r.items {
			// A later response may hold the item too: it stays while that does.
			if id := dialect.ResponseItemID(item); id != "" && len(s.items[id]) > 0 && &s.items[id][0] == &item[0] {
				delete(s.items, id)
			}
		}
	}
}

// resolve puts what a request refers to into it. An unknown id is refused:
// ignoring it would answer another conversation than the one the client means.
func (s *itemStore) resolve(r *dialect.Request, now time.Time) *dialect.Problem {
	if !r.NeedsRecall() {
		return nil
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.trim(now)
	var earlier []dialect.Raw
	if r.PreviousResponse != "" {
		e, ok := s.byID[r.PreviousResponse]
		if !ok {
			return dialect.PreviousNotFound(r.PreviousResponse)
		}
		earlier = e.Value.(*storedResponse).items
	}
	return r.Recall(earlier, func(id string) dialect.Raw { return s.items[id] })
}
