package queue

import (
	"container/list"
	"time"

	"bellwether/engine/fleet"
	"bellwether/engine/route"
)

// pins remembers where sessions were last served with success (routing.md 13).
// The least recently used goes first, by age or when there are too many.
type pins struct {
	byKey map[string]route.Pin // the view's
	order list.List            // of session keys, least recently used first
	at    map[string]*list.Element
	ttl   time.Duration
	most  int
}

func (p *pins) init() {
	p.byKey = map[string]route.Pin{}
	p.at = map[string]*list.Element{}
}

func (p *pins) limit(policy *route.Policy) { p.ttl, p.most = policy.PinTTL, policy.PinMax }

// set pins a session, replacing its older pin.
func (p *pins) set(key string, pin route.Pin) {
	p.drop(key)
	p.byKey[key] = pin
	p.at[key] = p.order.PushBack(key)
	for p.most > 0 && len(p.byKey) > p.most {
		p.drop(p.order.Front().Value.(string))
	}
}

func (p *pins) drop(key string) {
	if e := p.at[key]; e != nil {
		p.order.Remove(e)
		delete(p.at, key)
		delete(p.byKey, key)
	}
}

// expire forgets the pins that have idled out.
func (p *pins) expire(now time.Time) {
	for e := p.order.Front(); e != nil; e = p.order.Front() {
		key := e.Value.(string)
		if p.ttl <= 0 || now.Sub(p.byKey[key].At) < p.ttl {
			return
		}
		p.drop(key)
	}
}

// pin records where a request of a session was served, after a validated
// completion only. A first turn reads a pin and sets none.
func (d *Dispatcher) pin(t *Ticket, g *grant) {
	if key := t.q.Needs.Session; key != "" && t.q.Needs.SessionPins {
		d.pins.set(key, route.Pin{Deployment: g.dep, Identity: identity(g.lane.node, g.dep), At: d.now})
	}
}

// identity is what a deployment's model is known by, as last reported.
func identity(n *node, id fleet.DeploymentID) string {
	if n.src != nil {
		if dep := n.src.Deployment(id); dep != nil {
			return dep.Identity()
		}
	}
	return fleet.CanonicalModel(id.Model)
}

// Unpin forgets where a session was served.
func (d *Dispatcher) Unpin(session string) {
	d.desk.Post(question(func() { d.pins.drop(session) }))
}
