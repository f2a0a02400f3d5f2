package engine

import (
	"bellwether/engine/route"
)

// publish makes the policy in force anew, of the settings and the fleet policy
// as they are now, and has waiting requests judged by it. Called after either
// has changed; without a change it does nothing.
func (e *Engine) publish() {
	e.publishing.Lock()
	defer e.publishing.Unlock()
	now := policyParts{e.conf(), e.fleetPolicy.Current()}
	if now == e.published {
		return
	}
	p := now.config.PolicyWith(now.document)
	p.ToolKey = e.secret
	e.policy.Store(p)
	e.published = now
	if e.queue != nil { // else it is being made, and looks at the policy first of all
		e.queue.FleetChanged()
	}
}

// policyParts are what a policy is made of.
type policyParts struct {
	config   *Config
	document *FleetPolicy
}

// newBinder ties the embedding contracts of the settings to the fleet policy.
func (e *Engine) newBinder() *binder {
	return &binder{
		file: e.fleetPolicy, fleet: e.registry.Snapshot, changed: e.publish, log: e.log,
		contracts: func() map[string]route.Contract { return e.conf().contracts() },
	}
}
