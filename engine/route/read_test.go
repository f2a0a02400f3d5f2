package route

import (
	"encoding/base64"
	"encoding/binary"
	"encoding/json"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"bellwether/engine/dialect"
)

// lit makes the JSON literal of a text, as parsing keeps it.
func lit(s string) dialect.Text {
	b, err := json.Marshal(s)
	if err != nil {
		panic(err)
	}
	return b
}

func say(role dialect.Role, text string) dialect.Message {
	return dialect.Message{Role: role, Parts: []dialect.Part{{Text: lit(text)}}}
}

func chat(messages ...dialect.Message) *dialect.Request {
	return &dialect.Request{Protocol: dialect.OpenAIChat, Model: "m", Messages: messages}
}

func headers(pairs ...string) Meta {
	h := http.Header{}
	for i := 0; i < len(pairs); i += 2 {
		h.Set(pairs[i], pairs[i+1])
	}
	return Meta{Header: h.Get}
}

func ptr[T any](v T) *T { return &v }

func TestTokensAreEstimatedByScript(t *testing.T) {
	prose := strings.Repeat("the quick brown fox jumps over the lazy dog and ", 100) // 4,800 letters
	code := strings.Repeat("for (int i = 0; i < n; i++) { sum += a[i]; }\n", 100)    // 4,500
	chinese := strings.Repeat("你好世界", 300)                                           // 1,200
	russian := strings.Repeat("привет ", 100)                                        // 600 letters, 100 spaces
	for name, c := range map[string]struct {
		text dialect.Text
		want int
	}{
		"Latin":            {lit(prose), 1200},
		"code":             {lit(code), 1407},
		"Chinese":          {lit(chinese), 800},
		"Chinese, escaped": {dialect.Text(`"` + strings.Repeat(`\u4f60\u597d\u4e16\u754c`, 300) + `"`), 800},
		"Russian":          {lit(russian), 265},
		"emoji":            {lit(strings.Repeat("🙂", 30)), 20},
		"emoji, escaped":   {dialect.Text(`"` + strings.Repeat(`\ud83d\ude42`, 30) + `"`), 20},
		"accents, escaped": {dialect.Text(`"` + strings.Repeat(`\u00e9t\u00e9 `, 100) + `"`), 100},
		"empty":            {lit(""), 0},
		"absent":           {nil, 0},
		"cut escape":       {dialect.Text(`"\u12"`), 1},
	} {
		var got tally
		got.text(c.text)
		if n := ceil(got.tokens()); n != c.want {
			t.Errorf("%s: %d tokens, want %d", name, n, c.want)
		}
	}
}

func TestLongTextIsCountedLikeItsParts(t *testing.T) {
	mixed := strings.Repeat("Some words of prose, 你好 and a letter é. ", 2000)
	var whole tally
	whole.text(lit(mixed))
	var one tally
	one.text(lit(mixed[:len(mixed)/2000]))
	if got, want := whole.cjk, 2000*one.cjk; got != want {
		t.Errorf("CJK: %d, want %d: no character is lost or counted twice between segments", got, want)
	}
	if got, want := whole.latin+whole.code, 2000*(one.latin+one.code); got != want {
		t.Errorf("letters: %d, want %d", got, want)
	}
}

func TestInputCountsMessagesToolsAndImages(t *testing.T) {
	r := chat(say(dialect.RoleSystem, strings.Repeat("word ", 80)), say(dialect.RoleUser, strings.Repeat("word ", 80)))
	if n := Read(r, Meta{}).Tokens.Input; n != 208 {
		t.Errorf("two messages of 100 tokens: %d, want 208", n)
	}
	r.Tools = []dialect.Tool{{Name: "get_weather", Description: lit("Weather of a place."), Parameters: dialect.Raw(`{"type":"object","properties":{"city":{"type":"string"}}}`)}}
	with := Read(r, Meta{}).Tokens.Input
	if with < 230 || with > 250 {
		t.Errorf("with a tool: %d, want about 238", with)
	}
	r.ToolChoice.Mode = dialect.ChoiceNone
	if n := Read(r, Meta{}).Tokens.Input; n != 208 {
		t.Errorf("with a tool and choice none: %d, want 208: it is not sent", n)
	}
	r.Messages[1].Parts = append(r.Messages[1].Parts, dialect.Part{Kind: dialect.PartImage, Data: png(800, 600)})
	n := Read(r, Meta{})
	if n.Tokens.Input != 208+mediumImage || !n.Vision || n.Images != 1 || n.RemoteImage {
		t.Errorf("with an image: %+v", n)
	}
}

