package runtimetest

// readChat reads the bodies of /v1/chat/completions and /v1/completions.
func readChat(path string, body []byte) *ask {
	a := &ask{path: path, body: body, max: -1}
	eachMember(body, func(name, v []byte) {
		switch string(name) {
		case "model":
			a.model = text(v)
		case "messages":
			a.turns = kind(v) == '['
			eachElement(v, func(m []byte) { readChatMessage(a, m) })
		case "prompt":
			a.turns = true
			for _, p := range texts(v) {
				a.say("user", appendQuoted(nil, p, cppEscapes))
			}
		case "suffix":
			a.suffix = text(v) != ""
		case "stream":
			a.stream = isTrue(v)
		case "stream_options":
			a.usage = isTrue(member(v, "include_usage"))
		case "max_tokens", "n_predict":
			a.max = whole(v, a.max)
		case "max_completion_tokens":
			a.max = whole(v, a.max)
		case "stop":
			a.stop = texts(v)
		case "seed":
			a.seed = whole(v, 0)
		case "logprobs":
			a.logs = isTrue(v) || whole(v, 0) > 0
		case "top_logprobs":
			a.topLog = whole(v, 0)
		case "tools":
			readFunctionTools(a, v)
		case "tool_choice":
			a.choice = choiceOf(v)
		case "parallel_tool_calls":
			a.single = kind(v) == 'f'
		case "response_format":
			a.format = formatOf(v)
		case "reasoning_effort":
			a.think = effortOf(v)
		case "chat_template_kwargs":
			if enable := member(v, "enable_thinking"); kind(enable) == 'f' {
				a.think = thinkOff
			}
		}
	})
	a.noModel = a.model == ""
	return a
}

func readChatMessage(a *ask, m []byte) {
	var role, content []byte
	calls := false
	eachMember(m, func(name, v []byte) {
		switch string(name) {
		case "role":
			role = v
		case "content":
			content = v
		case "tool_calls":
			calls = true
			a.readRaw(v)
		}
	})
	r := text(role)
	if content == nil && !calls {
		a.hollow = r
	}
	if kind(content) != '[' {
		a.say(r, content)
		return
	}
	a.say(r, nil)
	eachElement(content, func(p []byte) {
		switch text(member(p, "type")) {
		case "image_url", "input_image", "image":
			a.images++
		default:
			a.more(member(p, "text"))
		}
	})
}

// choiceOf reads tool_choice of Chat and Responses.
func choiceOf(v []byte) string {
	if s := text(v); s != "" {
		return s
	}
	if f := member(v, "function"); f != nil {
		return "=" + text(member(f, "name"))
	}
	if n := member(v, "name"); n != nil {
		return "=" + text(n)
	}
	return ""
}

// formatOf reads response_format of Chat and text.format of Responses.
func formatOf(v []byte) []byte {
	switch text(member(v, "type")) {
	case "json_object":
		if s := member(v, "schema"); s != nil {
			return s
		}
		return []byte(`"json"`)
	case "json_schema":
		if s := member(v, "json_schema"); s != nil {
			return member(s, "schema")
		}
		return member(v, "schema")
	}
	return nil
}

func effortOf(v []byte) think {
	switch text(v) {
	case "":
		return thinkUnset
	case "none":
		return thinkOff
	}
	return thinkOn
}

// readResponses reads the body of /v1/responses.
func readResponses(path string, body []byte) *ask {
	a := &ask{path: path, body: body, max: -1, turns: true}
	var input []byte
	eachMember(body, func(name, v []byte) {
		switch string(name) {
		case "model":
			a.model = text(v)
		case "input":
			input = v
		case "instructions":
			a.instruct = v
			a.say("system", v)
		case "stream":
			a.stream = isTrue(v)
		case "max_output_tokens":
			a.max = whole(v, -1)
		case "reasoning":
			a.think = effortOf(member(v, "effort"))
		case "text":
			a.format = formatOf(member(v, "format"))
		case "tool_choice":
			a.choice = choiceOf(v)
		case "parallel_tool_calls":
			a.single = kind(v) == 'f'
		case "previous_response_id":
			a.previous = text(v)
		case "tools":
			a.rawTools = v
			readFlatTools(a, v)
		}
	})
	if kind(input) == '"' {
		a.say("user", input)
	}
	eachElement(input, func(item []byte) { readItem(a, item) })
	a.noModel = a.model == ""
	return a
}

func readFlatTools(a *ask, v []byte) {
	eachElement(v, func(t []byte) {
		if text(member(t, "type")) == "function" {
			a.addTool(member(t, "name"), member(t, "parameters"))
		}
	})
	if len(a.tools) > 0 {
		a.readRaw(v)
	}
}

func readItem(a *ask, item []byte) {
	switch text(member(item, "type")) {
	case "", "message":
		readChatMessage(a, item)
	case "function_call_output":
		a.say("tool", member(item, "output"))
	case "function_call", "reasoning":
		a.readRaw(item)
	}
}

// readMessages reads the body of /v1/messages.
func readMessages(path string, body []byte) *ask {
	a := &ask{path: path, body: body, max: -1}
	eachMember(body, func(name, v []byte) {
		switch string(name) {
		case "model":
			a.model = text(v)
		case "system":
			a.say("system", v)
			eachElement(v, func(p []byte) { a.more(member(p, "text")) })
		case "messages":
			a.turns = kind(v) == '['
			eachElement(v, func(m []byte) { readBlocks(a, m) })
		case "stream":
			a.stream = isTrue(v)
		case "max_tokens":
			a.max = whole(v, -1)
		case "stop_sequences":
			a.stop = texts(v)
		case "thinking":
			if text(member(v, "type")) == "disabled" {
				a.think = thinkOff
			} else {
				a.think = thinkOn
			}
		case "tools":
			eachElement(v, func(t []byte) { a.addTool(member(t, "name"), member(t, "input_schema")) })
			if len(a.tools) > 0 {
				a.readRaw(v)
			}
		case "tool_choice":
			a.single = isTrue(member(v, "disable_parallel_tool_use"))
			switch text(member(v, "type")) {
			case "none":
				a.choice = "none"
			case "any":
				a.choice = "required"
			case "tool":
				a.choice = "=" + text(member(v, "name"))
			}
		}
	})
	a.noModel = a.model == ""
	return a
}

func readBlocks(a *ask, m []byte) {
	role := text(member(m, "role"))
	content := member(m, "content")
	if kind(content) != '[' {
		a.say(role, content)
		return
	}
	a.say(role, nil)
	eachElement(content, func(p []byte) {
		switch text(member(p, "type")) {
		case "image":
			a.images++
		case "tool_result":
			a.lastRole = "tool"
			a.readRaw(member(p, "content"))
		case "tool_use":
			a.readRaw(p)
		default:
			a.more(member(p, "text"))
		}
	})
}
