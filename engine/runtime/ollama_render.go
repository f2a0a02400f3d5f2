package runtime

import (
	"fmt"

	"bellwether/engine/dialect"
	"bellwether/engine/fleet"
)

// ollamaPlan is a request as it goes to Ollama, and how its answer is to be read.
type ollamaPlan struct {
	path string
	outgoing
	edits  []string
	native bool // the client speaks Ollama: frames are passed on
	// callName, callAny: the answer's text is the arguments of this call, or
	// {"name","arguments"} of any, because format held the model to it.
	callName string
	callAny  bool
	callable []string // names of the tools that may be called then
}

// planOllama writes the request for Ollama (protocols.md 1, the table).
func planOllama(c *Call) (*ollamaPlan, error) {
	r := c.Request
	p := &ollamaPlan{}
	switch r.Protocol {
	case dialect.OllamaChat:
		p.path, p.native = "/api/chat", true
	case dialect.OllamaGenerate:
		p.path, p.native = "/api/generate", true
	case dialect.OllamaEmbed:
		p.path, p.native = "/api/embed", true
	case dialect.OllamaEmbeddings: // its vectors are not normalised, those of embed are
		p.path, p.native = "/api/embeddings", true
	case dialect.OpenAIEmbeddings:
		p.path = "/api/embed"
		p.body = embedBody(c)
		return p, nil
	case dialect.OpenAICompletion:
		p.path = "/api/generate"
		return p, p.generate(c)
	case dialect.OpenAIChat, dialect.OpenAIResponses, dialect.Anthropic:
		p.path = "/api/chat"
		return p, p.chat(c)
	default:
		return nil, unsupported("requests of " + string(r.Protocol) + " do not run on a runtime")
	}
	p.rewrite(c)
	return p, nil
}

// chat writes a conversation.
func (p *ollamaPlan) chat(c *Call) error {
	r := c.Request
	if err := checkParts(r); err != nil {
		return err
	}
	tools, format := p.choose(c)
	w := newBuilder(bodySize(r))
	w.open('{')
	w.key("model")
	w.str(c.Model)
	w.key("messages")
	w.open('[')
	think := c.Deployment.Can(fleet.CapThinking).Support == fleet.Yes
	for i := range r.Messages {
		ollamaMessage(w, r.Messages, i, think)
	}
	w.shut(']')
	if len(tools) > 0 {
		w.key("tools")
		writeTools(w, tools)
	}
	w.rawIf("format", format)
	p.common(w, c)
	// Without this a prompt over the context is cut in silence and answered as
	// if nothing were missing (ollama#4967); clients of these protocols expect
	// the error, and compact.
	w.key("truncate")
	w.bool(false)
	w.shut('}')
	p.built(w)
	return nil
}

// ollamaMessage writes one turn: its texts joined, its images beside them.
func ollamaMessage(w *builder, all []dialect.Message, at int, think bool) {
	m := &all[at]
	w.open('{')
	w.key("role")
	w.str(string(m.Role))
	w.key("content")
	w.text(contentText(m))
	if think {
		w.textIf("thinking", m.Thinking)
	}
	images := false
	for i := range m.Parts {
		p := &m.Parts[i]
		if p.Kind != dialect.PartImage && p.Kind != dialect.PartAudio || len(p.Data) == 0 {
			continue
		}
		if !images {
			w.key("images")
			w.open('[')
			images = true
		}
		w.base64(p.Data)
	}
	if images {
		w.shut(']')
	}
	if len(m.ToolCalls) > 0 {
		w.key("tool_calls")
		w.open('[')
		for i := range m.ToolCalls {
			call := &m.ToolCalls[i]
			w.open('{')
			if call.ID != "" {
				w.key("id")
				w.str(call.ID)
			}
			w.key("function")
			w.open('{')
			w.key("index")
			w.int(int64(i))
			w.key("name")
			w.str(call.Name)
			w.key("arguments")
			w.raw(arguments(call.Arguments))
			w.shut('}')
			w.shut('}')
		}
		w.shut(']')
	}
	if m.Role == dialect.RoleTool {
		if name := toolNameOf(all, at); name != "" {
			w.key("tool_name")
			w.str(name)
		}
		if m.ToolCallID != "" {
			w.key("tool_call_id")
			w.str(m.ToolCallID)
		}
	}
	w.shut('}')
}

// writeTools writes the tool list, in the form OpenAI and Ollama share.
func writeTools(w *builder, tools []dialect.Tool) {
	w.open('[')
	for i := range tools {
		t := &tools[i]
		w.open('{')
		w.key("type")
		w.str("function")
		w.key("function")
		w.open('{')
		w.key("name")
		w.str(t.Name)
		w.textIf("description", t.Description)
		w.key("parameters")
		w.raw(schemaOf(t))
		w.shut('}')
		w.shut('}')
	}
	w.shut(']')
}

func schemaOf(t *dialect.Tool) dialect.Raw {
	if t.Parameters.Kind() != '{' {
		return dialect.Raw(`{"type":"object","properties":{}}`)
	}
	return t.Parameters
}

