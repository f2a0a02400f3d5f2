package dialect

// NewEncoder makes the encoder of a streamed answer in the client's protocol.
func NewEncoder(r *Request, id Identity) Encoder {
	switch r.Protocol {
	case OpenAIResponses:
		return newResponsesEncoder(r, &id)
	case Anthropic, AnthropicCount:
		return newAnthropicEncoder(r, &id)
	case OpenAICompletion:
		return newCompletionEncoder(r, &id)
	case OllamaChat, OllamaGenerate, OllamaEmbed, OllamaEmbeddings, OllamaMeta:
		return newOllamaEncoder(r, &id)
	default:
		return newChatEncoder(r, &id)
	}
}

// EncodeReply renders a whole answer as the body of a response without
// streaming, in the client's protocol.
func EncodeReply(r *Request, id Identity, rep *Reply) []byte {
	return AppendReply(nil, r, id, rep)
}

// AppendReply is EncodeReply into memory there is; dst is at most grown.
func AppendReply(dst []byte, r *Request, id Identity, rep *Reply) []byte {
	switch r.Protocol {
	case OpenAIResponses:
		return appendResponsesReply(dst, r, &id, rep)
	case Anthropic, AnthropicCount:
		return appendAnthropicReply(dst, &id, rep)
	case OpenAICompletion:
		return appendCompletionReply(dst, r, &id, rep)
	case OpenAIEmbeddings:
		return appendEmbeddingsReply(dst, r, &id, rep)
	case OllamaChat, OllamaGenerate, OllamaEmbed, OllamaEmbeddings, OllamaMeta:
		return appendOllamaReply(dst, r, &id, rep)
	default:
		return appendChatReply(dst, &id, rep)
	}
}

// ReplyContentType is the Content-Type of what EncodeReply and EncodeProblem
// render: what the protocol's own runtimes say.
func ReplyContentType(p Protocol) string {
	if p.ollama() || p == Anthropic || p == AnthropicCount {
		return "application/json; charset=utf-8"
	}
	return "application/json"
}
