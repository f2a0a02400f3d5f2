// Package runtimetest holds the stand-in runtime (Fake) and the suite every
// adapter passes against it (Conform).
//
// A Fake speaks the wire formats of Ollama and llama-server on a real socket
// and behaves as the recorded servers do: loads, slots, queues, evictions,
// keep-alive, errors to the byte. Faults make it slow, broken or rude on
// command. It imports nothing of the project, so that a mistake in our own
// readers cannot repeat itself in what they are tested against.
package runtimetest
