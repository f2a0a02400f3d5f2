//go:build !(linux && desktop && production)

package inside

// Keep is the pages' own doing here: they hand links that lead out to the
// engine, and the web views of these systems are not to be reached through the
// toolkit. What becomes of a page whose process ended is the toolkit's too.
func Keep(Origin, func(why string)) {}
