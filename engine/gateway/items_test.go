package gateway

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"bellwether/engine/dialect"
)

var itemsStart = time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)

func item(id, text string) dialect.Raw {
	return fmt.Appendf(nil, `{"type":"message","id":%q,"role":"user","content":%q}`, id, text)
}

func responses(t *testing.T, body string) *dialect.Request {
	t.Helper()
	r, p := dialect.Parse(dialect.OpenAIResponses, []byte(body))
	if p != nil {
		t.Fatal(p)
	}
	return r
}

func TestAPreviousResponseBringsItsConversation(t *testing.T) {
	s := newItemStore(1<<20, time.Hour)
	s.put("resp_1", itemsStart, []dialect.Raw{item("a", "first")}, []dialect.Raw{item("b", "second")})
	r := responses(t, `{"model":"m","input":"third","previous_response_id":"resp_1"}`)
	if p := s.resolve(r, itemsStart); p != nil {
		t.Fatal(p)
	}
	if len(r.Messages) != 3 {
		t.Errorf("%d messages, want the two from before and the new one", len(r.Messages))
	}
}

func TestAnUnknownPreviousResponseIsRefused(t *testing.T) {
	s := newItemStore(1<<20, time.Hour)
	p := s.resolve(responses(t, `{"model":"m","input":"x","previous_response_id":"resp_9"}`), itemsStart)
	if p == nil || p.Status != 400 || p.Param != "previous_response_id" {
		t.Errorf("got %+v, want a 400 about previous_response_id", p)
	}
}

func TestItemsAreForgottenAfterAnHour(t *testing.T) {
	s := newItemStore(1<<20, time.Hour)
	s.put("resp_1", itemsStart, nil, []dialect.Raw{item("a", "x")})
	r := responses(t, `{"model":"m","input":"x","previous_response_id":"resp_1"}`)
	if p := s.resolve(r, itemsStart.Add(time.Hour)); p == nil {
		t.Error("an hour later it is still known")
	}
	if len(s.byID)+len(s.items)+s.order.Len()+s.bytes != 0 {
		t.Errorf("left over: %d responses, %d items, %d bytes", len(s.byID), len(s.items), s.bytes)
	}
}

func TestItemsKeepToTheirMemory(t *testing.T) {
	s := newItemStore(10_000, time.Hour)
	big := strings.Repeat("x", 1000)
	for n := range 50 {
		s.put(fmt.Sprint("resp_", n), itemsStart.Add(time.Duration(n)*time.Second), nil, []dialect.Raw{item(fmt.Sprint("i", n), big)})
		if s.bytes > 10_000 {
			t.Fatalf("%d bytes kept, at most 10,000 may be", s.bytes)
		}
	}
	if _, old := s.byID["resp_0"]; old {
		t.Error("the oldest is still there")
	}
	if _, young := s.byID["resp_49"]; !young {
		t.Error("the youngest is gone")
	}
	s.put("resp_huge", itemsStart, nil, []dialect.Raw{item("h", strings.Repeat("x", 9000))})
	if _, kept := s.byID["resp_huge"]; kept {
		t.Error("one conversation pushed the others out")
	}
}

func TestAnItemOfTwoResponsesOutlivesTheFirst(t *testing.T) {
	s := newItemStore(1<<20, time.Hour)
	shared := item("a", "shared")
	s.put("resp_1", itemsStart, nil, []dialect.Raw{shared})
	s.put("resp_2", itemsStart.Add(30*time.Minute), []dialect.Raw{shared}, nil)
	r := responses(t, `{"model":"m","input":[{"type":"item_reference","id":"a"},{"role":"user","content":"go on"}]}`)
	if p := s.resolve(r, itemsStart.Add(70*time.Minute)); p != nil {
		t.Error(p)
	}
}
