package route

// Decide finds the place for one request.
func Decide(v *View, p *Policy, q *Query) *Decision { return &Decision{Verdict: Refuse} }
