package route

import (
	"slices"
	"strings"
	"time"

	"bellwether/engine/fleet"
)

// Contract is an embedding alias: a name whose vectors are all of one space,
// because only deployments that share one known identity answer for it
// (routing.md 13).
type Contract struct {
	// Members are names of models or ids of deployments, in contract order.
	Members    []string
	Identity   string // declared by its owner, "" = none
	Dimensions int    // of every vector, 0 = not declared
	Normalized bool   // every vector has unit length
	// Anchor is what the contract is bound to, nil while it is not.
	Anchor *Anchor
}

// Anchor is the identity a contract's vectors are made by. It comes from the
// owner or from what runtimes report of weights, never from an answer.
type Anchor struct {
	Identity string `json:"identity"`
	// Quantization of the deployment it came from, where known: one declaration
	// may cover weights that are not alike.
	Quantization string       `json:"quantization,omitempty"`
	Source       AnchorSource `json:"source"`
	From         string       `json:"from,omitempty"` // deployment it came from, "" = the contract's own declaration
	At           time.Time    `json:"at,omitzero"`
}

// AnchorSource says how a contract came to its anchor.
type AnchorSource string

// Sources of an anchor, strongest first.
const (
	AnchorDeclared AnchorSource = "declared" // by the contract, or by its members alike
	AnchorRecorded AnchorSource = "recorded" // declared once, and kept since it no longer is
	AnchorBound    AnchorSource = "bound"    // of the first member in contract order whose identity was known
)

// ContractFor returns the embedding contract a name stands for and its key, nil
// if it stands for none. A ":latest" that some clients add is no part of it.
func (p *Policy) ContractFor(name string) (c *Contract, key string) {
	if len(p.Contracts) == 0 {
		return nil, ""
	}
	key = strings.TrimSuffix(strings.ToLower(name), ":latest")
	if c, ok := p.Contracts[key]; ok {
		return &c, key
	}
	return nil, ""
}

// Bindable is what an unbound contract could be bound to.
type Bindable struct {
	Anchor *Anchor // nil: nothing is known, or too much
	// Several lists the identities that members declare, when they do not agree.
	Several []string
}

// Bind finds the anchor for a contract that has none: what the contract
// declares, else what its members declare alike, else the identity of the first
// member in contract order that has a known one. Of several deployments of one
// member the least id counts. It looks at what is installed, not at who is
// well: weights stay what they are while their machine sleeps.
func (c *Contract) Bind(f *fleet.Snapshot) Bindable {
	if c.Identity != "" {
		return Bindable{Anchor: &Anchor{Identity: c.Identity, Source: AnchorDeclared}}
	}
	members := c.deployments(f)
	var declares *member
	var several []string
	for i := range members {
		said := members[i].dep.DeclaredIdentity
		if said == "" || slices.ContainsFunc(several, func(s string) bool { return fleet.SameIdentity(s, said) }) {
			continue
		}
		several = append(several, said)
		if declares == nil {
			declares = &members[i]
		}
	}
	if len(several) > 1 {
		return Bindable{Several: several}
	}
	if declares != nil {
		return Bindable{Anchor: declares.anchor(declares.dep.DeclaredIdentity, AnchorDeclared)}
	}
	for i := range members {
		if identity, ok := members[i].dep.KnownIdentity(); ok {
			return Bindable{Anchor: members[i].anchor(identity, AnchorBound)}
		}
	}
	return Bindable{}
}

// member is one deployment of a contract.
type member struct {
	node  *fleet.Node
	dep   *fleet.Deployment
	order int // of the member it fills
}

func (m *member) anchor(identity string, s AnchorSource) *Anchor {
	id := m.dep.ID
	id.Node = m.node.Name
	return &Anchor{Identity: identity, Quantization: m.dep.Quantization, Source: s, From: id.String()}
}

// deployments lists the contract's members as the fleet has them, in contract
// order, then by id. What its operator switched off, or makes no embeddings, is
// no member.
func (c *Contract) deployments(f *fleet.Snapshot) []member {
	var out []member
	for i := range f.Nodes {
		n := &f.Nodes[i]
		for k := range n.Deployments {
			d := &n.Deployments[k]
			if d.Disabled || d.Can(fleet.CapEmbedding).Support == fleet.No {
				continue
			}
			order := slices.IndexFunc(c.Members, func(name string) bool { return isMember(name, n, d) })
			if order >= 0 {
				out = append(out, member{n, d, order})
			}
		}
	}
	slices.SortFunc(out, func(a, b member) int {
		if a.order != b.order {
			return a.order - b.order
		}
		return a.dep.ID.Compare(b.dep.ID)
	})
	return out
}

// isMember reports whether a member's name, of a model or of a deployment with
// its node's id or name, means a deployment.
func isMember(name string, n *fleet.Node, d *fleet.Deployment) bool {
	if fleet.SameModel(name, d.ID.Model) || slices.ContainsFunc(d.AlsoNamed, func(o string) bool { return fleet.SameModel(name, o) }) {
		return true
	}
	id, ok := fleet.ParseDeploymentID(name)
	return ok && id.Runtime == d.ID.Runtime && fleet.SameModel(id.Model, d.ID.Model) &&
		(id.Node == n.Node || strings.EqualFold(id.Node, n.Name))
}

