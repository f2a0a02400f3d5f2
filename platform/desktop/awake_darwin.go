package desktop

import (
	"github.com/ebitengine/purego"
	"github.com/ebitengine/purego/objc"
)

// beginActivity tells macOS that this process is at work: see stayAwake.
func beginActivity(options uint64, why string) (end func()) {
	if _, err := purego.Dlopen("/System/Library/Frameworks/Foundation.framework/Foundation", purego.RTLD_GLOBAL|purego.RTLD_LAZY); err != nil {
		return nil
	}
	info := objc.ID(objc.GetClass("NSProcessInfo")).Send(objc.RegisterName("processInfo"))
	text := objc.ID(objc.GetClass("NSString")).Send(objc.RegisterName("stringWithUTF8String:"), why+"\x00")
	activity := info.Send(objc.RegisterName("beginActivityWithOptions:reason:"), options, text)
	if activity == 0 {
		return nil
	}
	activity.Send(objc.RegisterName("retain"))
	return func() {
		info.Send(objc.RegisterName("endActivity:"), activity)
		activity.Send(objc.RegisterName("release"))
	}
}
