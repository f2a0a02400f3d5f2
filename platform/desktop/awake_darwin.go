package desktop

import (
	"github.com/ebitengine/purego"
	"github.com/ebitengine/purego/objc"
)

// Of NSActivityOptions: NSActivityUserInitiatedAllowingIdleSystemSleep (no App
// Nap, no sudden termination, the machine may sleep), and
// NSActivityLatencyCritical (timers fire on time).
const (
	activityUserInitiated   = 0x00FFFFFF
	activityNoIdleSleep     = 1 << 20
	activityLatencyCritical = 0xFF00000000
)

func stayAwake(why string) func() {
	if _, err := purego.Dlopen("/System/Library/Frameworks/Foundation.framework/Foundation", purego.RTLD_GLOBAL|purego.RTLD_LAZY); err != nil {
		return func() {} // as before: slower, and no worse
	}
	info := objc.ID(objc.GetClass("NSProcessInfo")).Send(objc.RegisterName("processInfo"))
	text := objc.ID(objc.GetClass("NSString")).Send(objc.RegisterName("stringWithUTF8String:"), why+"\x00")
	options := uint64(activityUserInitiated&^activityNoIdleSleep | activityLatencyCritical)
	activity := info.Send(objc.RegisterName("beginActivityWithOptions:reason:"), options, text)
	if activity == 0 {
		return func() {}
	}
	activity.Send(objc.RegisterName("retain"))
	return func() {
		info.Send(objc.RegisterName("endActivity:"), activity)
		activity.Send(objc.RegisterName("release"))
	}
}
