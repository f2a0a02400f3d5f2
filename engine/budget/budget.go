// Package budget is the ledger of a memory pool: what is resident, reserved,
// assumed or held as uncertain, and whether one more deployment may come in
// (routing.md 10). One implementation, used by the agent as the truth and by
// the router as its mirror.
//
// A Ledger is a plain value owned by one goroutine: it touches no clock, log,
// lock or file; now is an argument, and its whole state is exported for
// persistence.
package budget
