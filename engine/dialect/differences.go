package dialect

// Difference is one way in which an answer of ours is not what the runtime
// itself would have sent, with its reason. Differences is the whole list:
// tests compare field by field, and what is not listed is a bug.
type Difference struct {
	Protocol Protocol
	Runtime  string // "ollama", "llama-server"; "" = whichever serves
	// Field is the path from the root of the body, or of a stream's record;
	// "[]" stands for any element. Paths of error bodies begin with "error".
	// "(record) ..." is a whole record of a stream, "(status)" the HTTP status.
	Field        string
	Kind         DifferenceKind
	Ours, Theirs string // in words or as sent
	Reason       string
}

// DifferenceKind says what a comparison has to expect.
type DifferenceKind string

// Kinds of difference.
const (
	Added   DifferenceKind = "added"   // we send it, the runtime does not
	Omitted DifferenceKind = "omitted" // the runtime sends it, we do not
	Changed DifferenceKind = "changed" // both send it, with different values
)

// DiffersBy finds the entry that explains a difference, nil when there is none.
func DiffersBy(p Protocol, runtime, field string) *Difference {
	for i := range Differences {
		d := &Differences[i]
		if d.Protocol == p && d.Field == field && (d.Runtime == "" || d.Runtime == runtime) {
			return d
		}
	}
	return nil
}

