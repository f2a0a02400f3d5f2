package route

import "bellwether/engine/dialect"

// RefusalProblem returns what the client is told when no place was found.
// held is set when the request waited its time in the holding list.
func RefusalProblem(d *Decision, q *Query, held bool) *dialect.Problem { return &dialect.Problem{} }