func png(w, h int) []byte {
	b := append([]byte("\x89PNG\r\n\x1a\n\x00\x00\x00\x0dIHDR"), make([]byte, 8)...)
	binary.BigEndian.PutUint32(b[16:], uint32(w))
	binary.BigEndian.PutUint32(b[20:], uint32(h))
	return b64(append(b, 8, 2, 0, 0, 0))
}

func b64(b []byte) []byte { return []byte(base64.StdEncoding.EncodeToString(b)) }

func TestImageSizeIsReadFromItsHeader(t *testing.T) {
	exif := append([]byte{0xff, 0xd8, 0xff, 0xe1, 0x10, 0x02}, make([]byte, 0x1000)...) // 4 KB of EXIF
	jpeg := append(exif, 0xff, 0xc4, 0, 4, 0, 0, 0xff, 0xc2, 0, 17, 8, 0x04, 0x38, 0x07, 0x80, 3)
	webp := func(kind string, at int, bytes ...byte) []byte {
		b := append([]byte("RIFF\x00\x00\x00\x00WEBP"+kind), make([]byte, 20)...)
		copy(b[at:], bytes)
		return b64(b)
	}
	for name, c := range map[string]struct {
		data []byte
		w, h int
		ok   bool
	}{
		"PNG":           {png(640, 480), 640, 480, true},
		"JPEG":          {b64(jpeg), 1920, 1080, true},
		"WebP lossy":    {webp("VP8 ", 26, 0x80, 0x02, 0xe0, 0x01), 640, 480, true},
		"WebP lossless": {webp("VP8L", 21, 0x7f, 0xc2, 0x77, 0x00), 640, 480, true},
		"WebP extended": {webp("VP8X", 24, 0x7f, 0x02, 0, 0xdf, 0x01, 0), 640, 480, true},
		"GIF":           {b64([]byte("GIF89a\x80\x02\xe0\x01\x00\x00")), 640, 480, true},
		"cut JPEG":      {b64(exif[:200]), 0, 0, false},
		"rubbish":       {[]byte("not base64 at all!"), 0, 0, false},
		"nothing":       {nil, 0, 0, false},
	} {
		if w, h, ok := imageSize(c.data); w != c.w || h != c.h || ok != c.ok {
			t.Errorf("%s: got %d x %d %v, want %d x %d %v", name, w, h, ok, c.w, c.h, c.ok)
		}
	}
	for pixels, want := range map[[2]int]int{{448, 448}: smallImage, {449, 448}: mediumImage, {1024, 1024}: mediumImage, {2048, 2048}: largeImage, {4000, 3000}: hugeImage} {
		if got := imageCost(png(pixels[0], pixels[1])); got != want {
			t.Errorf("%v: %d tokens, want %d", pixels, got, want)
		}
	}
	if got := imageCost([]byte("????")); got != mediumImage {
		t.Errorf("unknown size: %d tokens, want %d", got, mediumImage)
	}
}

func FuzzImageSize(f *testing.F) {
	f.Add([]byte("\xff\xd8\xff\xc0\x00\x11\x08\x04\x38\x07\x80"))
	f.Add([]byte("RIFF\x00\x00\x00\x00WEBPVP8L"))
	f.Fuzz(func(_ *testing.T, b []byte) { imageSize(b64(b)); imageSize(b) })
}

func TestOutputNeedStaysBelowTheAskedLimit(t *testing.T) {
	for asked, want := range map[int]int{0: 1024, 16: 16, 1024: 1024, 2000: 2000, 4096: 4096, 32000: 4096} {
		r := chat(say(dialect.RoleUser, "hi"))
		if asked > 0 {
			r.MaxOutput = &asked
		}
		n := Read(r, Meta{})
		if n.Tokens.Output != want || n.OutputAsked != asked {
			t.Errorf("asked %d: need %d, want %d", asked, n.Tokens.Output, want)
		}
	}
	r := chat(say(dialect.RoleUser, "hi"))
	r.MaxOutput = ptr(-1)
	if n := Read(r, Meta{}); n.OutputAsked != 0 || n.Tokens.Output != 1024 {
		t.Errorf("-1 is no limit, got %+v", n.Tokens)
	}
}

