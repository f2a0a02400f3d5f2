package engine

// fine says what a check found when it found nothing wrong, so that whoever
// looks for a fault sees what has been looked at.
type fine struct {
	kind, title, text string
	unless            func(*scene) bool // it was not looked at; nil = it always is
}

var fineChecks = []fine{
	{kind: "pause", title: "Pause", text: "This machine is not paused."},
	{kind: "settings", title: "Settings file", text: "The settings file has no error, and all of it is in force."},
	{kind: "catalogue", title: "Catalogue of your own", text: "It has no error, or there is none."},
	{kind: "declarations", title: "Declarations", text: "No two declarations of models contradict each other."},
	{kind: "policy", title: "Fleet policy", text: "What the fleet agreed on is read and kept."},
	{kind: "keys", title: "API keys", text: "Nobody on another machine gets in without a key."},
	{kind: "node", title: "Other machines", text: "None of them is late or gone."},
	{kind: "battery", title: "Battery", text: "It keeps this machine from no work.", unless: noLocal},
	{kind: "meeting", title: "Meeting", text: "None keeps this machine from work.", unless: noLocal},
	{kind: "heat", title: "Heat", text: "The processors do not slow down because of it.", unless: func(s *scene) bool { return noLocal(s) || s.local().Readings.Thermal.Value == "" }},
	{kind: "version", title: "Versions of runtimes", text: "None of those here is known to be too old.", unless: noLocal},
	{kind: "parallel", title: "Parallel requests", text: "Of every runtime it is known how many requests it runs at once.", unless: noLocal},
	{kind: "model", title: "Models", text: "None is damaged or slower than it should be."},
	{kind: "capability", title: "Abilities of models", text: "Of every chat model it is known whether it can use tools and see."},
	{kind: "eval", title: "Quality", text: "There are no two chat models to choose among."},
	{kind: "memory.unknown", title: "Sizes of models", text: "Every size is known."},
	{kind: "deadline", title: "Deadlines of runtimes", text: "None is shorter than a load takes.", unless: noLocal},
	{kind: "alias", title: "Aliases", text: "None has lost a model."},
	{kind: "circuit", title: "Failures of models", text: "No model failed so often that it gets no requests."},
	{kind: "doubt", title: "Calls without an end", text: "The end of every call was seen."},
	{kind: "held", title: "Requests held", text: "None waits for somebody who can serve it."},
	{kind: "wait", title: "Queues", text: "In none has a request waited for a minute."},
	{kind: "failures", title: "Failed requests", text: "Of the last minutes' requests few failed, or none."},
	{kind: "store.dropped", title: "Lost records", text: "No decision record was lost since the start.", unless: func(s *scene) bool { return s.store.Dropped > 0 }},
	{kind: "store.unreadable", title: "Unreadable records", text: "No decision record was found damaged."},
	{kind: "log", title: "Log", text: "It is written to its file."},
	{kind: "clock", title: "Clock", text: "It went as time did in the last hour."},
}

func noLocal(s *scene) bool { return s.local() == nil }

// fines are the checks that found nothing wrong and have not said so themselves.
func fines(s *scene, said []check) (out []check) {
	kinds := map[string]bool{}
	for i := range said {
		kinds[checkKind(said[i].ID)] = true
	}
	for _, f := range fineChecks {
		if !kinds[f.kind] && (f.unless == nil || !f.unless(s)) {
			c := found(f.kind, isOK, f.title, "", "%s", f.text)
			c.silent = true
			out = append(out, c)
		}
	}
	return out
}
