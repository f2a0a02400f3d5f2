// Package measure finds out what models can do by asking them: an eval counts
// the right answers to items with known ones, a probe establishes capabilities.
//
// It owns the suites (items, graders, the sandbox that runs code a model
// wrote), plans that tell what a run costs before it begins, and the runs
// themselves with the journal they go on from. It asks through the interface
// Asker, so every question is placed, reserved for and recorded as an app's;
// it never speaks to a runtime, chooses a node, or concludes who a model is.
// A run works on its caller's goroutine.
package measure