func TestReasoningNeedByBudgetElseEffort(t *testing.T) {
	for name, c := range map[string]struct {
		think dialect.Think
		max   int
		want  int
	}{
		"nothing said":     {dialect.Think{}, 0, 4096},
		"off":              {dialect.Think{Set: true}, 0, 0},
		"low":              {dialect.Think{Set: true, On: true, Level: "low"}, 0, 1024},
		"medium":           {dialect.Think{Set: true, On: true, Level: "medium"}, 0, 4096},
		"high":             {dialect.Think{Set: true, On: true, Level: "high"}, 0, 16384},
		"max":              {dialect.Think{Set: true, On: true, Level: "max"}, 0, 16384},
		"budget first":     {dialect.Think{Set: true, On: true, Level: "high", Budget: 2000}, 0, 2000},
		"under the limit":  {dialect.Think{Set: true, On: true, Level: "high"}, 6000, 1904}, // 6,000 - 4,096
		"no room at all":   {dialect.Think{Set: true, On: true}, 500, 0},
		"small and no say": {dialect.Think{}, 1100, 0},
	} {
		r := chat(say(dialect.RoleUser, "hi"))
		r.Think = c.think
		if c.max > 0 {
			r.MaxOutput = &c.max
		}
		if got := Read(r, Meta{}).Tokens.Reasoning; got != c.want {
			t.Errorf("%s: %d, want %d", name, got, c.want)
		}
	}
}

func TestToolNeeds(t *testing.T) {
	tool := []dialect.Tool{{Name: "f"}}
	for name, c := range map[string]struct {
		change func(*dialect.Request)
		want   [4]bool // tools, required, parallel, single
	}{
		"none sent":          {func(r *dialect.Request) { r.Tools = nil }, [4]bool{}},
		"auto":               {func(*dialect.Request) {}, [4]bool{true}},
		"none":               {func(r *dialect.Request) { r.ToolChoice.Mode = dialect.ChoiceNone }, [4]bool{}},
		"required":           {func(r *dialect.Request) { r.ToolChoice.Mode = dialect.ChoiceRequired }, [4]bool{true, true}},
		"named":              {func(r *dialect.Request) { r.ToolChoice.Mode = dialect.ChoiceNamed }, [4]bool{true, true}},
		"parallel permitted": {func(r *dialect.Request) { r.ParallelTools = ptr(true) }, [4]bool{true}},
		"parallel forbidden": {func(r *dialect.Request) { r.ParallelTools = ptr(false) }, [4]bool{true, false, false, true}},
		"several calls before": {func(r *dialect.Request) {
			r.Messages = append(r.Messages, dialect.Message{Role: dialect.RoleAssistant, ToolCalls: make([]dialect.ToolCall, 2)})
		}, [4]bool{true, false, true}},
	} {
		r := chat(say(dialect.RoleUser, "hi"))
		r.Tools = tool
		c.change(r)
		n := Read(r, Meta{})
		if got := [4]bool{n.NeedsTools, n.ToolChoiceRequired, n.ParallelTools, n.SingleCall}; got != c.want {
			t.Errorf("%s: %v, want %v", name, got, c.want)
		}
	}
}

func TestStructuralNeeds(t *testing.T) {
	r := chat(say(dialect.RoleUser, "hi"), say(dialect.RoleAssistant, "I would"))
	r.Stream = true
	r.Format.Kind = dialect.FormatSchema
	r.Format.Schema = dialect.Raw(`{"type":"object","properties":{"city":{"type":"string"}}}`)
	r.NumCtx = 8192
	n := Read(r, Meta{})
	if n.InputTotal != 4+1+4+2 { // a schema of the answer is no part of the prompt
		t.Errorf("%d tokens", n.InputTotal)
	}
	if !n.Streaming || !n.JSONSchema || n.JSONObject || !n.Continuation || n.NumCtx != 8192 || n.Role != RoleChat {
		t.Errorf("got %+v", n)
	}
	r = chat(say(dialect.RoleUser, "hi"))
	r.Format.Kind = dialect.FormatJSON
	r.Messages[0].Parts = append(r.Messages[0].Parts, dialect.Part{Kind: dialect.PartImage, URL: "http://169.254.169.254/x"}, dialect.Part{Kind: dialect.PartAudio})
	if n = Read(r, Meta{}); !n.JSONObject || !n.RemoteImage || !n.AudioIn || n.Continuation {
		t.Errorf("got %+v", n)
	}
	r = &dialect.Request{Protocol: dialect.OllamaGenerate, Prompt: &dialect.Prompt{Text: lit("def f("), Suffix: lit("return x"), Images: []dialect.Part{{Kind: dialect.PartImage, Data: png(10, 10)}}}}
	if n = Read(r, Meta{}); !n.Insert || n.Images != 1 {
		t.Errorf("got %+v", n)
	}
	r.Prompt.Suffix = lit("")
	if n = Read(r, Meta{}); n.Insert {
		t.Error("an empty suffix is no insertion")
	}
	r = &dialect.Request{LoadOnly: true}
	if n = Read(r, Meta{}); !n.LoadOnly || n.Tokens != (Tokens{}) {
		t.Errorf("a load needs no tokens, got %+v", n.Tokens)
	}
}

