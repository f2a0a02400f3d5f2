package desktop

import "sync"

// StayAwake keeps the system from slowing this program down while it has no
// window: macOS naps such apps, and one that answers on localhost then takes
// seconds. The machine may still sleep. why is shown where the system lists
// what is active; release ends it, once however often it is called. Elsewhere
// nothing naps, and it does nothing.
func StayAwake(why string) (release func()) { return stayAwake(beginActivity, why) }

// Of macOS' NSActivityOptions: what a user started (no nap, no sudden
// termination), the part of it that keeps the machine from sleeping, and timers
// that fire on time.
const (
	activityUserInitiated   uint64 = 0x00FFFFFF
	activityNoIdleSleep     uint64 = 1 << 20
	activityLatencyCritical uint64 = 0xFF00000000
)

// awakeOptions is what StayAwake asks for: an activity as if its user waited
// for it, in which the machine may sleep when nobody uses it.
const awakeOptions = activityUserInitiated&^activityNoIdleSleep | activityLatencyCritical

// stayAwake begins an activity by the system's means. begin returns what ends
// it, nil = the system has none: Bellwether is then slower, and no worse.
func stayAwake(begin func(options uint64, why string) (end func()), why string) (release func()) {
	end := begin(awakeOptions, why)
	if end == nil {
		return func() {}
	}
	return sync.OnceFunc(end)
}
