// Package taskmodel trains the weights of engine/task and measures them.
//
// What it trains on is what Gather brings together: open instruction sets that
// lie in a folder (sources.go says which), prompts that templates in ten
// languages make with those sets' texts (templates/), and, made from both, what
// happens around prompts: system texts, earlier turns, sentences that try to
// steer. Everything is drawn with fixed seeds: the same folder gives the same
// weights.
package taskmodel

import "bellwether/engine/task"

// Row is one labelled request.
type Row struct {
	Source string // where it comes from: groups are weighed and held out by it
	Lang   string
	Label  task.Task
	// Any is set for texts that ask for nothing: every task is as likely.
	Any   bool
	Input task.Input
}

func row(source, lang string, label task.Task, user string) Row {
	return Row{Source: source, Lang: lang, Label: label, Input: task.Input{User: []byte(user), Turns: 1}}
}
