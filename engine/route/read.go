package route

import (
	"bellwether/engine/dialect"
	"bellwether/engine/evidence"
)

// Meta is what Read may know of a request beyond its body.
type Meta struct {
	// Header returns a header of the request ("" = absent); nil = none at all.
	// http.Header.Get fits.
	Header func(name string) string
	// KeyName is the name of the API key the app used, "" = none.
	KeyName string
	// KeyBatch is set for keys whose requests are of class batch.
	KeyBatch bool
	// MayPull is set when the caller may cause a pull (the manage right).
	MayPull bool
	// TagKey is the fleet's key for tool-call ids (Policy.TagKey).
	TagKey []byte
	Book   *evidence.Book
}

// Read extracts what a request needs from its structure.
func Read(r *dialect.Request, m Meta) Requirements { return Requirements{} }

// Fallbacks returns the models the request lists behind its first choice: the
// body's fallback_models, else the header X-Fleet-Fallbacks (comma-separated).
func Fallbacks(r *dialect.Request, m Meta) []string { return nil }
