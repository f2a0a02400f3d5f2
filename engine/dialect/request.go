// Package dialect reads and writes the client protocols (OpenAI Chat,
// Completions, Embeddings and Responses; Anthropic Messages; Ollama native)
// and holds the one form they share: Request, Chunk, Reply, Problem.
//
// It parses and renders bytes. It opens no socket, chooses nothing, knows no
// runtime's address, and runs on the caller's goroutine. Adapters of
// engine/runtime use the same forms towards the runtimes.
package dialect

import "time"

// Protocol names the wire format of an endpoint.
type Protocol string

// The protocols of the app endpoints.
const (
	OpenAIChat       Protocol = "openai-chat"        // POST /v1/chat/completions
	OpenAICompletion Protocol = "openai-completions" // POST /v1/completions
	OpenAIResponses  Protocol = "openai-responses"   // POST /v1/responses
	OpenAIEmbeddings Protocol = "openai-embeddings"  // POST /v1/embeddings
	OpenAIModels     Protocol = "openai-models"      // GET /v1/models, and other OpenAI-shaped errors
	Anthropic        Protocol = "anthropic-messages" // POST /v1/messages
	AnthropicCount   Protocol = "anthropic-count"    // POST /v1/messages/count_tokens
	OllamaChat       Protocol = "ollama-chat"        // POST /api/chat
	OllamaGenerate   Protocol = "ollama-generate"    // POST /api/generate
	OllamaEmbed      Protocol = "ollama-embed"       // POST /api/embed
	OllamaEmbeddings Protocol = "ollama-embeddings"  // POST /api/embeddings (old)
	OllamaMeta       Protocol = "ollama-meta"        // the rest of /api
)

// Text is a JSON string literal with its quotes, exactly as it came. Message
// texts stay literals so that a 1 MB prompt is neither decoded nor encoded on
// its way through. nil = absent. A Text is always a valid literal.
type Text []byte

// Raw is one JSON value exactly as it came; nil = absent.
type Raw []byte

// Role is the speaker of a message.
type Role string

// Roles. "developer" is read as RoleSystem, "function" as RoleTool.
const (
	RoleSystem    Role = "system"
	RoleUser      Role = "user"
	RoleAssistant Role = "assistant"
	RoleTool      Role = "tool"
)

// Request is one client request in the form all protocols share.
type Request struct {
	Protocol Protocol
	Model    string // as the client spelled it
	// Fallbacks are the body's fallback_models: names to try after Model, in order.
	Fallbacks []string
	Stream    bool

	Messages []Message // conversations
	Prompt   *Prompt   // completions, generate
	Embed    *Embed    // embeddings

	Tools         []Tool
	ToolChoice    ToolChoice
	ParallelTools *bool // nil = not said
	Format        Format
	Think         Think

	MaxOutput *int // tokens; nil = not said
	Sampling  Sampling
	Stop      []string
	N         int // choices asked, 0 = not said
	BestOf    int // completions: how many to choose the best of, 0 = not said
	Logprobs  bool
	TopLogs   int

	NumCtx    int      // context window asked by an Ollama client, 0 = none
	KeepAlive Raw      // as the client sent it (Ollama), passed on untouched
	Options   []Member // Ollama "options" as sent, in order, without those read above being removed
	LoadOnly  bool     // Ollama: no messages and no prompt: load (or, with keep_alive 0, unload)

	IncludeUsage     bool            // stream_options.include_usage
	PreviousResponse string          // Responses: previous_response_id
	Store            *bool           // Responses: store
	Instructions     Text            // Responses: kept apart, for the echo in the response object
	CustomTools      map[string]bool // Responses: names of tools of type custom: calls go back as custom_tool_call

	// Namespaced maps the name a model sees ("ns.member") to the namespace and
	// the name its client knows (Responses); a call goes back with both.
	Namespaced map[string]NamespacedTool
	// Items are the Responses input items in order, as sent (a string input is
	// one user message). They alias Body. Recall puts earlier items before them.
	Items []Raw
	// ItemRefs are the ids of item_reference items not yet resolved by Recall.
	ItemRefs []string

	User           string // user, metadata.user_id, safety_identifier
	PromptCacheKey string
	Tags           []string // metadata.tags
	MetaSession    string   // a session id found in the body's metadata

	// Members are the body's top-level members in order, for native
	// pass-through and for fields not read above. They alias Body.
	Members []Member
	Body    []byte // decoded (decompressed) body

	allowedTools map[string]bool // names of tool_choice's allowed_tools, until parsing has narrowed Tools by it
	vendorTools  []string        // names ("" = none) of the tools left out since they run at their vendor only

	legacyCalls []ToolCall // of function_call turns, that no function message has answered yet

	Dropped []string // what parsing left out or changed, in words, for the record's edits
}

