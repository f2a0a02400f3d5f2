package dialect

import "strconv"

// parseCompletion reads POST /v1/completions.
func parseCompletion(r *Request) *fault {
	r.Prompt = &Prompt{}
	for _, m := range r.Members {
		f := r.readOpenAI(m)
		if f == nil {
			f = r.readCompletion(m)
		}
		if f != nil {
			return f
		}
	}
	if r.Prompt.Text == nil {
		return (&fault{what: "a prompt is required"}).in("prompt")
	}
	return nil
}

func (r *Request) readCompletion(m Member) *fault {
	switch m.Name {
	case "prompt":
		return r.completionPrompt(m)
	case "max_tokens":
		return m.limit(&r.MaxOutput)
	case "suffix":
		return m.text(&r.Prompt.Suffix)
	case "echo":
		return m.boolean(&r.Prompt.Echo)
	case "response_format":
		return r.responseFormat(m.Value).in(m.Name)
	case "logprobs": // a number of alternatives here; some clients write a bool
		if k := m.Value.Kind(); k == 't' || k == 'f' {
			return m.boolean(&r.Logprobs)
		}
		r.Logprobs = !m.Value.None()
		return m.count(&r.TopLogs)
	case "best_of":
		return m.atLeast(1, &r.BestOf)
	}
	return nil
}

// completionPrompt reads a string or a list of one. Several prompts in one
// request have no place in one answer of a local runtime, and token ids belong
// to a tokenizer that nobody here shares.
func (r *Request) completionPrompt(m Member) *fault {
	switch m.Value.Kind() {
	case 'n':
		return nil
	case '"':
		r.Prompt.Text = Text(m.Value)
		return nil
	case '[':
	default:
		return wrong("a string", m.Value).in(m.Name)
	}
	for i, v := range Elements(m.Value) {
		switch k := v.Kind(); {
		case k == '0' || k == '[':
			return (&fault{what: "got token ids, which mean something else to every model", remedy: "Send the prompt as text."}).in(m.Name)
		case k != '"':
			return wrong("a string", v).at(i).in(m.Name)
		case i > 0:
			return (&fault{what: "got several prompts", remedy: "Send one request per prompt."}).in(m.Name)
		}
		r.Prompt.Text = Text(v)
	}
	return nil
}

// CodeContractOption is the code of an embeddings option we cannot honour.
const CodeContractOption = "unsupported_contract_option"

// parseEmbeddings reads POST /v1/embeddings.
func parseEmbeddings(r *Request) *fault {
	r.Embed = &Embed{}
	r.Stream = false
	for _, m := range r.Members {
		if f := r.readEmbeddings(m); f != nil {
			return f
		}
		r.identity(m)
	}
	if len(r.Embed.Inputs) == 0 {
		return (&fault{what: "at least one text is required"}).in("input")
	}
	return nil
}

func (r *Request) readEmbeddings(m Member) *fault {
	switch m.Name {
	case "input":
		return r.Embed.read(m)
	case "dimensions":
		return r.Embed.width(m)
	case "encoding_format":
		var format string
		if f := m.str(&format); f != nil {
			return f
		}
		r.Embed.Base64 = format == "base64"
		if format != "" && format != "float" && format != "base64" {
			return (&fault{what: "expected float or base64, got " + format, code: CodeContractOption}).in(m.Name)
		}
	case "query_prefix", "document_prefix":
		return m.prefix()
	case "metadata":
		return r.metadata(m)
	}
	return nil
}

// prefix refuses a text to be put before every input. No runtime does so, and
// vectors made without it would be of texts that nobody meant.
func (m Member) prefix() *fault {
	var text string
	if f := m.str(&text); f != nil {
		return f
	}
	if text == "" {
		return nil
	}
	return (&fault{what: "a prefix is not added for you", remedy: "Put it before each text of input.", code: CodeContractOption}).in(m.Name)
}

// read takes a string or a list of strings. Token ids, which LangChain's
// Python class sends by default, are refused: another model's tokenizer would
// turn them into a vector of something else.
func (e *Embed) read(m Member) *fault {
	switch m.Value.Kind() {
	case 'n':
		return nil
	case '"':
		e.Inputs, e.Single = []Text{Text(m.Value)}, true
		return nil
	case '[':
	default:
		return tokensFault(wrong("a string or an array of strings", m.Value), m.Value).in(m.Name)
	}
	for i, v := range Elements(m.Value) {
		if v.Kind() != '"' {
			return tokensFault(wrong("a string", v).at(i), v).in(m.Name)
		}
		e.Inputs = append(e.Inputs, Text(v))
	}
	return nil
}

// tokensFault words a fault for what turned out to be token ids.
func tokensFault(f *fault, v Raw) *fault {
	if k := v.Kind(); k != '0' && k != '[' {
		return f
	}
	return &fault{
		what:   "got token ids, which mean something else to every model; text is needed",
		remedy: "With LangChain's OpenAIEmbeddings set check_embedding_ctx_length=False.",
	}
}

func (e *Embed) width(m Member) *fault {
	if f := m.wholeAs(&e.Dimensions); f != nil {
		return f
	}
	if e.Dimensions < 0 { // 0 is the model's own, as Ollama reads it
		return (&fault{what: "expected a number above 0, got " + strconv.Itoa(e.Dimensions), code: CodeContractOption}).in(m.Name)
	}
	return nil
}
