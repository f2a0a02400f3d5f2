package route

import (
	"strings"
	"testing"

	"bellwether/engine/dialect"
)

func TestToolCallIDTellsWhoMadeIt(t *testing.T) {
	key := []byte("fleet secret")
	id := MintToolCallID(key, "sha256:abc", "request1", 0)
	if !strings.HasPrefix(id, "call_") || len(id) != len("call_")+16 {
		t.Errorf("%q: want call_ and 16 letters", id)
	}
	if id != MintToolCallID(key, "sha256:abc", "request1", 0) {
		t.Error("the same call has two ids")
	}
	for _, form := range []string{id, AnthropicToolCallID(id)} {
		if tag, ok := ReadToolCallID(key, form); !ok || tag != IdentityTag(key, "sha256:abc") {
			t.Errorf("%s: read %q %v", form, tag, ok)
		}
	}
	if !strings.HasPrefix(AnthropicToolCallID(id), "toolu_") {
		t.Errorf("got %s", AnthropicToolCallID(id))
	}
	if IdentityTag(key, "sha256:abc") == IdentityTag(key, "sha256:abd") {
		t.Error("two identities have one tag")
	}
}

func TestForeignToolCallIDsAreNotRead(t *testing.T) {
	key := []byte("fleet secret")
	id := MintToolCallID(key, "m", "r", 0)
	for _, foreign := range []string{
		"", "call_", "call_abcdefgh", "call_0123456789abcdef", "toolu_01A09q90qw90lq917835lq9", id + "a", id[:len(id)-1] + "a",
		MintToolCallID([]byte("another fleet"), "m", "r", 0), "fc_" + id[5:], strings.ToUpper(id),
	} {
		if foreign == id {
			continue
		}
		if _, ok := ReadToolCallID(key, foreign); ok {
			t.Errorf("%q was read as ours", foreign)
		}
	}
}

// Ids repeated across turns confuse clients that look calls up by them.
func TestToolCallIDsDiffer(t *testing.T) {
	key := []byte("k")
	seen := map[string]bool{}
	for _, request := range []string{"r1", "r2", "r11"} {
		for n := range 500 {
			id := MintToolCallID(key, "m", request, n)
			if seen[id] {
				t.Fatalf("%s twice", id)
			}
			seen[id] = true
		}
	}
}

// the turn that answers tool calls goes back to the model that made them.
func TestToolResultTurnIsBoundToItsModel(t *testing.T) {
	key := []byte("k")
	made := MintToolCallID(key, "sha256:abc", "r", 0)
	call := dialect.Message{Role: dialect.RoleAssistant, ToolCalls: []dialect.ToolCall{{ID: made, Name: "f"}}}
	result := dialect.Message{Role: dialect.RoleTool, ToolCallID: made}
	user := say(dialect.RoleUser, "u")
	m := Meta{ToolKey: key}

	n := Read(chat(user, call, result), m)
	if n.Bound != "model" || n.BoundTo != IdentityTag(key, "sha256:abc") || n.IssuedBy != n.BoundTo || n.BoundWhy == "" {
		t.Errorf("got %q to %q", n.Bound, n.BoundTo)
	}
	if n = Read(chat(user, call, result, say(dialect.RoleUser, "and say it short")), m); n.Bound != "model" {
		t.Error("words beside the result, as Anthropic clients send them, do not free it")
	}
	if n = Read(chat(user, call, result, say(dialect.RoleAssistant, "done"), user), m); n.Bound != "" {
		t.Error("a later user turn starts anew")
	}
	result.ToolCallID = "call_of_someone"
	if n = Read(chat(user, call, result), m); n.Bound != "" {
		t.Error("a call made elsewhere binds to nobody known")
	}
	if n = Read(chat(user, call, result), Meta{}); n.Bound != "" {
		t.Error("without a key nothing can be read")
	}
}

func FuzzReadToolCallID(f *testing.F) {
	f.Add("call_abcdefghijklmnop")
	f.Add(MintToolCallID([]byte("k"), "m", "r", 1))
	f.Fuzz(func(t *testing.T, id string) {
		if tag, ok := ReadToolCallID([]byte("k"), id); ok && len(tag) == 0 {
			t.Error("an empty tag")
		}
	})
}
