package desktop

import "testing"

// T-06: an app that is never looked at is napped by macOS, and answers on
// localhost after seconds. What is asked for keeps naps away, and lets the
// machine sleep.
func TestT06StayingAwakeForbidsNapsAndLetsTheMachineSleep(t *testing.T) {
	var asked uint64
	var why string
	ended := 0
	release := stayAwake(func(options uint64, reason string) func() {
		asked, why = options, reason
		return func() { ended++ }
	}, "Bellwether answers requests")
	// Values of NSActivityOptions in Apple's NSProcessInfo.h.
	const (
		userInitiatedAllowingIdleSystemSleep = 0x00FFFFFF &^ (1 << 20)
		idleSystemSleepDisabled              = 1 << 20
		idleDisplaySleepDisabled             = 1 << 40
		latencyCritical                      = 0xFF00000000
	)
	switch {
	case asked&userInitiatedAllowingIdleSystemSleep != userInitiatedAllowingIdleSystemSleep:
		t.Errorf("%#x lets the app nap", asked)
	case asked&latencyCritical != latencyCritical:
		t.Errorf("%#x lets timers wait", asked)
	case asked&(idleSystemSleepDisabled|idleDisplaySleepDisabled) != 0:
		t.Errorf("%#x keeps the machine or its screen from sleeping", asked)
	case why != "Bellwether answers requests":
		t.Errorf("the system is told %q", why)
	case ended != 0:
		t.Error("it ended before it was released")
	}
	release()
	release()
	if ended != 1 {
		t.Errorf("it was ended %d times, want once: the system counts a second end against somebody else's object", ended)
	}
}

func TestWhereNothingNapsStayingAwakeIsNothing(t *testing.T) {
	stayAwake(func(uint64, string) func() { return nil }, "x")()
	StayAwake("x")()
}
