package app

import (
	"encoding/json"
	"errors"
	"fmt"

	"bellwether/engine/admin"
)

// picture is what the feed has told so far. Its owner is the follower; others
// get copies of what it shows.
type picture struct {
	seq         uint64
	engine      admin.EngineView
	nodes       map[string]admin.NodeView
	deployments map[string]admin.DeploymentView
	lanes       map[string]admin.LaneView
	findings    map[string]admin.FindingView
}

// errGap says that frames were lost: a hello has to be asked for.
var errGap = errors.New("frames of the feed were lost")

// frame is a hello or a delta as far as the tray cares.
type frame struct {
	Type  string `json:"type"`
	Seq   uint64 `json:"seq"`
	State *struct {
		Meta        map[string]admin.EngineView     `json:"meta"`
		Nodes       map[string]admin.NodeView       `json:"nodes"`
		Deployments map[string]admin.DeploymentView `json:"deployments"`
		Lanes       map[string]admin.LaneView       `json:"lanes"`
		Findings    map[string]admin.FindingView    `json:"findings"`
	} `json:"state"`
	Set map[admin.Section]map[string]json.RawMessage `json:"set"`
	Del map[admin.Section][]string                   `json:"del"`
}

// apply takes a frame in.
func (p *picture) apply(text []byte) error {
	var f frame
	if err := json.Unmarshal(text, &f); err != nil {
		return fmt.Errorf("a frame of the feed cannot be read: %w", err)
	}
	switch f.Type {
	case admin.FrameHello:
		if f.State == nil {
			return errors.New("a hello of the feed has no state")
		}
		*p = picture{seq: f.Seq, engine: f.State.Meta[admin.MetaEngine], nodes: whole(f.State.Nodes), deployments: whole(f.State.Deployments), lanes: whole(f.State.Lanes), findings: whole(f.State.Findings)}
		return nil
	case admin.FrameDelta:
		if p.nodes == nil || f.Seq != p.seq+1 { // nothing is known before a hello
			return errGap
		}
		p.seq = f.Seq
		return p.delta(&f)
	case admin.FrameResync:
		return errGap
	}
	return nil // of a later version
}

func (p *picture) delta(f *frame) error {
	if raw, there := f.Set[admin.SectionMeta][admin.MetaEngine]; there {
		var e admin.EngineView // afresh: a value replaces the one before as a whole
		if err := json.Unmarshal(raw, &e); err != nil {
			return fmt.Errorf("a frame of the feed cannot be read: %w", err)
		}
		p.engine = e
	}
	return errors.Join(
		merge(p.nodes, f, admin.SectionNodes),
		merge(p.deployments, f, admin.SectionDeployments),
		merge(p.lanes, f, admin.SectionLanes),
		merge(p.findings, f, admin.SectionFindings))
}

func merge[V any](into map[string]V, f *frame, section admin.Section) error {
	for key, raw := range f.Set[section] {
		var v V
		if err := json.Unmarshal(raw, &v); err != nil {
			return fmt.Errorf("a frame of the feed cannot be read: %w", err)
		}
		into[key] = v
	}
	for _, key := range f.Del[section] {
		delete(into, key)
	}
	return nil
}

func whole[V any](m map[string]V) map[string]V {
	if m == nil {
		return map[string]V{}
	}
	return m
}
