package fleet

// Code names why a candidate is out (routing.md 3). Codes are part of the API.
type Code string

// Model-level codes, then node-level codes.
const (
	CodeDisabled         Code = "disabled"
	CodeUnhealthy        Code = "unhealthy"
	CodeRole             Code = "role"
	CodeLocality         Code = "locality"
	CodeAliasConstraint  Code = "alias_constraint"
	CodeCapability       Code = "capability"
	CodeRemoteImage      Code = "remote_image"
	CodeContext          Code = "context"
	CodeFieldNotHonoured Code = "field_not_honoured"
	CodeAdmission        Code = "admission"
	// Ours, of embeddings: vectors of different weights must never mix.
	CodeIdentityUnknown Code = "identity_unknown" // nobody knows what its weights are
	CodeIdentityDiffers Code = "identity_differs" // its weights are others than those asked for

	CodeOffline       Code = "offline"
	CodeDraining      Code = "draining"
	CodeNoRuntime     Code = "no_runtime"
	CodeModelAbsent   Code = "model_absent"
	CodeMemory        Code = "memory"
	CodePressure      Code = "pressure"
	CodePaused        Code = "paused"
	CodeBattery       Code = "battery"
	CodeMeeting       Code = "meeting"
	CodeBusy          Code = "busy"
	CodeAvailability  Code = "availability"
	CodeObserving     Code = "observing"
	CodeFailedBefore  Code = "failed_before"
	CodeCircuitOpen   Code = "circuit_open"
	CodeUncertainHold Code = "uncertain_hold" // ours: a timed-out call may still run there
	CodeBound         Code = "bound"          // ours: the request is bound to another node or model
)

var holdable = map[Code]bool{
	CodeUnhealthy: true, CodeAdmission: true, CodeOffline: true, CodeDraining: true,
	CodeNoRuntime: true, CodeMemory: true, CodePressure: true, CodePaused: true,
	CodeBattery: true, CodeMeeting: true, CodeBusy: true, CodeAvailability: true,
	CodeCircuitOpen: true, CodeUncertainHold: true,
}

// Away reports whether a node takes no work at all until its owner or its state
// changes: to ask it for something else, or again at once, is of no use.
func (c Code) Away() bool {
	switch c {
	case CodeDraining, CodePressure, CodePaused, CodeBattery, CodeMeeting:
		return true
	}
	return false
}

// Holdable reports whether waiting may cure the code. CodeMemory is holdable
// only while some pool could ever hold the model: the exclusion says so itself.
func (c Code) Holdable() bool { return holdable[c] }