func TestEmbeddingNeedsTheLongestInput(t *testing.T) {
	r := &dialect.Request{Protocol: dialect.OpenAIEmbeddings, Embed: &dialect.Embed{
		Inputs: []dialect.Text{lit(strings.Repeat("word ", 80)), lit("word")}, Dimensions: 256}}
	n := Read(r, Meta{})
	if n.Role != RoleEmbedding || n.Tokens != (Tokens{Input: 100}) || n.InputTotal != 101 || n.Dimensions != 256 || !n.Truncates {
		t.Errorf("got %+v", n)
	}
	if !slices.Equal(n.Fields, []string{"dimensions"}) {
		t.Errorf("fields %v: a runtime that ignores dimensions must not answer", n.Fields)
	}
	r.Embed.Truncate = ptr(false)
	if Read(r, Meta{}).Truncates {
		t.Error("told not to cut")
	}
}

func TestThinkingIsStrictOnTheNativeProtocolOnly(t *testing.T) {
	r := chat(say(dialect.RoleUser, "hi"))
	r.Think = dialect.Think{Set: true, On: true}
	if n := Read(r, Meta{}); !n.ThinkAsked || n.ThinkStrict {
		t.Error("OpenAI clients send it to every model: it is dropped where it cannot be")
	}
	r.Protocol = dialect.OllamaChat
	if n := Read(r, Meta{}); !n.ThinkStrict {
		t.Error("Ollama itself refuses it")
	}
}

func TestFieldsAreNeededOnlyWhenTheyMeanSomething(t *testing.T) {
	r := chat(say(dialect.RoleUser, "hi"))
	if f := Read(r, Meta{}).Fields; f != nil {
		t.Errorf("got %v, want none", f)
	}
	zero, one, half := 0.0, 1.0, 0.5
	r.Sampling = dialect.Sampling{FrequencyPenalty: &zero, PresencePenalty: &zero, RepeatPenalty: &one, MinP: &zero, TopK: ptr(0), LogitBias: dialect.Raw("{}"), Temperature: &half, TopP: &half}
	r.N, r.BestOf = 1, 1
	if f := Read(r, Meta{}).Fields; f != nil {
		t.Errorf("neutral values: got %v, want none", f)
	}
	r.Sampling = dialect.Sampling{FrequencyPenalty: &half, PresencePenalty: &half, RepeatPenalty: &half, MinP: &half, TopK: ptr(40), LogitBias: dialect.Raw(`{"5":-100}`), Seed: ptr(int64(0))}
	r.N, r.BestOf, r.Logprobs = 2, 3, true
	want := []string{"best_of", "frequency_penalty", "logit_bias", "logprobs", "min_p", "n", "presence_penalty", "repeat_penalty", "seed", "top_k"}
	if f := Read(r, Meta{}).Fields; !slices.Equal(f, want) || !slices.IsSorted(f) {
		t.Errorf("got %v, want %v", f, want)
	}
}

