// Package evidence holds what is known of a deployment's behaviour and how it
// is known: measured latencies, token counts, load times, capabilities found
// by probes. Ledger owns it; others read an immutable *Book.
package evidence

// Book is everything known at one instant. It is never changed once
// published; the zero Book knows nothing.
type Book struct{}