// Member is one name and value of a JSON object, in the order sent.
type Member struct {
	Name  string
	Value Raw
}

// Message is one turn. Parts keep their order.
type Message struct {
	Role       Role
	Parts      []Part
	Thinking   Text   // the assistant's reasoning, where the client sends it back
	Signature  string // of that reasoning (Anthropic), "" = unsigned
	ToolCalls  []ToolCall
	ToolCallID string // tool results: the call they answer
	ToolName   string // tool results: the tool's name, where known
	IsError    bool   // tool results: the tool failed
	Name       string
}

// PartKind is the sort of a message part.
type PartKind uint8

// Kinds of part.
const (
	PartText  PartKind = iota
	PartImage          // Data (base64, no prefix) with MIME, or URL
	PartAudio          // Data (base64) with MIME
)

// Part is one piece of a message's content.
type Part struct {
	Kind PartKind
	Text Text
	MIME string // image/png ..., audio/wav ...: what the bytes are
	Data []byte // base64, checked, without line breaks and data: prefix
	URL  string // remote image, never fetched unless the owner allows it
}

// ToolCall is a whole call made by an assistant turn.
type ToolCall struct {
	ID        string
	Name      string
	Arguments Raw // a JSON object; "" and null became {}
}

// Tool is a function the model may call.
type Tool struct {
	Name        string
	Description Text
	Parameters  Raw // JSON schema object, nil = none
	Strict      *bool
}

// ChoiceMode is how tools must be used.
type ChoiceMode string

// Modes of tool choice. The empty mode is "not said" (auto).
const (
	ChoiceAuto     ChoiceMode = "auto"
	ChoiceNone     ChoiceMode = "none"
	ChoiceRequired ChoiceMode = "required"
	ChoiceNamed    ChoiceMode = "named"
)

// NamespacedTool is a member of a tool namespace, as its client names it.
type NamespacedTool struct {
	Namespace, Name string
}

// ToolChoice is the client's tool_choice.
type ToolChoice struct {
	Mode ChoiceMode
	Name string // with ChoiceNamed
}

// FormatKind is how the output is constrained.
type FormatKind string

// Kinds of output format. Empty = free text.
const (
	FormatJSON   FormatKind = "json_object"
	FormatSchema FormatKind = "json_schema"
)

// Format constrains the output to JSON.
type Format struct {
	Kind   FormatKind
	Name   string
	Schema Raw
	Strict *bool
}

// Think is what the client asked of the reasoning channel.
type Think struct {
	Set    bool
	On     bool   // meaningful when Set
	Level  string // none, minimal, low, medium, high, max ... "" = not said
	Budget int    // tokens (Anthropic), 0 = none
}

// Sampling holds the knobs of choosing tokens; nil = not said. TopK, MinP and
// RepeatPenalty are extensions that OpenAI clients may send to local servers.
type Sampling struct {
	Temperature, TopP, MinP, FrequencyPenalty, PresencePenalty, RepeatPenalty *float64
	TopK                                                                      *int
	Seed                                                                      *int64
	LogitBias                                                                 Raw
}

// Prompt is the input of a raw completion.
type Prompt struct {
	Text   Text
	Suffix Text // fill in the middle
	System Text // generate only
	// Template overrides the model's own; generate only.
	Template Text
	Raw      bool // generate: no template
	Images   []Part
	Context  Raw // generate: the old context array
	Echo     bool
}

// Embed is the input of an embeddings request.
type Embed struct {
	Inputs     []Text
	Single     bool // the client sent one string, not a list
	Dimensions int  // 0 = the model's own
	Base64     bool // answer as base64 of little-endian float32
	Truncate   *bool
}

// Finish says why generation ended.
type Finish string

// Finish reasons in the common form.
const (
	FinishNone    Finish = ""
	FinishStop    Finish = "stop"
	FinishLength  Finish = "length"
	FinishTools   Finish = "tool_calls"
	FinishFilter  Finish = "content_filter"
	FinishLoad    Finish = "load"   // Ollama: loaded, nothing generated
	FinishUnload  Finish = "unload" // Ollama: unloaded
	FinishStopSeq Finish = "stop_sequence"
)

// Usage counts tokens as the serving model counted them. A count the runtime
// did not give is negative, so that no false 0 is ever reported.
type Usage struct {
	Input     int // the whole prompt, cached part included
	Output    int // reasoning included
	Cached    int // part of Input taken from cache
	Reasoning int // part of Output
}

