// Package agent is the node role: it knows this machine's runtimes, memory
// and owner's wishes, reports them as heartbeats, and has the last word on
// every granted request (a grant may be refused until its first byte).
//
//	            Discover, Inventory, sense        (goroutines that report back)
//	                        |
//	Do --- admission --> the loop --- Heartbeat --> Config.Report
//	 |                   owns: pools (budget.Ledger), slots, pause, loads
//	 |                      ^
//	 +--> adapter.Do        | ended, once per grant ---> Config.Release
//	       = Running -------+
//
// Agent.Run owns all of the node's state and lends it, one at a time, to those
// who post messages (engine/desk): methods named on... run only with that turn
// and take no lock; "the loop" is whoever has it. It never waits for a runtime,
// a disk or a client: loads, polls and saves run beside it and come back as messages.
// Requests run on their caller's goroutine (Do, Running.Next), with a timer
// each for their deadlines and no goroutine of their own.
//
// The package never chooses among nodes or models (engine/route) and never
// speaks a runtime's wire format (engine/runtime).
package agent
