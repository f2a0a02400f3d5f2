package engine

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"bellwether/engine/admin"
	"bellwether/engine/document"
	"bellwether/engine/evidence"
	"bellwether/engine/fleet"
	"bellwether/engine/route"
)

// ownCatalogue is the file in which an owner says what the catalogue does not
// know. It lies beside the settings file.
const ownCatalogue = "catalogue.yaml"

// OwnCatalogue is where the owner's own catalogue is looked for, "" without a
// settings file.
func (c *Config) OwnCatalogue() string {
	if c.file == "" {
		return ""
	}
	return filepath.Join(filepath.Dir(c.file), ownCatalogue)
}

// ReadCatalogue reads the catalogue that the program carries, whose files are
// laid over each other by their names, and over it the owner's own file, which
// need not be there. shipped may be nil, own "". Its error names the line of
// everything that is wrong.
func ReadCatalogue(shipped fs.FS, own string) (*evidence.Catalogue, error) {
	all, _, err := readCatalogue(shipped, own)
	return all, err
}

// ownState is what the owner's catalogue is.
type ownState int

const (
	ownAbsent  ownState = iota // there is none
	ownEmptied                 // it is there and says nothing
	ownSays
)

// readCatalogue is ReadCatalogue, and what the owner's file is.
func readCatalogue(shipped fs.FS, own string) (*evidence.Catalogue, ownState, error) {
	all, err := readShipped(shipped)
	if err != nil || own == "" {
		return all, ownAbsent, err
	}
	text, err := readOwnCatalogue(own)
	if err != nil {
		return nil, ownAbsent, err
	}
	c, err := evidence.ParseCatalogue(filepath.Base(own), text)
	if err != nil {
		return nil, ownAbsent, err
	}
	state := ownAbsent
	if text != nil {
		state = ownSays
		if root, _ := document.Read(text); root == nil || root.Tag == "!!null" {
			state = ownEmptied
		}
	}
	return all.With(c), state, nil
}

func readShipped(shipped fs.FS) (*evidence.Catalogue, error) {
	var all *evidence.Catalogue
	if shipped != nil {
		files, err := fs.ReadDir(shipped, ".")
		if err != nil {
			return nil, fmt.Errorf("read the catalogue: %w", err)
		}
		for _, f := range files {
			text, err := fs.ReadFile(shipped, f.Name())
			if err != nil {
				return nil, fmt.Errorf("read the catalogue: %w", err)
			}
			c, err := evidence.ParseCatalogue(f.Name(), text)
			if err != nil {
				return nil, err
			}
			all = all.With(c)
		}
	}
	return all, nil
}

// readOwnCatalogue reads the owner's file; without one its text is nil.
func readOwnCatalogue(path string) ([]byte, error) {
	info, err := os.Stat(path)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return nil, nil
	case err == nil && info.Size() > maxFile:
		return nil, fmt.Errorf("%s has %d bytes; a catalogue of one's own has a few thousand", ownCatalogue, info.Size())
	case err != nil:
		return nil, fmt.Errorf("your catalogue: %w", err)
	}
	text, err := os.ReadFile(path)
	if err != nil {
		return nil, fmt.Errorf("your catalogue: %w", err)
	}
	return text, nil
}

// loadCatalogue reads the catalogue and puts it in force. With an error the one
// in force stays.
func (e *Engine) loadCatalogue() error {
	c, own, err := readCatalogue(e.opts.Catalogue, e.conf().OwnCatalogue())
	if err != nil {
		return err
	}
	e.own = own
	e.catalogue.Store(c)
	return nil
}

// declare completes a deployment as its runtime reported it, before anybody
// sees it: by what the catalogue knows, then by what asking it established, then
// by what the operator says. Each counts over the one before.
func (e *Engine) declare(d *fleet.Deployment) {
	probed := e.evidence.Book().Probe(d) // by its make as reported, before anything is filled in
	e.catalogue.Load().Tell(d)
	probed.Tell(d)
	route.Declare(e.policy.Load(), d)
}

// addKnowledge says what is known of a model's worth, and how.
func (e *Engine) addKnowledge(m *admin.ModelStatus, d *fleet.Deployment) {
	if k := e.catalogue.Load().Find(d); k != nil {
		m.Known = &admin.KnownModel{Name: k.Name, Licence: k.Licence, Thinking: k.Thinking}
	}
	book := e.evidence.Book()
	if p := book.Probe(d); p != nil {
		m.Probed, m.ContextRead = p.At, p.Context
	}
	m.Quality = admin.QualityOf(d, book)
}

// clashFindings tell what the operator's declarations contradict each other in.
func (e *Engine) clashFindings() []admin.Finding {
	var found []admin.Finding
	p := e.policy.Load()
	for _, n := range e.registry.Snapshot().Nodes {
		for i := range n.Deployments {
			for _, c := range route.Clashes(p, n.Deployments[i].ID) {
				found = append(found, finding("declarations", "warning",
					"Let one of the two patterns name more of the model, or let both say the same.",
					"Of %s the settings say two things under deployments: %s differs between %s and %s, so neither counts.",
					n.Deployments[i].ID, c.What, c.Match[0], c.Match[1]))
			}
		}
	}
	return found
}

// declarationProblem says what two entries of deployments for one pattern
// contradict each other in, "" when nothing; it begins with the later one's place
// in the list.
func (c *Config) declarationProblem() string {
	first := map[string]int{}
	all := c.declarations()
	for i := range all {
		match := strings.ToLower(all[i].Match)
		before, twice := first[match]
		if !twice {
			first[match] = i
			continue
		}
		if what := all[before].Contradicts(&all[i]); what != "" {
			return fmt.Sprintf("[%d]: says another %s of %s than deployments[%d]%s; say it once", i, what, all[i].Match, before, c.inLine(fmt.Sprintf("deployments[%d]", before)))
		}
	}
	return ""
}

// inLine names the line of a key, for the middle of a sentence; "" when it has none.
func (c *Config) inLine(key string) string {
	if place := c.where(key); place != "" {
		return " (" + place + ")"
	}
	return ""
}
