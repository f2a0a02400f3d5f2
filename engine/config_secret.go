package engine

import (
	"crypto/sha256"
	"crypto/subtle"
	"encoding/hex"
	"strings"
)

// Secret is a text that must not be seen: however it is printed, logged or
// encoded, it shows only that it is set. Reveal is for the one who sends or
// compares it.
type Secret string

const hidden = "(hidden)"

// Reveal returns the text itself.
func (s Secret) Reveal() string { return string(s) }

// String returns "(hidden)", or nothing for an empty secret.
func (s Secret) String() string {
	if s == "" {
		return ""
	}
	return hidden
}

// GoString is String, so that %#v gives nothing away either.
func (s Secret) GoString() string { return s.String() }

// MarshalText is String, for JSON, YAML and logs.
func (s Secret) MarshalText() ([]byte, error) { return []byte(s.String()), nil }

// Rights an API key may carry.
const (
	RightInference = "inference" // ask models
	RightManage    = "manage"    // pull, delete, copy and create models
)

// APIKey lets an app in, under a name that its decisions carry.
type APIKey struct {
	Name   string    `koanf:"name"`
	Key    Secret    `koanf:"key"` // as sent, or sha256:<hex> of it
	Rights []string  `koanf:"rights"`
	Limits KeyLimits `koanf:"limits"`
}

// KeyLimits hold for one key; 0 or empty = the fleet's.
type KeyLimits struct {
	MaxInFlight int    `koanf:"max_in_flight"`
	Priority    string `koanf:"priority"` // interactive, batch
}

// May reports whether the key carries a right; every key may ask models.
func (k *APIKey) May(right string) bool {
	for _, r := range k.Rights {
		if r == right {
			return true
		}
	}
	return right == RightInference
}

// Matches reports whether a client sent this key. It takes the same time
// whatever was sent.
func (k *APIKey) Matches(sent string) bool {
	if k.Key == "" {
		return false
	}
	want := sha256.Sum256([]byte(k.Key))
	if digest, ok := strings.CutPrefix(string(k.Key), keyDigestPrefix); ok {
		raw, err := hex.DecodeString(digest)
		if err != nil || len(raw) != len(want) {
			return false
		}
		copy(want[:], raw)
	}
	got := sha256.Sum256([]byte(sent))
	return subtle.ConstantTimeCompare(want[:], got[:]) == 1
}

const keyDigestPrefix = "sha256:"
