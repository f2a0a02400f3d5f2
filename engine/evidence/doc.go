// Package evidence holds what is known of a model's behaviour on a machine and
// how it is known: how long answers take, how much they say, how long a load
// takes, how fast prompts are read, how many requests a runtime really runs.
//
// Ledger owns what was measured, behind one mutex; any goroutine may report to
// it. Everyone else reads a *Book, a picture of one instant that is never
// changed. The package decides nothing: it says a figure and how many samples
// stand behind it, and the router says what that is worth.
//
// Only validated completions count (a parsed answer with a finish reason): a
// failure is fast for the wrong reason and would make a broken node look good.
package evidence
