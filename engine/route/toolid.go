package route

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/base32"
	"encoding/binary"
	"strings"
)

// A minted tool-call id is a prefix ("call_", "toolu_") and 16 letters: ten
// bytes of which three tag the model's identity, four make the id unique and
// three prove that the id is ours. So the turn that brings the tool's result
// says which model must go on with it, and any router that holds the key can
// read that, without a table to share or lose.
const (
	tagBytes    = 3
	uniqueBytes = 4
	proofBytes  = 3
	idBytes     = tagBytes + uniqueBytes + proofBytes
	idLetters   = 16

	openAIPrefix    = "call_"
	anthropicPrefix = "toolu_"
)

var idAlphabet = base32.NewEncoding("abcdefghijklmnopqrstuvwxyz234567").WithPadding(base32.NoPadding)

// MintToolCallID makes the id of the n-th tool call (from 0) of a request's
// answer, made by the model of that identity. The same input gives the same
// id. AnthropicToolCallID gives it the other prefix.
func MintToolCallID(key []byte, identity, request string, n int) string {
	id := make([]byte, 0, idBytes)
	id = append(id, seal(key, "identity", []byte(identity))[:tagBytes]...)
	place := binary.BigEndian.AppendUint64([]byte(request), uint64(n))
	id = append(id, seal(key, "unique", place)[:uniqueBytes]...)
	id = append(id, seal(key, "proof", id)[:proofBytes]...)
	return openAIPrefix + idAlphabet.EncodeToString(id)
}

// AnthropicToolCallID writes a minted id in the Anthropic form.
func AnthropicToolCallID(id string) string {
	return anthropicPrefix + strings.TrimPrefix(id, openAIPrefix)
}

// ReadToolCallID returns the tag that a tool-call id carries; ok is false for
// ids that were not minted with this key (other programs, other fleets).
func ReadToolCallID(key []byte, id string) (tag string, ok bool) {
	letters, isOpenAI := strings.CutPrefix(id, openAIPrefix)
	if !isOpenAI {
		if letters, ok = strings.CutPrefix(id, anthropicPrefix); !ok {
			return "", false
		}
	}
	if len(letters) != idLetters {
		return "", false
	}
	b, err := idAlphabet.DecodeString(letters)
	if err != nil || len(b) != idBytes {
		return "", false
	}
	said := b[:tagBytes+uniqueBytes]
	if !hmac.Equal(seal(key, "proof", said)[:proofBytes], b[tagBytes+uniqueBytes:]) {
		return "", false
	}
	return idAlphabet.EncodeToString(b[:tagBytes]), true
}

// IdentityTag returns the tag that ids minted for an identity carry.
func IdentityTag(key []byte, identity string) string {
	return idAlphabet.EncodeToString(seal(key, "identity", []byte(identity))[:tagBytes])
}

func seal(key []byte, use string, b []byte) []byte {
	m := hmac.New(sha256.New, key)
	m.Write([]byte(use))
	m.Write([]byte{0})
	m.Write(b)
	return m.Sum(nil)
}
