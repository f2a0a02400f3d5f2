package engine

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"maps"
	"path/filepath"
	"slices"
	"strings"
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
	copy policyCopy // nil = none is kept
	log  *slog.Logger
	news policyNews // of the start
	mu   sync.Mutex // held over a change and its write, so that file and memory are one
	doc  atomic.Pointer[FleetPolicy]
}

// PolicyPath is where the fleet policy lies in the data folder.
func PolicyPath(f desktop.Folders) string { return filepath.Join(f.Data, "fleet-policy.json") }

// openPolicy reads the document; where there is none yet it is empty, unless the
// copy remembers one. A damaged one is an error: to go on without it could bind
// contracts anew, to whatever is installed today, and what became of it is for
// its owner to see.
func openPolicy(path string, kept policyCopy, log *slog.Logger) (*policyFile, error) {
	f := &policyFile{path: path, copy: kept, log: log}
	copied, err := remembered(kept)
	if err != nil {
		log.Warn("what the database remembers of the fleet policy could not be read", "err", err)
	}
	file, err := readPolicy(path)
	if err != nil {
		var bad *PolicyError
		if errors.As(err, &bad) {
			bad.Copied = copied
		}
		return nil, err
	}
	doc, news := reconcile(file, copied)
	if f.news = news; doc != file && doc.Revision > 0 {
		if err := f.write(doc); err != nil {
			return nil, err
		}
	}
	if doc != copied && doc.Revision > 0 {
		f.remember(doc)
	}
	f.doc.Store(doc)
	f.tell()
	return f, nil
}

// readPolicy reads the file, nil where there is none.
func readPolicy(path string) (*FleetPolicy, error) {
	text, err := desktop.ReadPrivate(path)
	var exposed *desktop.ExposedError
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return nil, nil
	case errors.As(err, &exposed): // says what to do
		return nil, fmt.Errorf("read the fleet policy: %w", err)
	case errors.Is(err, fs.ErrPermission):
		return nil, fmt.Errorf("read the fleet policy: %w; give it to the user that runs Bellwether", err)
	case err != nil:
		return nil, &PolicyError{Path: path, Err: err}
	}
	doc, err := parsePolicy(text)
	if errors.Is(err, errNewer) {
		return nil, &PolicyError{Path: path, Err: err}
	}
	if err != nil {
		return nil, &PolicyError{Path: path, Err: fmt.Errorf("it is damaged: %w", err)}
	}
	return doc, nil
}

// PolicyError reports a fleet policy that cannot be read or understood.
type PolicyError struct {
	Path   string
	Err    error
	Copied *FleetPolicy // what the database remembers of it, nil = nothing
}

func (e *PolicyError) Error() string {
	said := fmt.Sprintf("%s cannot be used (%v). It holds which models your embedding contracts are bound to, so nothing is started without it: ", e.Path, e.Err)
	if errors.Is(e.Err, errNewer) {
		return said + "update Bellwether"
	}
	said += "put it back from a backup, or "
	if e.Copied != nil {
		return said + fmt.Sprintf("move it away, and it is written anew as the database remembers it (revision %d, with %s)", e.Copied.Revision, strings.Join(slices.Sorted(maps.Keys(e.Copied.Anchors)), ", "))
	}
	return said + "set embeddings.NAME.identity of every contract to what its index was made with and move it away"
}

func (e *PolicyError) Unwrap() error { return e.Err }

// errNewer says that a document holds what only a later version knows.
var errNewer = errors.New("a newer version wrote it")

func parsePolicy(text []byte) (*FleetPolicy, error) {
	in := json.NewDecoder(bytes.NewReader(text))
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
	in = json.NewDecoder(bytes.NewReader(text))
	in.DisallowUnknownFields() // to drop them would undo what they say
	if err := in.Decode(new(FleetPolicy)); err != nil {
		return nil, fmt.Errorf("%w (%w)", errNewer, err)
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
	if err := f.write(next); err != nil {
		return err
	}
	f.remember(next)
	f.doc.Store(next)
	return nil
}

func (f *policyFile) write(doc *FleetPolicy) error {
	text, err := json.MarshalIndent(doc, "", "  ")
	if err != nil {
		return err
	}
	if err := desktop.WritePrivate(f.path, append(text, '\n')); err != nil {
		return fmt.Errorf("keep the fleet policy: %w", err)
	}
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
