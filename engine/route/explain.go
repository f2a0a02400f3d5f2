package route

// Explain returns the decision in words, as `explain` prints it.
func (d *Decision) Explain() string { return "" }

// ToRecord begins the record of a request from its decision. The gateway adds
// timing, usage and outcome.
func ToRecord(d *Decision, q *Query) *Record { return &Record{} }
