// Package pulse notices what hangs, so that nothing stops silently.
//
//	Round   work that comes round again and again beside its owner (a look at the
//	        machine, at a runtime, at the login item): one that does not come back
//	        within its bound is given up, the next is begun, and its late result no
//	        longer counts
//	Watch   loops that own state: each is asked to come round once a second, and
//	        told of when it does not
//
// A round can be begun anew, since nobody but its owner takes the result. A loop
// that owns state cannot: its state is half changed, and a second loop beside it
// would change it at the same time. So it is told, and its owner restarts the
// program.
package pulse
