package runtime

import (
	"context"
	"errors"
	"fmt"

	"bellwether/engine/fleet"
)

// New makes the adapter of a target whose kind is known. It sends nothing.
func New(t Target) (Adapter, error) {
	switch t.Kind {
	case KindOllama:
		return NewOllama(t)
	case KindLlamaServer:
		return NewLlamaServer(t)
	case "":
		return nil, fmt.Errorf("runtime %s: its kind is not known yet; use Open", t.Name)
	}
	return nil, fmt.Errorf("runtime %s: kind %q is not supported (%s, %s)", t.Name, t.Kind, KindOllama, KindLlamaServer)
}

// Open makes the adapter of a target, recognising what answers there when its
// kind is not given.
func Open(ctx context.Context, t Target) (Adapter, Identity, error) {
	if t.Kind != "" {
		a, err := New(t)
		return a, Identity{Kind: t.Kind}, err
	}
	id, err := Recognise(ctx, t)
	if err != nil {
		return nil, Identity{}, fmt.Errorf("runtime %s: %w", t.Name, err)
	}
	t.Kind = id.Kind
	a, err := New(t)
	return a, id, err
}

// Closer is implemented by adapters: it closes idle connections and ends calls
// that were left to run to their end (Target.Drain), and waits for them.
type Closer interface{ Close() }

// Idler is implemented by adapters that can ask their runtime whether an
// abandoned call has certainly ended, where ConfirmsCancel is false: it reports
// whether at most running requests of the model are under way there. Asking
// loads nothing.
type Idler interface {
	Idle(ctx context.Context, model string, running int) (bool, error)
}

// Noter is implemented by streams that see something about their answer worth
// a line in the record (reasoning used up the whole limit, a call was
// swallowed). Complete after the Final chunk.
type Noter interface{ Notes() []string }

// Recycler is implemented by streams whose memory can be used again once an
// answer was read to its end marker. Only its reader may say so, on its own
// goroutine, when it looks at no chunk any more.
type Recycler interface{ Recycle() }

// Errors of identification.
var (
	// ErrOurselves: a Bellwether answers there.
	ErrOurselves = errors.New("a Bellwether answers there, not a runtime")
	// ErrUnknownRuntime: something answers that is no runtime known here.
	ErrUnknownRuntime = errors.New("what answers there is no runtime known here")
)

// What helps against them, for people.
const (
	CureOurselves = "take it out of runtimes in the settings, or name the runtimes behind that Bellwether by addresses of their own"
	CureUnknown   = "mend its url under runtimes in the settings, or say its kind there"
)

// unsupported is what an adapter says to an operation its runtime lacks: nothing
// has failed, and asking again helps nobody.
func unsupported(what string) error {
	return &fleet.Failure{Class: fleet.FailStatus, Code: CodeUnsupported, Message: what, Caller: true}
}
