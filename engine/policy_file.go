package engine

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"path/filepath"
	"sync"
	"sync/atomic"

	"bellwether/engine/route"
	"bellwether/platform/desktop"
)

// FleetPolicy is what the fleet has settled and its settings do not say: the
// anchors of embedding contracts. It is one document with a revision, changed
// as a whole and only by who saw its latest revision, so that two that want to
// settle the same thing settle it once. A published document is never changed.
//
// On one machine it is a file that its owner alone can write. Between machines
// each revision will be signed by the key of the node that makes it, which
// needs the fleet admin's right in the roster; its members take a revision over
// when that signature holds and it is later than theirs.
type FleetPolicy struct {
	Revision uint64 `json:"revision"` // rises by one with each change; 0 = never changed
	// Anchors are by the contract's name in lower case. That of a contract which
	// is no longer set up stays: whoever sets it up again has an index of it.
	Anchors map[string]route.Anchor `json:"anchors,omitempty"`
}

// policyFile owns the document on disk. Safe for concurrent use: readers never
// wait, and changes wait for each other and for the disk.
type policyFile struct {
	path string
	mu   sync.Mutex // held over a change and its write, so that file and memory are one
	doc  atomic.Pointer[FleetPolicy]
}

// PolicyPath is where the fleet policy lies in the data folder.
func PolicyPath(f desktop.Folders) string { return filepath.Join(f.Data, "fleet-policy.json") }

// openPolicy reads the document; where there is none yet it is empty. A damaged
// one is an error: what it held is not known, and to go on without it would bind
// contracts anew, to whatever is installed today.
func openPolicy(path string) (*policyFile, error) {
	f := &policyFile{path: path}
	text, err := desktop.ReadPrivate(path)
	if errors.Is(err, fs.ErrNotExist) {
		f.doc.Store(&FleetPolicy{})
		return f, nil
	}
	if err != nil {
		return nil, fmt.Errorf("read the fleet policy: %w", err)
	}
	doc, err := parsePolicy(text)
	if err != nil {
		return nil, &PolicyError{Path: path, Err: err}
	}
	f.doc.Store(doc)
	return f, nil
}

// PolicyError reports a fleet policy that cannot be understood.
type PolicyError struct {
	Path string
	Err  error
}

func (e *PolicyError) Error() string {
	return fmt.Sprintf("%s is damaged (%v). It holds which models your embedding contracts are bound to, so nothing is started without it: "+
		"put it back from a backup, or set embeddings.NAME.identity of every contract to what its index was made with and delete the file", e.Path, e.Err)
}

func (e *PolicyError) Unwrap() error { return e.Err }

func parsePolicy(text []byte) (*FleetPolicy, error) {
	in := json.NewDecoder(bytes.NewReader(text))
	in.DisallowUnknownFields() // of a later version: to drop them would undo what they say
	doc := new(FleetPolicy)
	if err := in.Decode(doc); err != nil {
		return nil, err
	}
	if in.More() {
		return nil, errors.New("something follows its end")
	}
	if doc.Revision == 0 {
		return nil, errors.New("it has no revision")
	}
	for name, a := range doc.Anchors {
		if name == "" || a.Identity == "" {
			return nil, fmt.Errorf("the anchor of %q has no identity", name)
		}
	}
	return doc, nil
}

// Current returns the document as it is. It is not to be changed.
func (f *policyFile) Current() *FleetPolicy { return f.doc.Load() }

// RevisionError says that the document was changed by another meanwhile.
type RevisionError struct{ Want, Have uint64 }

func (e *RevisionError) Error() string {
	return fmt.Sprintf("the fleet policy is at revision %d by now, not %d: look at it and decide again", e.Have, e.Want)
}

// Replace makes next the document, if its revision follows the one in force;
// else a *RevisionError. It is on disk when Replace returns without an error,
// and nothing has changed when it returns with one.
func (f *policyFile) Replace(next *FleetPolicy) error {
	f.mu.Lock()
	defer f.mu.Unlock()
	if have := f.doc.Load().Revision; next.Revision != have+1 {
		return &RevisionError{Want: next.Revision - 1, Have: have}
	}
	text, err := json.MarshalIndent(next, "", "  ")
	if err != nil {
		return err
	}
	if err := desktop.WritePrivate(f.path, append(text, '\n')); err != nil {
		return fmt.Errorf("keep the fleet policy: %w", err)
	}
	f.doc.Store(next)
	return nil
}

// anchored returns the document's next revision with more anchors.
func (p *FleetPolicy) anchored(more map[string]route.Anchor) *FleetPolicy {
	next := &FleetPolicy{Revision: p.Revision + 1, Anchors: maps.Clone(p.Anchors)}
	if next.Anchors == nil {
		next.Anchors = make(map[string]route.Anchor, len(more))
	}
	maps.Copy(next.Anchors, more)
	return next
}