// choose settles which tools are sent and what the output is held to.
//  1. tool_choice none: no tools; Ollama would call them all the same;
//  2. required or named: Ollama knows neither, but its grammar can hold the
//     answer to the arguments of one tool, or to a choice among several;
//  3. else the client's own format.
func (p *ollamaPlan) choose(c *Call) (tools []dialect.Tool, format dialect.Raw) {
	r := c.Request
	tools = r.Tools
	switch r.ToolChoice.Mode {
	case dialect.ChoiceNone:
		if len(tools) > 0 {
			p.edits = append(p.edits, "tools left out: tool_choice is none")
		}
		return nil, ollamaFormat(c)
	case dialect.ChoiceRequired:
	case dialect.ChoiceNamed:
		for i := range tools {
			if tools[i].Name == r.ToolChoice.Name {
				tools = tools[i : i+1]
				break
			}
		}
	default:
		return tools, ollamaFormat(c)
	}
	if len(tools) == 0 {
		return nil, ollamaFormat(c)
	}
	for i := range tools {
		p.callable = append(p.callable, tools[i].Name)
	}
	if len(tools) == 1 {
		p.callName = tools[0].Name
		p.edits = append(p.edits, "tool_choice: the answer is held to the arguments of "+p.callName)
		return tools, schemaOf(&tools[0])
	}
	p.callAny = true
	p.edits = append(p.edits, fmt.Sprintf("tool_choice: the answer is held to a call of one of %d tools", len(tools)))
	return tools, anyCallSchema(tools)
}

// anyCallSchema is the schema of a call of any of the tools.
func anyCallSchema(tools []dialect.Tool) dialect.Raw {
	w := newBuilder(1024)
	w.open('{')
	w.key("anyOf")
	w.open('[')
	for i := range tools {
		w.open('{')
		w.key("type")
		w.str("object")
		w.key("properties")
		w.open('{')
		w.key("name")
		w.open('{')
		w.key("type")
		w.str("string")
		w.key("enum")
		w.open('[')
		w.str(tools[i].Name)
		w.shut(']')
		w.shut('}')
		w.key("arguments")
		w.raw(schemaOf(&tools[i]))
		w.shut('}')
		w.key("required")
		w.raw(dialect.Raw(`["name","arguments"]`))
		w.shut('}')
	}
	w.shut(']')
	w.shut('}')
	return w.b
}

// anyObject holds an answer to JSON. In chat, an Ollama that leaves the
// template to llama-server takes "json" and holds the answer to nothing (0.33).
const anyObject = `{"type":"object"}`

func ollamaFormat(c *Call) dialect.Raw {
	r := c.Request
	switch {
	case r.Format.Kind == dialect.FormatSchema && !r.Format.Schema.None():
		return r.Format.Schema
	case r.Format.Kind == "":
		return nil
	case c.Deployment.Can(fleet.CapJSONSchema).Support == fleet.Yes:
		return dialect.Raw(anyObject)
	}
	return dialect.Raw(`"json"`)
}

// generate writes a raw completion. As with Ollama's own /v1/completions the
// model's template applies unless the client said raw.
func (p *ollamaPlan) generate(c *Call) error {
	r := c.Request
	if r.Prompt == nil {
		return unsupported("a completion without a prompt")
	}
	w := newBuilder(bodySize(r))
	w.open('{')
	w.key("model")
	w.str(c.Model)
	w.key("prompt")
	w.text(r.Prompt.Text)
	w.textIf("suffix", r.Prompt.Suffix)
	w.textIf("system", r.Prompt.System)
	if r.Prompt.Raw {
		w.key("raw")
		w.bool(true)
	}
	if len(r.Prompt.Images) > 0 {
		w.key("images")
		w.open('[')
		for i := range r.Prompt.Images {
			w.base64(r.Prompt.Images[i].Data)
		}
		w.shut(']')
	}
	w.rawIf("format", ollamaFormat(c))
	p.common(w, c)
	w.key("truncate")
	w.bool(false)
	w.shut('}')
	p.built(w)
	return nil
}

// embedBody writes an OpenAI embeddings request for /api/embed, whose vectors
// have unit length as OpenAI's do.
func embedBody(c *Call) []byte {
	r := c.Request
	w := newBuilder(bodySize(r))
	w.open('{')
	w.key("model")
	w.str(c.Model)
	w.key("input")
	w.open('[')
	for _, in := range r.Embed.Inputs {
		w.text(in)
	}
	w.shut(']')
	if r.Embed.Dimensions > 0 {
		w.key("dimensions")
		w.int(int64(r.Embed.Dimensions))
	}
	if r.Embed.Truncate != nil {
		w.key("truncate")
		w.bool(*r.Embed.Truncate)
	}
	if c.Context > 0 {
		w.key("options")
		w.open('{')
		w.key("num_ctx")
		w.int(int64(c.Context))
		w.shut('}')
	}
	w.shut('}')
	return w.b
}
