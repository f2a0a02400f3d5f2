package gateway

import (
	"crypto/rand"
	"encoding/binary"
	"encoding/hex"
	"time"
)

// newID makes the id of a request that came at now: 48 bits of Unix time in
// milliseconds, then 80 random ones, in hex. Such ids sort as the requests
// came, so that an index over them grows at its end; a random place in it made
// the larger part of what a decision record cost.
func newID(now time.Time) string {
	var b [16]byte
	binary.BigEndian.PutUint64(b[:], uint64(now.UnixMilli())<<16)
	_, _ = rand.Read(b[6:])
	var text [2 * len(b)]byte
	hex.Encode(text[:], b[:])
	return string(text[:])
}

// wireID is a request's id as OpenAI's and Anthropic's clients know them, in
// headers and bodies alike; "" of none.
func wireID(id string) string {
	if id == "" {
		return ""
	}
	return "req_" + id
}