// MemberState is one deployment of a contract and what it may do for it.
type MemberState struct {
	Deployment fleet.DeploymentID
	Out        *Exclusion // why it is no replica, nil = it is one
}

// MembersOf says which deployments of the fleet may answer for a contract, and
// which of its members no machine has.
func (p *Policy) MembersOf(key string, f *fleet.Snapshot) (all []MemberState, absent []string) {
	c, ok := p.Contracts[key]
	if !ok {
		return nil, nil
	}
	has := make([]bool, len(c.Members))
	for _, m := range c.deployments(f) {
		has[m.order] = true
		s := MemberState{Deployment: m.dep.ID}
		if x, out := c.outside(key, m.node.Name, m.dep); out {
			s.Out = &x
		}
		all = append(all, s)
	}
	for i, name := range c.Members {
		if !has[i] {
			absent = append(absent, name)
		}
	}
	return all, absent
}

// Kinds of the identity_differs exclusion: its first operand.
const (
	differsOther        = "other"        // another model than the anchor
	differsAgain        = "again"        // where the anchor came from, pulled again since
	differsQuantization = "quantization" // declared the same, and quantised otherwise
	differsSpace        = "space"        // not the weights this request began with
)

// outside says why a deployment is no replica of a contract: nobody knows its
// identity, or it is another one than the anchor's, whatever its dimensions.
func (c *Contract) outside(key, node string, d *fleet.Deployment) (x Exclusion, out bool) {
	known, ok := d.KnownIdentity()
	anchor := ""
	if c.Anchor != nil {
		anchor = fleet.ShortIdentity(c.Anchor.Identity)
	}
	if !ok {
		twin := ""
		if len(d.AlsoNamed) > 0 {
			twin = d.AlsoNamed[0]
		}
		return Exclusion{Code: fleet.CodeIdentityUnknown, Operands: []any{d.ID.Model, node, d.Kind, key, anchor, twin}}, true
	}
	if c.Anchor == nil {
		return Exclusion{}, false
	}
	differs := ""
	switch a := c.Anchor; {
	case !d.HasIdentity(a.Identity):
		differs = differsOther
		if id := (fleet.DeploymentID{Node: node, Runtime: d.ID.Runtime, Model: d.ID.Model}); id.String() == a.From {
			differs = differsAgain
		}
	case d.Digest == "" && a.Quantization != "" && d.Quantization != "" && !strings.EqualFold(a.Quantization, d.Quantization):
		differs, known = differsQuantization, d.Quantization
		anchor = a.Quantization
	default:
		return Exclusion{}, false
	}
	return Exclusion{Code: fleet.CodeIdentityDiffers,
		Operands: []any{differs, d.ID.Model, node, fleet.ShortIdentity(known), key, anchor}}, true
}

// Outside says why a deployment is no replica of the contract called key, nil
// where it is one; node is what people call its node.
func (c *Contract) Outside(key, node string, d *fleet.Deployment) *Exclusion {
	if x, out := c.outside(key, node, d); out {
		return &x
	}
	return nil
}

func identityWords(x Exclusion) (reason, remedy string) {
	if x.Code == fleet.CodeIdentityUnknown {
		reason = "nobody knows what the weights of " + x.text(0) + " on " + x.text(1) + " are: " + x.text(2) + " reports no digest"
		if twin := x.text(5); twin != "" { // the file is known, and how it is served is not
			reason = x.text(0) + " on " + x.text(1) + " serves the file of " + twin + ", but " + x.text(2) + " tells neither a digest nor how it pools"
		}
		if anchor := x.text(4); anchor != "" {
			return reason, "if its vectors are those that " + x.text(3) + " is bound to, say so with deployments[].identity: " + anchor
		}
		return reason, "declare what they are with deployments[].identity"
	}
	model, node, known, contract, anchor := x.text(1), x.text(2), x.text(3), x.text(4), x.text(5)
	set := "re-index what was made with it, then set embeddings." + contract + ".identity to " + known
	switch x.text(0) {
	case differsAgain:
		return model + " on " + node + " was pulled again and is now " + known + ", while the vectors of " + contract + " are of " + anchor,
			set + "; or fetch the old one again"
	case differsQuantization:
		return model + " on " + node + " is quantised as " + known + ", while the vectors of " + contract + " are of " + anchor,
			"serve it as " + anchor + " there, or leave it out of " + contract
	case differsSpace:
		return model + " on " + node + " is not known to have the weights that this request began with: its vectors may not fit",
			"install the same one on both, or name one deployment"
	default:
		return model + " on " + node + " is " + known + ", while the vectors of " + contract + " are of " + anchor + ": they would not fit",
			"leave it out of " + contract + ", or " + set
	}
}
