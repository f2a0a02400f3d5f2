package task

import "bytes"

// address is what shows that words speak to the machinery instead of asking
// for something.
type address struct {
	override bool // "ignore ..."
	command  bool // "... route ..."
	sorts    bool // the command is one that apps give too: "classify ..."
	from     int  // where either begins
	swallow  int  // words after an address that still belong to it
}

// swallowed is how many words after an address may name where it points:
// "route this message to the coding model".
const swallowed = 6

// addressEnds is how far from either end of a text addresses are looked for,
// bytes.
const addressEnds = 900

// withoutAddresses returns a text without what it says to the machinery; the
// text itself when it says nothing to it, or nothing else.
func withoutAddresses(u []byte) []byte {
	var out []byte
	var a address
	var last token
	kept := 0 // all before is copied or left out
	for i := 0; i < len(u); {
		if end := len(u) - addressEnds; i > addressEnds && i < boundaryBefore(u, end) {
			i = boundaryBefore(u, end) // the middle is material
			a, last = address{}, token{}
		}
		t := next(u, i)
		if t.kind == none {
			break
		}
		if breakIn(u, i, t.start) > 0 || t.kind == mark && breakSize(u[t.start:]) > 0 {
			a, last = address{}, token{}
		}
		i = t.end
		switch t.kind {
		case mark:
			if kept > 0 && t.start == kept { // ends what was left out
				kept = t.end
			}
			a.swallow, last = 0, token{kind: mark}
			continue
		case sign:
			if t.class = classOfSigns(u, &t, &last); t.class != 0 {
				t.start = last.start
			}
		}
		if from, yes := a.take(&t, &last, u[t.start]); yes {
			if from > kept {
				out = append(out, u[kept:from]...)
			}
			kept = max(kept, t.end)
		}
		last = t
	}
	if kept == 0 {
		return u
	}
	if out = append(out, u[kept:]...); len(bytes.Trim(out, " \n.:!")) < 3 {
		return u
	}
	return out
}

// take takes the next word and reports whether all from a place to its end is
// to be left out.
//
//  1. An override and its object: "ignore all", "forget your instructions".
//  2. A command where to go and its object: "route this", "and forward it".
//     Speaking about routes is none: a command begins the sentence or follows
//     an "and", "please" and the like. To classify or switch is asked of
//     assistants too: such a command must name a part of the machinery.
//  3. The few words after either, up to a sign or a capital letter.
func (a *address) take(t, last *token, lead byte) (from int, yes bool) {
	from = a.from
	switch {
	case a.override && t.class&orders != 0, a.command && (t.class&(machine|orders) != 0 || !a.sorts && isOneOf(t.hash, pronouns)):
		yes, a.swallow = true, swallowed
	case a.swallow > 0 && (lead < 'A' || lead > 'Z') && t.kind != number:
		from, yes = last.end, true
		a.swallow--
	default:
		a.swallow = 0
	}
	switch {
	case t.class&override != 0 && t.class&orders == 0:
		a.override, a.from = true, t.start
	case t.class&(routing|sorting) != 0 && (last.kind != word || last.class&(orders|override) != 0 || isOneOf(last.hash, joins)):
		a.command, a.sorts, a.from = true, t.class&sorting != 0, t.start
	case yes || t.class == 0 && t.kind == word && !isOneOf(t.hash, joins) && !isOneOf(t.hash, pronouns):
		a.command = false
	}
	a.override = a.override && !yes
	return from, yes
}

var (
	joins    = hashesOf("and", "please", "must", "then", "always", "instead", "just", "set", "now", "und", "bitte", "et", "y", "и", "to")
	pronouns = hashesOf("this", "it", "me", "everything", "to", "dies", "diese", "das", "ceci", "cela", "esto", "это", "इसे", "هذا", "이것을", "als", "as")
)

func hashesOf(words ...string) (out []uint64) {
	for _, w := range words {
		out = append(out, hashOf(w))
	}
	return out
}

func isOneOf(h uint64, of []uint64) bool {
	for _, o := range of {
		if o == h {
			return true
		}
	}
	return false
}
