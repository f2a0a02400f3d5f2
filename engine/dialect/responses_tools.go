package dialect

import "github.com/go-json-experiment/json/jsontext"

// toolNames gives the calls of an answer back under the names and in the item
// types that the client's tools have.
type toolNames struct {
	custom     map[string]bool
	namespaced map[string]NamespacedTool
	// members maps a bare member name that only one namespace has, and no other
	// tool, to its full one: small models leave the namespace out.
	members map[string]string
}

func newToolNames(r *Request) toolNames {
	t := toolNames{custom: r.CustomTools, namespaced: r.Namespaced}
	if len(r.Namespaced) == 0 {
		return t
	}
	t.members = make(map[string]string, len(r.Namespaced))
	for full, m := range r.Namespaced {
		if _, twice := t.members[m.Name]; twice {
			full = ""
		}
		t.members[m.Name] = full
	}
	for i := range r.Tools {
		delete(t.members, r.Tools[i].Name)
	}
	return t
}

// lookup returns the namespace and name under which the client knows a tool.
func (t *toolNames) lookup(name string) NamespacedTool {
	if full := t.members[name]; full != "" {
		name = full
	}
	if m, ok := t.namespaced[name]; ok {
		return m
	}
	return NamespacedTool{Name: name}
}

func (t *toolNames) bare(name string) string { return t.lookup(name).Name }

func (t *toolNames) isCustom(name string) bool {
	if full := t.members[name]; full != "" {
		name = full
	}
	return t.custom[name]
}

func (t *toolNames) itemPrefix(name string) string {
	if t.isCustom(name) {
		return "ctc_"
	}
	return "fc_"
}

// appendCall renders a whole call as the item at place of the output.
func (t *toolNames) appendCall(o *responseObject, status string, c *ToolCall, n, place int) []byte {
	id, callID := o.itemID(t.itemPrefix(c.Name), place), o.ident.callID(n, c.ID)
	if t.isCustom(c.Name) {
		var in customInput
		in.next(c.Arguments)
		in.rest(c.Arguments)
		return t.appendCustomCall(nil, id, status, callID, c.Name, string(in.text))
	}
	args := AppendString(nil, string(c.Arguments))
	return t.appendFunctionCall(nil, id, status, callID, c.Name, args[1:len(args)-1])
}

func (t *toolNames) appendFunctionCall(dst []byte, id, status, callID, name string, arguments []byte) []byte {
	dst = t.appendCallHead(dst, "function_call", id, status, callID, name)
	dst = append(dst, `,"arguments":"`...)
	return append(append(dst, arguments...), `"}`...)
}

func (t *toolNames) appendCustomCall(dst []byte, id, status, callID, name, input string) []byte {
	dst = t.appendCallHead(dst, "custom_tool_call", id, status, callID, name)
	dst = append(dst, `,"input":`...)
	return append(AppendString(dst, input), '}')
}

func (t *toolNames) appendCallHead(dst []byte, kind, id, status, callID, name string) []byte {
	dst = append(dst, `{"id":"`...)
	dst = append(dst, id...)
	dst = append(dst, `","type":"`...)
	dst = append(dst, kind...)
	dst = append(dst, `","status":"`...)
	dst = append(dst, status...)
	dst = append(dst, `","call_id":`...)
	dst = AppendString(dst, callID)
	tool := t.lookup(name)
	if tool.Namespace != "" {
		dst = append(dst, `,"namespace":`...)
		dst = AppendString(dst, tool.Namespace)
	}
	dst = append(dst, `,"name":`...)
	return AppendString(dst, tool.Name)
}

// customInput takes the one argument of a custom tool out of the arguments
// object it was declared with, while they come in: {"input":"the text"}. It
// streams, since a patch of some thousand tokens takes minutes and a client
// that sees no event for that long gives up.
type customInput struct {
	at             int // bytes of the arguments read
	started, ended bool
	text           []byte // decoded so far
}

// next returns what the arguments so far add to the text. Escapes are decoded
// when they are whole.
func (c *customInput) next(args []byte) string {
	if !c.started {
		c.at = inputStart(args)
		if c.at < 0 {
			return ""
		}
		c.started = true
	}
	from := c.at
	for c.at < len(args) && !c.ended {
		n := escapeLen(args[c.at:])
		switch {
		case args[c.at] == '"':
			c.ended = true
		case n == 0:
			return c.take(args[from:c.at]) // wait for the rest of an escape
		default:
			c.at += n
		}
	}
	return c.take(args[from:c.at])
}

// rest returns what is left when the arguments have ended. Arguments of
// another form than declared are the input as they are.
func (c *customInput) rest(args []byte) string {
	if c.started {
		return ""
	}
	v := Raw(args)
	whole := string(args)
	if jsontext.Value(v).IsValid(jsontext.AllowDuplicateNames(true)) {
		switch in := v.Get("input"); {
		case in.Kind() == '"':
			whole = Text(in).String()
		case v.Kind() == '"':
			whole = Text(v).String()
		}
	}
	c.started, c.ended = true, true
	c.text = []byte(whole)
	return whole
}

// take decodes a stretch of whole characters and keeps it. What is no escape,
// or a line break that ought to be one, is a model's slip: it stays as it is.
func (c *customInput) take(inside []byte) string {
	before := len(c.text)
	for len(inside) > 0 {
		n := escapeLen(inside)
		if n == 1 {
			c.text = append(c.text, inside[0])
		} else {
			c.text = appendEscape(c.text, inside[:n])
		}
		inside = inside[n:]
	}
	return string(c.text[before:])
}

func appendEscape(dst, escape []byte) []byte {
	lit := append(append([]byte{'"'}, escape...), '"')
	plain, err := jsontext.AppendUnquote(nil, lit)
	if err != nil && len(plain) == 0 {
		plain = escape
	}
	return append(dst, plain...)
}

// inputStart returns where the text begins in {"input":"text, -1 when it is
// not there (yet).
func inputStart(args []byte) int {
	i := 0
	for _, token := range []string{"{", `"input"`, ":", `"`} {
		i = skipSpace(args, i)
		if len(args)-i < len(token) || string(args[i:i+len(token)]) != token {
			return -1
		}
		i += len(token)
	}
	return i
}

// escapeLen is the length of the first character of a literal's inside, of a
// surrogate pair as a whole; 0 = it is not all there yet.
func escapeLen(b []byte) int {
	need := 1
	if b[0] == '\\' {
		need = 2
		if len(b) > 1 && b[1] == 'u' {
			need = 6
			if len(b) >= 6 && isHighSurrogate(b[2:6]) {
				need = 12
				if len(b) >= 8 && (b[6] != '\\' || b[7] != 'u') {
					need = 6 // alone
				}
			}
		}
	}
	if len(b) < need {
		return 0
	}
	return need
}
