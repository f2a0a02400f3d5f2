package route

import "bellwether/engine/fleet"

// countOthers counts, per code, what would keep out the deployments nobody
// asked for. It goes over the whole fleet for every request, so it looks only
// at what is at hand: no plan, no calibration, no text.
func (j *judge) countOthers() {
	var counts [len(counted)]int
	for i := range j.nodes {
		n := &j.nodes[i]
		var node [len(counted)]bool
		for _, x := range n.out {
			node[codeIndex(x.Code)] = true
		}
		evictable := int64(-1)
		for k := range n.Deployments {
			d := &n.Deployments[k]
			if n.asked[k] {
				continue
			}
			out := node
			j.checkOther(n, d, &out, &evictable)
			for code, is := range out {
				if is {
					counts[code]++
				}
			}
		}
	}
	for i, count := range counts {
		if count > 0 {
			if j.d.OtherCodes == nil {
				j.d.OtherCodes = make(map[fleet.Code]int, 4)
			}
			j.d.OtherCodes[counted[i]] = count
		}
	}
}

func (j *judge) checkOther(n *nodeView, d *fleet.Deployment, out *[len(counted)]bool, evictable *int64) {
	q := &j.q.Needs
	out[idxDisabled] = d.Disabled
	out[idxUnhealthy] = d.Unhealthy != ""
	out[idxRole] = d.Can(roleCapability(q.Role)).Support == fleet.No
	out[idxLocality] = j.localOnly() && d.ID.Node != j.q.Origin
	out[idxCapability] = j.lacks(d)
	out[idxRemoteImage] = q.RemoteImage && !j.p.RemoteImages
	if most := settable(d); most > 0 && !q.Truncates {
		out[idxContext] = q.Tokens.Input > most
	}
	for _, f := range q.Fields {
		out[idxField] = out[idxField] || !q.honoured(f, d)
	}
	rt := n.Runtime(d.ID.Runtime)
	out[idxNoRuntime] = rt == nil || !rt.Up
	if len(j.v.Open) > 0 {
		out[idxCircuit] = j.v.Open[d.ID].KeepsOut(q.App)
	}
	if size := d.Size(); d.Residency == fleet.OnDisk && size > 0 && rt != nil {
		if p := n.pool(rt.Pool); p != nil && p.measured && size > p.available {
			if *evictable < 0 {
				*evictable = 0
				for _, v := range j.victimsOf(n) {
					*evictable += v.dep.Size()
				}
			}
			out[idxMemory] = size > p.available+*evictable
		}
	}
}

// counted lists the codes that are counted for others, in their order.
var counted = [...]fleet.Code{
	fleet.CodeDisabled, fleet.CodeUnhealthy, fleet.CodeRole, fleet.CodeLocality, fleet.CodeCapability,
	fleet.CodeRemoteImage, fleet.CodeContext, fleet.CodeFieldNotHonoured, fleet.CodeNoRuntime,
	fleet.CodeMemory, fleet.CodeCircuitOpen,
	fleet.CodeOffline, fleet.CodeDraining, fleet.CodePressure, fleet.CodePaused, fleet.CodeBattery,
	fleet.CodeMeeting, fleet.CodeBusy, fleet.CodeAvailability, fleet.CodeObserving, fleet.CodeBound,
}

// Places in counted.
const (
	idxDisabled = iota
	idxUnhealthy
	idxRole
	idxLocality
	idxCapability
	idxRemoteImage
	idxContext
	idxField
	idxNoRuntime
	idxMemory
	idxCircuit
)

func codeIndex(code fleet.Code) int {
	for i, c := range counted {
		if c == code {
			return i
		}
	}
	return idxUnhealthy // cannot be: a test walks all codes checkNode gives
}
