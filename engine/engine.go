// Package engine is the product without a screen: it assembles store,
// evidence, fleet registry, dispatcher, agent and gateway from one Config and
// runs them until its context ends.
package engine
