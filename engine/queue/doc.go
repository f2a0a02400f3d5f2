// Package queue holds requests until a node may serve them. Dispatcher.Run owns
// every lane, hold, pin, circuit, grant and memory mirror, and lends them, one
// at a time, to those who post (engine/desk): methods named on... run only with
// that turn and take no lock; "the loop" is whoever has it. It never picks
// a node (engine/route does) nor sends a byte (engine/gateway does).
//
//	Submit --> place --Serve--> lane --slot free--> grant --> Answer on the ticket
//	            ^  \                ^                  |
//	            |   Hold --> holds -+                  +-- unused for 2 s, refused: back to its place
//	            |             |                        +-- Retry: place again, deployment excluded
//	            +-- change ---+                        +-- Released (slot) and Completed (record): over
//
// Everyone else posts messages to an unbounded desk and never waits. After
// each message the loop settles: lanes grant while slots are free, held
// requests that the change concerns are judged again, idle slots pull work
// from elsewhere. So at any instant between two messages nothing that could
// run is waiting, and a held request is placed before a later arrival.
//
// What must stay true: running <= slots in every lane; two grants in a row
// never overcommit memory (the mirror carries each load from its grant on); a
// ticket ends exactly once; a lane without requests does not exist.
package queue