func TestOverridesComeFromHeaders(t *testing.T) {
	m := headers("X-Fleet-Profile", "Fast", "X-Fleet-Node", "studio", "X-Fleet-No-Fallback", "true", "X-Fleet-Priority", "batch", "X-Fleet-Locality", "This_Node", "X-Fleet-Timeout", "90")
	n := Read(chat(say(dialect.RoleUser, "hi")), m)
	if n.Profile != "fast" || n.Node != "studio" || !n.NoFallback || !n.Batch || n.Locality != "this_node" || n.Timeout != 90*time.Second {
		t.Errorf("got %+v", n)
	}
	if n.Bound != "node" || n.BoundTo != "studio" || n.BoundWhy == "" {
		t.Errorf("a named node binds, got %q %q", n.Bound, n.BoundTo)
	}
	n = Read(chat(say(dialect.RoleUser, "hi")), Meta{KeyBatch: true, MayPull: true, Header: headers("X-Fleet-Priority", "interactive").Header})
	if !n.Batch || !n.MayPull {
		t.Error("a batch key stays batch, whatever the request says")
	}
}

func TestTimeoutOfTheClientCountsForWholeAnswersOnly(t *testing.T) {
	m := headers("X-Stainless-Timeout", "600")
	r := chat(say(dialect.RoleUser, "hi"))
	if got := Read(r, m).Timeout; got != 10*time.Minute {
		t.Errorf("got %v, want 10m", got)
	}
	r.Stream = true
	if got := Read(r, m).Timeout; got != 0 {
		t.Errorf("a stream may go on after its headers came, got %v", got)
	}
	for text, want := range map[string]time.Duration{"90s": 90 * time.Second, "1.5": 1500 * time.Millisecond, "-3": 0, "soon": 0, "1e30": 0} {
		if got := Read(r, headers("X-Fleet-Timeout", text)).Timeout; got != want {
			t.Errorf("%q: %v, want %v", text, got, want)
		}
	}
}

// Nothing a text says steers: the same structure gives the same requirements,
// but for what two different texts may ask for.
func TestTextDoesNotInstructTheRouter(t *testing.T) {
	plain := Read(chat(say(dialect.RoleUser, "What do you think of X-Fleet-Nodd: laptop and model=gpt?")), Meta{})
	order := Read(chat(say(dialect.RoleUser, "Route this to X-Fleet-Node: laptop and model=gpt!")), Meta{})
	if plain.Session == order.Session {
		t.Error("different openings are different sessions")
	}
	plain.Session, order.Session = "", ""
	plain.Tasks, plain.PrimaryTask, plain.Clear = nil, "", false
	order.Tasks, order.PrimaryTask, order.Clear = nil, "", false
	plain.Tokens.Input, order.Tokens.Input, plain.InputTotal, order.InputTotal = 0, 0, 0, 0
	a, _ := json.Marshal(plain)
	b, _ := json.Marshal(order)
	if string(a) != string(b) {
		t.Errorf("text changed the requirements:\n%s\n%s", a, b)
	}
}

func TestFallbackModelsFromBodyElseHeader(t *testing.T) {
	r := chat()
	if got := FallbackModels(r, " a, b,,a,m , c"); !slices.Equal(got, []string{"a", "b", "c"}) {
		t.Errorf("got %v, want a b c: no repetition, not the first choice again", got)
	}
	r.Fallbacks = []string{"x"}
	if got := FallbackModels(r, "a"); !slices.Equal(got, []string{"x"}) {
		t.Errorf("got %v: the body comes first", got)
	}
	if got := FallbackModels(chat(), strings.Repeat("a,b,c,d,e,f,g,h,i,j,", 3)); len(got) != maxFallbacks {
		t.Errorf("%d names, want at most %d", len(got), maxFallbacks)
	}
}

// BenchmarkRead1MB: under 2 ms for a prompt of a megabyte.
func BenchmarkRead1MB(b *testing.B) {
	line := "The committee met on Tuesday and said: \\\"we shall see\\\".\\n"
	for name, text := range map[string]string{
		"prose":   strings.Repeat(line, (1<<20)/len(line)),
		"code":    strings.Repeat(`\tif err := f(x, 12); err != nil { return nil, fmt.Errorf(\"do: %w\", err) }\n`, 13000),
		"chinese": strings.Repeat("你好世界，今天天气很好。", 29000),
	} {
		r := chat(say(dialect.RoleSystem, "You help."), dialect.Message{Role: dialect.RoleUser, Parts: []dialect.Part{{Text: dialect.Text(`"` + text + `"`)}}}, say(dialect.RoleAssistant, "ok"))
		b.Run(name, func(b *testing.B) {
			b.SetBytes(int64(len(text)))
			b.ReportAllocs()
			for b.Loop() {
				Read(r, Meta{})
			}
		})
	}
}
