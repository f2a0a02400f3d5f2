package desktop

// StayAwake keeps the system from slowing this program down while it has no
// window: macOS naps such apps, and one that answers on localhost then takes
// seconds. The machine may still sleep. why is shown where the system lists
// what is active; release ends it. Elsewhere nothing naps, and it does nothing.
func StayAwake(why string) (release func()) { return stayAwake(why) }
