package runtimetest

// RecordedModels are the models the recordings were made with, behaving as
// they did: "tiny", "tools", "think", "vision", "embed", "loop" and more under
// Ollama; one, by name, under llama-server.
func RecordedModels() []FakeModel {
	tiny := func(name string, capabilities ...string) FakeModel {
		return FakeModel{Name: name, Quant: "F16", Parameters: 2295040, Size: 4603595, Context: 4096, EmbeddingWidth: 256,
			CharsPerToken: 1, Capabilities: append([]string{"completion"}, capabilities...)}
	}
	sized := func(name string, parameters, size int64, width int) FakeModel {
		m := tiny(name)
		m.Parameters, m.Size, m.EmbeddingWidth = parameters, size, width
		return m
	}
	embed := FakeModel{Name: "embed", Family: "bert", Quant: "F16", Parameters: 519936, Size: 1191794, Context: 512,
		EmbeddingWidth: 128, CharsPerToken: 1, Capabilities: []string{"embedding"}}
	loop := tiny("loop")
	loop.Tokens = -1
	think := tiny("think", "thinking")
	think.Script = []Answer{{Thinking: "First I count: 1 2 3.", Text: "The answer is 42."}}
	return []FakeModel{tiny("tiny"), tiny("tools", "tools"), think, loop, tiny("long"), tiny("native"), tiny("vision"), embed,
		sized("mid60", 29957632, 59948332, 512), sized("big300", 152194048, 304445773, 1024)}
}

// RecordedModel is one of them.
func RecordedModel(name string) FakeModel {
	for _, m := range RecordedModels() {
		if m.Name == name {
			return m
		}
	}
	panic("no recorded model " + name)
}