// NoUsage has every count unknown.
var NoUsage = Usage{-1, -1, -1, -1}

// Timings are the runtime's own measurements; 0 = not given.
type Timings struct {
	Total, Load, Prefill, Decode time.Duration
}

// ToolDelta is a piece of a tool call. The first piece of a call carries ID
// and Name; Arguments pieces concatenate to a JSON object's text.
type ToolDelta struct {
	Index     int
	ID, Name  string
	Arguments string
}

// Chunk is one step of an answer, from a runtime to a client. A non-streamed
// answer is one Chunk with everything and Final set.
type Chunk struct {
	Text     Text
	Thinking Text
	Tools    []ToolDelta
	Finish   Finish
	StopSeq  string // the stop sequence hit, where known
	Usage    *Usage
	Timings  *Timings
	Logprobs Raw // the OpenAI form: array of {token, logprob, bytes, top_logprobs}
	Context  Raw // Ollama generate's context
	Vectors  [][]float32
	// Model is what the runtime said.
	Model string
	// Native is the runtime's own frame when the client's protocol is the
	// runtime's own and the frame may be passed on byte for byte (but for the
	// model's name); nil otherwise.
	Native []byte
	// Held is set where something of the answer's body came and is kept back
	// until it is known to be what was asked for: a sign of progress that commits
	// nothing.
	Held bool
	// Final marks the runtime's own end marker (done:true, [DONE], or the
	// whole body of a non-streamed answer). Nothing follows it.
	Final bool
}

// HasContent reports whether the chunk carries something of the answer's body
// (text, reasoning, a call, vectors): the first such chunk commits the stream.
func (c *Chunk) HasContent() bool {
	return len(c.Text) > 2 || len(c.Thinking) > 2 || len(c.Tools) > 0 || len(c.Vectors) > 0
}

// Stream yields an answer chunk by chunk. One goroutine reads it.
type Stream interface {
	// Next returns the next chunk. After a Final chunk it returns io.EOF. An
	// answer that ends before its end marker, a malformed frame, a timeout or a
	// runtime's own error is a *fleet.Failure. The chunk is valid until the
	// following call of Next.
	Next() (*Chunk, error)
	// Buffered reports whether a whole further frame is already here, so that
	// the reader may put off flushing.
	Buffered() bool
	// Close ends the call and frees what it holds. It may be called at any
	// time, more than once, also while Next waits (which then returns an error).
	Close()
}

// Reply is a whole answer, gathered from chunks.
type Reply struct {
	Text     Text
	Thinking Text
	Tools    []ToolCall // arguments as the model wrote them: cut by its length, they may be half an object
	Finish   Finish
	StopSeq  string
	Usage    Usage
	Timings  Timings
	Logprobs Raw
	Context  Raw
	Vectors  [][]float32
	// Native is the runtime's whole answer, when it came in one frame that may
	// be passed on (see Chunk.Native); nil otherwise.
	Native []byte
}

// Identity is what names an answer towards its client. Made once per answer.
type Identity struct {
	ID      string // 128 random bits in hex; each protocol adds its prefix
	Model   string // what the answer's model field says
	Created time.Time
	// ToolCallID mints the id of the answer's n-th tool call (from 0).
	ToolCallID func(n int) string
	// Now stamps the lines of Ollama's stream and measures their total time; nil
	// = every line says Created and unknown times stay out.
	Now func() time.Time
	// InputEstimate is our count of the prompt's tokens, for message_start and
	// wherever a protocol demands a count that the runtime did not give.
	InputEstimate int
}

// Encoder renders an answer as a stream in the client's protocol. It keeps
// the protocol's state (open blocks, indexes, sequence numbers); every method
// appends to dst and returns it. Call order: Open once, then KeepAlive and
// Chunk in any number, then exactly one of End or Fail.
type Encoder interface {
	ContentType() string
	// Open renders what is legal before any content (Responses: created and
	// in_progress; Anthropic: message_start). May be empty. Chunk calls it
	// itself when it has not been called.
	Open(dst []byte) []byte
	// KeepAlive renders a legal sign of life before content.
	KeepAlive(dst []byte) []byte
	// Chunk renders one chunk. Finish and usage are kept for End.
	Chunk(dst []byte, c *Chunk) []byte
	// End renders finish, usage and the terminator. Only after validation.
	End(dst []byte) []byte
	// Fail renders the error, once, in band; never a finish or terminator that
	// a client could take for success.
	Fail(dst []byte, p *Problem) []byte
}
