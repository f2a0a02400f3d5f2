package route

// MintToolCallID makes the id of a tool call that can be read back without a
// table: it carries a keyed tag of the identity of the model that made it.
func MintToolCallID(key []byte, identity string, n uint64) string { return "" }

// ReadToolCallID returns the tag a tool-call id carries; ok is false for ids
// that were not minted with this key.
func ReadToolCallID(key []byte, id string) (tag string, ok bool) { return "", false }

// IdentityTag returns the tag that ids minted for an identity carry.
func IdentityTag(key []byte, identity string) string { return "" }
