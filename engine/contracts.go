package engine

import (
	"errors"
	"log/slog"
	"sync"
	"time"

	"bellwether/engine/fleet"
	"bellwether/engine/route"
)

// binder gives embedding contracts their anchors (routing.md 13), each by one
// revision of the fleet policy:
//
//  1. What a contract declares is its anchor.
//  2. Else what the policy has of it, declared or bound before.
//  3. Else, when the contract is saved, the first member in contract order whose
//     identity is known then. "Saved" is the start of the engine or a reload,
//     as soon as every machine has reported.
//  4. Else the same before its first dispatch, or as soon after as some member's
//     identity becomes known. Until then it answers 503.
//
// Identities come from what runtimes report of weights and from declarations;
// nothing learned from an answer gets here. Safe for concurrent use.
type binder struct {
	file      *policyFile
	fleet     func() *fleet.Snapshot
	contracts func() map[string]route.Contract // as the settings say, with declared anchors only
	changed   func()                           // the document has changed; may be called for nothing
	log       *slog.Logger

	mu     sync.Mutex // guards what follows
	saving bool       // rule 3 waits for the fleet's picture
	wanted map[string]bool
}

// Saved applies the rules to all contracts after the settings were read.
func (b *binder) Saved() {
	b.mu.Lock()
	b.saving = true
	b.mu.Unlock()
	b.bind()
}

// Want applies rule 4 to a contract that a request asks for. The anchor, if
// there can be one, is in force when it returns.
func (b *binder) Want(contract string) {
	b.mu.Lock()
	if b.wanted == nil {
		b.wanted = map[string]bool{}
	}
	b.wanted[contract] = true
	b.mu.Unlock()
	b.bind()
}

// FleetChanged applies the rules to what waits for an identity.
func (b *binder) FleetChanged() {
	b.mu.Lock()
	waits := b.saving || len(b.wanted) > 0
	b.mu.Unlock()
	if waits {
		b.bind()
	}
}

// bind settles what can be settled now. Whoever loses against another looks at
// what that one settled, and keeps to it.
func (b *binder) bind() {
	for {
		doc, snap := b.file.Current(), b.fleet()
		saving, wanted := b.due(snap.Settled)
		more := anchorsFor(doc, b.contracts(), snap, func(name string) bool {
			return snap.Settled && (saving || wanted[name])
		}, time.Now())
		if len(more) == 0 {
			b.settled(saving, doc)
			b.changed() // another may have changed it
			return
		}
		err := b.file.Replace(doc.anchored(more))
		var moved *RevisionError
		switch {
		case errors.As(err, &moved):
			continue
		case err != nil:
			b.log.Error("an embedding contract could not be bound, and answers 503 until it is", "err", err)
			return
		}
		for name, a := range more {
			b.log.Info("an embedding contract is bound", "contract", name, "identity", fleet.ShortIdentity(a.Identity), "source", string(a.Source), "deployment", a.From)
		}
	}
}

// due returns which contracts rules 3 and 4 are due for.
func (b *binder) due(settled bool) (saving bool, wanted map[string]bool) {
	b.mu.Lock()
	defer b.mu.Unlock()
	wanted = make(map[string]bool, len(b.wanted))
	for name := range b.wanted {
		wanted[name] = true
	}
	return b.saving && settled, wanted
}

// settled notes that rule 3 was applied, and forgets wants that have an anchor.
func (b *binder) settled(saving bool, doc *FleetPolicy) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if saving {
		b.saving = false
	}
	for name := range b.wanted {
		if _, bound := doc.Anchors[name]; bound {
			delete(b.wanted, name)
		}
	}
}

// anchorsFor returns the anchors that the document is to get: of declarations
// that it does not have or that are no longer made, and for contracts without
// one that are due, what the fleet as it is gives.
func anchorsFor(doc *FleetPolicy, contracts map[string]route.Contract, f *fleet.Snapshot, due func(name string) bool, now time.Time) map[string]route.Anchor {
	more := map[string]route.Anchor{}
	for name, c := range contracts {
		known, recorded := doc.Anchors[name]
		own := recorded && known.Source == route.AnchorDeclared && known.From == ""
		switch {
		case c.Identity != "" && own && known.Identity == c.Identity:
		case c.Identity != "": // 1
			more[name] = route.Anchor{Identity: c.Identity, Source: route.AnchorDeclared, At: now.UTC()}
		case own: // 2: no longer declared, and still what the index was made with
			known.Source = route.AnchorRecorded
			more[name] = known
		case recorded: // 2
		case due(name): // 3, 4
			if b := c.Bind(f); b.Anchor != nil {
				b.Anchor.At = now.UTC()
				more[name] = *b.Anchor
			}
		}
	}
	return more
}

// anchorContracts lays the document's anchors over the contracts of the
// settings. A declared one needs no document.
func anchorContracts(contracts map[string]route.Contract, doc *FleetPolicy) {
	for name, c := range contracts {
		a, recorded := doc.Anchors[name]
		switch {
		case c.Identity != "" && !(recorded && a.Identity == c.Identity):
			a = route.Anchor{Identity: c.Identity, Source: route.AnchorDeclared}
		case !recorded:
			continue
		}
		c.Anchor = &a
		contracts[name] = c
	}
}
