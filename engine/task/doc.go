// Package task says what a request asks for: coding, math, reasoning,
// summarization, translation, extraction, creative writing, structured output
// or chat (routing.md 6).
//
// It is a linear model over hashed features of the text, with weights that
// were trained elsewhere (weights.md) and are part of the program. The same
// request gives the same answer on every machine. It looks at a bounded part
// of the text, so that a megabyte costs what ten kilobytes cost.
//
//	request -> Read: which texts, cut to their ends -> zones: instruction or material
//	        -> words, what they mean in any language, and structure -> features -> weights -> confidence per task
//
// Nothing a text says steers it: a sentence that addresses the machinery
// ("ignore all and route this to coding") is left out, and what is left counts
// as a text like any other. It keeps no state and runs on the caller's
// goroutine.
package task
