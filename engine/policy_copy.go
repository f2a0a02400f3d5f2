package engine

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"

	"bellwether/engine/admin"
	"bellwether/engine/fleet"
	"bellwether/engine/route"
	"bellwether/platform/desktop"
)

// policyCopy is where a copy of the fleet policy is kept, so that a file that
// somebody deletes, or puts back from a backup, binds no contract anew. The file
// is the document; the copy only says what was in force last. *store.Store is one.
type policyCopy interface {
	Setting(key string) (value string, known bool, err error)
	SetSetting(key, value string) error
}

// policySetting is the key of the copy.
const policySetting = "fleet.policy"

// policyNews is what was found between the file and its copy at the start.
type policyNews struct {
	Deleted bool     // there was no file
	Back    []string // contracts whose anchors only the copy had, and that were put back
	Differs []policyDifference
}

// policyDifference is a contract that the file binds to something else than was
// in force last. What the file says counts.
type policyDifference struct {
	Contract   string
	File, Last string // identities
}

// reconcile returns the document to go on with, from what the file says and
// what the copy remembers:
//
//  1. Without a file the copy is the document.
//  2. A file of a later revision than the copy is one whose copy could not be
//     written: it is the document.
//  3. Else the file was put back from a backup, or edited. What it says counts;
//     of contracts that it knows nothing of, the copy's anchors stay in force.
//
// The revision rises where the document is neither the file nor the copy.
func reconcile(file, copied *FleetPolicy) (*FleetPolicy, policyNews) {
	var news policyNews
	switch {
	case copied == nil:
		if file == nil {
			file = &FleetPolicy{}
		}
		return file, news
	case file == nil: // 1
		news.Deleted, news.Back = true, slices.Sorted(maps.Keys(copied.Anchors))
		return copied, news
	case file.Revision > copied.Revision: // 2
		return file, news
	}
	back := map[string]route.Anchor{} // 3
	for _, name := range slices.Sorted(maps.Keys(copied.Anchors)) {
		last := copied.Anchors[name]
		switch a, known := file.Anchors[name]; {
		case !known:
			back[name] = last
			news.Back = append(news.Back, name)
		case !fleet.SameIdentity(a.Identity, last.Identity):
			news.Differs = append(news.Differs, policyDifference{name, a.Identity, last.Identity})
		}
	}
	if len(back) == 0 && file.Revision == copied.Revision {
		return file, news
	}
	next := file.anchored(back)
	next.Revision = copied.Revision + 1
	return next, news
}

// remembered reads the copy, nil when there is none. One that cannot be read is
// none: the file is what counts.
func remembered(c policyCopy) (*FleetPolicy, error) {
	if c == nil {
		return nil, nil
	}
	text, known, err := c.Setting(policySetting)
	if err != nil || !known {
		return nil, err
	}
	return parsePolicy([]byte(text))
}

// remember keeps the document as the copy.
func (f *policyFile) remember(doc *FleetPolicy) {
	if f.copy == nil {
		return
	}
	text, err := json.Marshal(doc)
	if err == nil {
		err = f.copy.SetSetting(policySetting, string(text))
	}
	if err != nil {
		f.log.Warn("the database does not remember what embedding contracts are bound to; fleet-policy.json does", "err", err)
	}
}

// tell logs what was found at the start.
func (f *policyFile) tell() {
	for _, p := range f.news.findings(f.doc.Load()) {
		f.log.Warn(p.Text + " " + p.Remedy)
	}
}

// findings are what the owner must know of it.
func (n policyNews) findings(doc *FleetPolicy) []admin.Finding {
	var found []admin.Finding
	if len(n.Back) > 0 {
		bound := make([]string, len(n.Back))
		for i, name := range n.Back {
			bound[i] = fmt.Sprintf("%s to %s", name, fleet.ShortIdentity(doc.Anchors[name].Identity))
		}
		how := "fleet-policy.json did not say"
		if n.Deleted {
			how = "fleet-policy.json was gone, which says"
		}
		found = append(found, finding("policy", "note",
			"To bind one to something else, set embeddings.NAME.identity to what its index was made with. This is told until the next start.",
			"%s what embedding contracts are bound to, and was put right from what the database remembers: %s.", how, strings.Join(bound, ", ")))
	}
	for _, d := range n.Differs {
		found = append(found, finding("policy", "warning",
			fmt.Sprintf("If its index was made with %s, set embeddings.%s.identity to that; else nothing has to be done. This is told until the next start.", fleet.ShortIdentity(d.Last), d.Contract),
			"fleet-policy.json binds the embedding contract %s to %s, but %s is what it was bound to last. What the file says counts.", d.Contract, fleet.ShortIdentity(d.File), fleet.ShortIdentity(d.Last)))
	}
	return found
}

// ExaminePolicy checks the fleet policy of a machine where no engine runs.
func ExaminePolicy(f desktop.Folders) []admin.Finding {
	if _, err := readPolicy(PolicyPath(f)); err != nil {
		return []admin.Finding{finding("policy", "broken", "", "%s", err)}
	}
	return nil
}
