package runtimetest

import (
	"bytes"
	"encoding/base64"
	"fmt"
	"io"
	"slices"
	"strings"
)

// readOllama reads the bodies of /api/chat and /api/generate.
func readOllama(path string, body []byte) (*ask, error) {
	r := ollamaReader{ask: &ask{path: path, body: body, stream: true, max: -1}, request: "ChatRequest"}
	if path == "/api/generate" {
		r.request = "GenerateRequest"
	}
	eachMember(body, func(name, v []byte) {
		if !r.typed(string(name), v) {
			r.loose(string(name), v)
		}
	})
	if path == "/api/generate" && len(r.prompt) > 2 {
		if kind(r.system) == '"' {
			r.say("system", r.system)
		}
		r.say("user", r.prompt)
	}
	r.noModel = r.model == ""
	return r.ask, r.wrong
}

// ollamaReader fills an ask, and keeps the first thing wrong with the body.
type ollamaReader struct {
	*ask
	request        string // Go's name of the request, for errors
	prompt, system []byte
	wrong          error
}

func (r *ollamaReader) fail(err error) {
	if r.wrong == nil {
		r.wrong = err
	}
}

// want reports whether v has one of the kinds; null passes for absent.
func (r *ollamaReader) want(v []byte, name, goType, kinds string) bool {
	k := kind(v)
	if strings.IndexByte(kinds, k) >= 0 {
		return true
	}
	if k != 'n' {
		r.fail(typeError{goKind(v), r.request + "." + name, goType})
	}
	return false
}

// typed reads the members whose type Ollama's decoder insists on.
func (r *ollamaReader) typed(name string, v []byte) bool {
	switch name {
	case "model", "name":
		if r.want(v, "model", "string", `"`) {
			r.model = text(v)
		}
	case "messages":
		r.turns = true
		if r.want(v, name, "[]api.Message", "[") {
			eachElement(v, func(m []byte) {
				if err := readOllamaMessage(r.ask, m); err != nil {
					r.fail(err)
				}
			})
		}
	case "prompt":
		if r.want(v, name, "string", `"`) {
			r.prompt = v
		}
	case "stream":
		if r.want(v, name, "bool", "tf") {
			r.stream = isTrue(v)
		}
	case "tools":
		if r.want(v, name, "api.Tools", "[") {
			readFunctionTools(r.ask, v)
		}
	case "options":
		if r.want(v, name, "map[string]interface {}", "{") {
			readOptions(r.ask, v)
		}
	case "truncate":
		if r.want(v, name, "bool", "tf") {
			r.uncut = !isTrue(v)
		}
	case "think":
		r.think = thinkOf(v)
		if level := text(v); kind(v) == '"' && !slices.Contains(thinkLevels, level) {
			r.fail(fmt.Errorf(`invalid think value: %q (must be "high", "medium", "low", "max", true, or false)`, level))
		}
	default:
		return false
	}
	return true
}

// loose reads the members that are taken as they come.
func (r *ollamaReader) loose(name string, v []byte) {
	switch name {
	case "system":
		r.system = v
	case "suffix":
		r.suffix = len(text(v)) > 0
	case "images":
		eachElement(v, func([]byte) { r.images++ })
	case "raw":
		r.raw = isTrue(v)
	case "format":
		if kind(v) == '{' || text(v) != "" {
			r.format = v
		}
	case "keep_alive":
		r.keepAlive = v
	case "logprobs":
		r.logs = isTrue(v)
	case "top_logprobs":
		r.topLog = whole(v, 0)
	}
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
			if path != "/api/embed" || string(v) != `""` { // of which Ollama makes no vector
				readInputs(a, v)
			}
		case "dimensions":
			a.dimensions = whole(v, 0)
		case "encoding_format":
			a.base64 = text(v) == "base64"
		case "truncate":
			a.uncut = string(v) == "false"
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
