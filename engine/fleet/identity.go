package fleet

import "strings"

// KnownIdentity returns what a deployment's weights are known by: the digest
// its runtime reports, else what its operator declares where the runtime
// reports none. ok is false when neither is there: its name alone says nothing
// about its weights, so it must not stand in for another deployment.
func (d *Deployment) KnownIdentity() (identity string, ok bool) {
	if d.Digest != "" {
		return d.Digest, true
	}
	return d.DeclaredIdentity, d.DeclaredIdentity != ""
}

// HasIdentity reports whether a deployment's weights are known to be those that
// an identity names. What is declared counts only where nothing is reported: a
// model that was pulled again is another one whatever was said of it before.
// This is the one place to widen when more of the weights becomes known.
func (d *Deployment) HasIdentity(identity string) bool {
	known, ok := d.KnownIdentity()
	return ok && SameIdentity(known, identity)
}

// leastDigits is how many hexadecimal digits name a digest; Ollama lists so many.
const leastDigits = 12

// SameIdentity reports whether two texts name one identity. Digests match in
// either case, with or without "sha256:", and by their first 12 digits or more,
// as people copy them from lists; other identities only as a whole.
func SameIdentity(a, b string) bool {
	if a == b {
		return a != ""
	}
	a, b = plainDigest(a), plainDigest(b)
	if a == "" || b == "" {
		return false
	}
	if len(a) > len(b) {
		a, b = b, a
	}
	return strings.HasPrefix(b, a)
}

// ShortIdentity returns an identity as people read it: of a digest its first 12
// digits, which SameIdentity takes for the whole.
func ShortIdentity(identity string) string {
	if digest := plainDigest(identity); digest != "" {
		return digest[:leastDigits]
	}
	return identity
}

// plainDigest returns the digits of a digest, "" for what is none.
func plainDigest(s string) string {
	s = strings.ToLower(s)
	s = strings.TrimPrefix(s, "sha256:")
	if len(s) < leastDigits || len(s) > 64 || strings.Trim(s, "0123456789abcdef") != "" {
		return ""
	}
	return s
}