// Differences lists every difference of the OpenAI Chat, Completions and
// Embeddings protocols and of Ollama's own.
var Differences = []Difference{
	// OpenAI Chat Completions
	{OpenAIChat, "", "id", Changed, "chatcmpl- and 128 random bits", "chatcmpl-60",
		"Ollama's ids collide within a thousand answers, and an id must not say which runtime served"},
	{OpenAIChat, "", "created", Changed, "when the answer began here", "when it began there",
		"one time for a whole stream, also when the request moved to another node"},
	{OpenAIChat, "", "system_fingerprint", Omitted, "absent", "fp_ollama, b1-80fb11a",
		"it promises one backend configuration; a fleet has several"},
	{OpenAIChat, "", "choices[].message.tool_calls[].id", Changed, "our id", "call_rqab30ni",
		"our ids carry the identity of the model that made the call, so that its results find back to it"},
	{OpenAIChat, "", "choices[].delta.tool_calls[].id", Changed, "our id", "call_rqab30ni",
		"as in the whole answer"},
	{OpenAIChat, "ollama", "(record) role", Added, "a first record with the role and content \"\"", "the role in the first content record",
		"it may go out while the request still waits; llama-server and OpenAI send it too"},
	{OpenAIChat, "ollama", "choices[].delta.role", Omitted, "in the record before", "in the first content record",
		"see (record) role"},
	{OpenAIChat, "ollama", "choices[].delta.content", Omitted, "absent beside reasoning and tool calls", "\"\"",
		"an empty content adds nothing, and some clients take it for the answer's start"},
	{OpenAIChat, "ollama", "choices[].delta.reasoning_content", Added, "the same text as reasoning", "absent",
		"clients of DeepSeek, vLLM and llama.cpp look for this name"},
	{OpenAIChat, "ollama", "choices[].message.reasoning_content", Added, "the same text as reasoning", "absent",
		"as in a stream"},
	{OpenAIChat, "llama-server", "choices[].delta.reasoning", Added, "the same text as reasoning_content", "absent",
		"clients of Ollama, LM Studio and OpenRouter look for this name"},
	{OpenAIChat, "llama-server", "choices[].message.reasoning", Added, "the same text as reasoning_content", "absent",
		"as in a stream"},
	{OpenAIChat, "ollama", "choices[].message.tool_calls[].index", Omitted, "absent", "0",
		"the index belongs to streams; OpenAI's whole answers have none"},
	{OpenAIChat, "llama-server", "choices[].delta.content", Changed, "\"\" in the role record", "null in the role record",
		"OpenAI and Ollama say \"\"; some clients append what they get"},
	{OpenAIChat, "llama-server", "model", Changed, "the name that was asked", "its alias or file path",
		"clients compare it with what they asked, and a path is nobody's business"},
	{OpenAIChat, "llama-server", "timings", Omitted, "absent", "an object of rates",
		"no part of the protocol; the decision record has them"},
	{OpenAIChat, "ollama", "(record) error", Added, "data: {\"error\":...} when the runtime breaks in mid-stream", "an empty record and a clean end",
		"without it a broken answer looks like a whole one"},
	{OpenAIChat, "", "error.message", Changed, "says the field, the byte and the remedy", "the decoder's own words",
		"a person has to act on it"},
	{OpenAIChat, "", "error.code", Changed, "a name: model_not_found, context_length_exceeded, invalid_request", "null, or the status as a number",
		"OpenAI's clients branch on names"},
	{OpenAIChat, "", "error.param", Changed, "the path of the wrong field, or null", "null, or absent",
		"the SDKs show it"},
	{OpenAIChat, "llama-server", "error.type", Changed, "invalid_request_error", "exceed_context_size_error, server_error",
		"the same word from every runtime"},
	{OpenAIChat, "llama-server", "error.n_prompt_tokens", Omitted, "in the message", "a number",
		"no part of the protocol"},
	{OpenAIChat, "llama-server", "error.n_ctx", Omitted, "in the message", "a number",
		"no part of the protocol"},
	{OpenAIChat, "llama-server", "(status)", Changed, "400 for a body that is no JSON", "500",
		"SDKs would send the same bytes again"},
	{OpenAIChat, "ollama", "(status)", Changed, "400 for a prompt that does not fit", "200, the beginning of the prompt cut off",
		"an answer to half a question looks like an answer"},
	{OpenAIChat, "", "error.details", Added, "the facts behind a refusal: what is in the way of each deployment", "absent",
		"programs can act on them; others ignore them"},

	// OpenAI Completions
	{OpenAICompletion, "", "id", Changed, "cmpl- and 128 random bits", "cmpl-970", "as for chat"},
	{OpenAICompletion, "", "created", Changed, "when the answer began here", "when it began there", "as for chat"},
	{OpenAICompletion, "", "system_fingerprint", Omitted, "absent", "fp_ollama", "as for chat"},
	{OpenAICompletion, "ollama", "usage", Omitted, "in the usage record only", "three zeros in every record",
		"a count that is not known yet is not 0"},
	{OpenAICompletion, "llama-server", "usage", Omitted, "in the usage record only", "in the last record of every stream",
		"shown where the client asked for it, as OpenAI does"},
	{OpenAICompletion, "llama-server", "(record) usage", Added, "a record of its own with choices []", "in the last record",
		"where OpenAI and Ollama have it"},
	{OpenAICompletion, "llama-server", "timings", Omitted, "absent", "an object of rates", "as for chat"},
	{OpenAICompletion, "llama-server", "choices[].logprobs", Omitted, "absent unless asked", "null",
		"what was not asked is left out, as Ollama does"},

	// OpenAI Embeddings
	{OpenAIEmbeddings, "", "error.message", Changed, "says the field and the remedy", "invalid input type",
		"token ids come from a client's default; the message names the setting"},
	{OpenAIEmbeddings, "", "error.code", Changed, "a name: invalid_request", "null", "as for chat"},
	{OpenAIEmbeddings, "", "error.param", Changed, "the path of the wrong field", "null", "as for chat"},

	// Ollama's own. Answers of an Ollama pass byte for byte but for the model's
	// name; what follows holds for answers of other runtimes and for errors.
	{OllamaChat, "", "created_at", Changed, "when the line was written here", "when it was written there",
		"Ollama's own lines keep theirs; lines of other runtimes have none"},
	{OllamaChat, "", "message.tool_calls[].id", Changed, "our id", "call_20t2e0d6",
		"as for OpenAI; Ollama's own lines keep theirs"},
	{OllamaChat, "llama-server", "load_duration", Omitted, "absent when the runtime gives no time for it", "always there",
		"an unknown time is no 0"},
	{OllamaChat, "", "error", Changed, "says the field, the byte and the remedy", "the Go decoder's words",
		"a person has to act on it"},
	{OllamaChat, "", "details", Added, "the facts behind a refusal, beside error", "absent",
		"as for OpenAI"},
	{OllamaChat, "ollama", "(status)", Changed, "400 for a prompt that no context of the model holds, a larger context for others", "200, earlier turns left out",
		"as for OpenAI; a client that sends truncate itself has its way"},
	{OllamaGenerate, "ollama", "(status)", Changed, "400 for a prompt that no context of the model holds, a larger context for others", "200, a part of the prompt cut out",
		"as for chat"},
	{OllamaEmbed, "", "details", Added, "the facts behind a refusal, beside error", "absent", "as for OpenAI"},
	{OllamaGenerate, "", "created_at", Changed, "when the line was written here", "when it was written there", "as for chat"},
	{OllamaGenerate, "llama-server", "load_duration", Omitted, "absent when the runtime gives no time for it", "always there", "as for chat"},
	{OllamaGenerate, "llama-server", "context", Omitted, "absent", "token ids",
		"only the tokenizer that made them could read them"},
	{OllamaEmbed, "", "error", Changed, "model 'nope' not found", "model \"nope\" not found, try pulling it first",
		"one wording on every endpoint"},
	{OllamaGenerate, "", "error", Changed, "says the field and the remedy", "the Go decoder's words", "as for chat"},
}
