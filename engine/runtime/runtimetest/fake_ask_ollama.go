package runtimetest

import (
	"bytes"
	"encoding/base64"
	"fmt"
	"io"
	"slices"
)

// readOllama reads the bodies of /api/chat and /api/generate.
func readOllama(path string, body []byte) (*ask, error) {
	a := &ask{path: path, body: body, stream: true, max: -1, seed: 0}
	request := "ChatRequest"
	if path == "/api/generate" {
		request = "GenerateRequest"
	}
	var wrong error
	check := func(v []byte, member, want string, ok bool) bool {
		if !ok && kind(v) != 'n' && wrong == nil {
			wrong = typeError{goKind(v), request + "." + member, want}
		}
		return ok
	}
	var prompt, system []byte
	eachMember(body, func(name, v []byte) {
		switch k := kind(v); string(name) {
		case "model", "name":
			if check(v, "model", "string", k == '"') {
				a.model = text(v)
			}
		case "messages":
			a.turns = true
			if check(v, "messages", "[]api.Message", k == '[') {
				eachElement(v, func(m []byte) {
					if err := readOllamaMessage(a, m); err != nil && wrong == nil {
						wrong = err
					}
				})
			}
		case "prompt":
			if check(v, "prompt", "string", k == '"') {
				prompt = v
			}
		case "system":
			system = v
		case "suffix":
			a.suffix = len(text(v)) > 0
		case "images":
			eachElement(v, func([]byte) { a.images++ })
		case "raw":
			a.raw = isTrue(v)
		case "stream":
			if check(v, "stream", "bool", k == 't' || k == 'f') {
				a.stream = isTrue(v)
			}
		case "format":
			if s := text(v); k == '{' || s != "" {
				a.format = v
			}
		case "think":
			a.think = thinkOf(v)
			if level := text(v); k == '"' && !slices.Contains(thinkLevels, level) && wrong == nil {
				wrong = fmt.Errorf(`invalid think value: %q (must be "high", "medium", "low", "max", true, or false)`, level)
			}
		case "keep_alive":
			a.keepAlive = v
		case "tools":
			if check(v, "tools", "api.Tools", k == '[') {
				readFunctionTools(a, v)
			}
		case "logprobs":
			a.logs = isTrue(v)
		case "top_logprobs":
			a.topLog = whole(v, 0)
		case "options":
			if check(v, "options", "map[string]interface {}", k == '{') {
				readOptions(a, v)
			}
		}
	})
	if path == "/api/generate" && len(prompt) > 2 {
		if kind(system) == '"' {
			a.say("system", system)
		}
		a.say("user", prompt)
	}
	a.noModel = a.model == ""
	return a, wrong
}

var thinkLevels = []string{"high", "medium", "low", "max"}

// readOllamaMessage is as strict as Ollama's decoder: content is a string,
// images are base64, arguments are an object.
func readOllamaMessage(a *ask, m []byte) (wrong error) {
	var role, content []byte
	images := 0
	fail := func(err error) {
		if wrong == nil {
			wrong = err
		}
	}
	eachMember(m, func(name, v []byte) {
		switch string(name) {
		case "role":
			role = v
		case "content":
			content = v
			if k := kind(v); k != '"' && k != 'n' {
				fail(typeError{goKind(v), "ChatRequest.messages.content", "string"})
			}
		case "images":
			eachElement(v, func(image []byte) {
				images++
				if err := checkBase64(image); err != nil {
					fail(err)
				}
			})
		case "tool_calls":
			a.readRaw(v)
			eachElement(v, func(call []byte) {
				args := member(member(call, "function"), "arguments")
				if k := kind(args); k != '{' && k != 'n' {
					fail(typeError{goKind(args), "ChatRequest.messages.tool_calls.function.arguments", "map[string]interface {}"})
				}
			})
		case "thinking":
			a.readRaw(v)
		}
	})
	a.images += images
	a.say(text(role), content)
	return wrong
}

// checkBase64 decodes an image as Ollama does, in the words of Go's decoder.
func checkBase64(image []byte) error {
	if kind(image) != '"' {
		return typeError{goKind(image), "ChatRequest.messages.images", "api.ImageData"}
	}
	_, err := io.Copy(io.Discard, base64.NewDecoder(base64.StdEncoding, bytes.NewReader(image[1:len(image)-1])))
	return err
}

func readOptions(a *ask, v []byte) {
	eachMember(v, func(name, v []byte) {
		switch string(name) {
		case "num_predict":
			a.max = whole(v, -1)
		case "num_ctx":
			a.numCtx = whole(v, 0)
		case "seed":
			a.seed = whole(v, 0)
		case "stop":
			a.stop = texts(v)
		}
	})
}

// readFunctionTools reads {type, function{name, parameters}}, the form that
// Ollama and OpenAI Chat share.
func readFunctionTools(a *ask, v []byte) {
	eachElement(v, func(t []byte) {
		f := member(t, "function")
		if kind(f) == '{' {
			a.addTool(member(f, "name"), member(f, "parameters"))
		}
	})
	if len(a.tools) > 0 {
		a.readRaw(v)
	}
}

// thinkOf reads think: true, false or a level.
func thinkOf(v []byte) think {
	switch kind(v) {
	case 'f':
		return thinkOff
	case 't', '"':
		return thinkOn
	}
	return thinkUnset
}

// readEmbed reads the bodies of /api/embed, /api/embeddings and /v1/embeddings.
func readEmbed(path string, body []byte) *ask {
	a := &ask{path: path, body: body, max: -1}
	eachMember(body, func(name, v []byte) {
		switch string(name) {
		case "model", "name":
			a.model = text(v)
		case "input", "prompt":
			readInputs(a, v)
		case "dimensions":
			a.dimensions = whole(v, 0)
		case "encoding_format":
			a.base64 = text(v) == "base64"
		case "keep_alive":
			a.keepAlive = v
		case "options":
			readOptions(a, v)
		}
	})
	a.noModel = a.model == ""
	for _, in := range a.inputs {
		a.say("user", in)
	}
	return a
}

// readInputs takes a string, a list of strings, one list of token ids or a
// list of those.
func readInputs(a *ask, v []byte) {
	if kind(v) != '[' {
		a.inputs = append(a.inputs, v)
		return
	}
	ids := false
	eachElement(v, func(e []byte) {
		ids = ids || kind(e) >= '0' && kind(e) <= '9'
		if !ids {
			a.inputs = append(a.inputs, e)
		}
	})
	if ids {
		a.inputs = append(a.inputs, v)
	}
}
