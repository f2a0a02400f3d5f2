// Package route decides which machine serves a request, and explains it.
//
//	dialect.Request --Read--> Requirements --+
//	                                         v
//	fleet.Snapshot, lanes, pins,  ------>  Decide  ------>  Decision
//	pools, evidence, now (View)              ^              |  |  |
//	settings (Policy) -----------------------+              |  |  +-- Explain, ToRecord
//	                                                        |  +----- RefusalProblem
//	                                                        +-------- Plan: what serving takes
//
// Inside Decide one judge walks the request's way:
//
//	resolve   the name becomes listed models: aliases first, then fallbacks (names.go)
//	look      each deployment of them is checked (filter_*.go, memory.go, context.go)
//	          and, if nothing is in its way, scored by eight signals (signals.go)
//	choose    model first, then node; else wait, pull or refuse (decide.go, rank.go, pull.go)
//
// Everything here is pure: values in, values out. It reads no clock (now is in
// the View), takes no lock, writes no log and asks nobody; the same input gives
// the same bytes, whatever the order of machines in it. So a decision can be
// replayed from its scenario (scenario.go), which is how the tests are written.
//
// It never sends anything and owns no state: lanes, holds and pins belong to
// engine/queue, the memory to the node's agent, who has the last word.
package route
