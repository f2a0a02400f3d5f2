package engine

import (
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strings"

	"go.yaml.in/yaml/v3"

	"bellwether/engine/document"
)

// edit returns the text of a settings file with changes made: key -> the new
// text, nil = back to the default. Only the lines of the changed settings are
// touched, so that comments, order and spacing of the others stay as their
// owner wrote them; of settings within braces, the one entry that the braces are
// the value of. A section that would hold nothing goes with its last setting.
// Where lines do not tell settings apart (anchors, texts of many lines, a file
// within braces) the file is written anew from its nodes, comments kept.
//
// Its error joins a *SettingError for every text that is wrong. What was
// written is read again before it is returned: nothing else has changed.
func editSettings(name string, text []byte, changes map[string]*string) ([]byte, error) {
	before, err := settingsIn(name, text)
	if err != nil {
		return nil, err
	}
	doc, err := document.Read(text)
	if err != nil {
		return nil, err
	}
	want := maps.Clone(before)
	values := map[string]*yaml.Node{} // nil = to be removed
	var wrong []error
	for _, key := range slices.Sorted(maps.Keys(changes)) {
		n, v, err := newValue(doc, key, changes[key])
		if err != nil {
			wrong = append(wrong, err)
			continue
		}
		values[key] = n
		if delete(want, key); n != nil {
			want[key] = v
		}
	}
	if len(wrong) > 0 {
		return nil, errors.Join(wrong...)
	}
	if out, ok := editLines(text, values); ok && holds(name, out, want) {
		return out, nil
	}
	out, err := editNodes(text, values)
	if err != nil {
		return nil, err
	}
	if !holds(name, out, want) {
		return nil, errors.New("the settings file is written in a way that cannot be changed from here: edit it by hand")
	}
	return out, nil
}

// settingsIn reads the settings of a file's text, by key.
func settingsIn(name string, text []byte) (map[string]any, error) {
	p := &fileParser{name: name, origin: map[string]string{}}
	if _, err := p.Unmarshal(text); err != nil {
		return nil, err
	}
	return p.values, nil
}

func holds(name string, text []byte, want map[string]any) bool {
	have, err := settingsIn(name, text)
	return err == nil && reflect.DeepEqual(have, want)
}

// newValue reads a change as the file would be: its node, and the setting's
// value. Secrets that the text hides are those that stand in the file.
func newValue(doc *yaml.Node, key string, text *string) (*yaml.Node, any, error) {
	s, known := settingOf(key)
	if !known {
		return nil, nil, &SettingError{Key: key, Problem: unknownKey(key, settingKeys()).Error()}
	}
	if text == nil {
		return nil, nil, nil
	}
	n := &yaml.Node{Kind: yaml.ScalarNode, Value: strings.TrimSpace(*text)}
	if t := n.Value; t != "" && (t[0] == '[' || t[0] == '{' || strings.Contains(t, "\n")) && isNested(s.kind) {
		parsed, err := document.Read([]byte(t))
		if err != nil {
			return nil, nil, &SettingError{Key: key, Problem: "cannot be read: " + err.Error()}
		}
		n = parsed
		var old *yaml.Node
		if e := findEntry(doc, "", key); e != nil {
			old = e.value()
		}
		if err := restoreHidden(n, old); err != nil {
			return nil, nil, &SettingError{Key: key, Value: hidden, Problem: err.Error()}
		}
	}
	if n == nil {
		return nil, nil, &SettingError{Key: key, Problem: "cannot be empty"}
	}
	v, err := s.kind.node(n)
	if err != nil {
		written := ""
		if n.Kind == yaml.ScalarNode && !hasHidden(s.kind) {
			written = n.Value
		}
		return nil, nil, wrongValue(s, "", written, err)
	}
	plain(n, true)
	return n, v, nil
}

// plain has a node written as a person would: a list's entries on lines of
// their own, each of them in one line, words without quotes.
func plain(n *yaml.Node, top bool) {
	if n.Kind == yaml.ScalarNode {
		n.Style, n.Tag = 0, ""
		if strings.ContainsAny(n.Value, "\n") {
			n.Style = yaml.DoubleQuotedStyle
		}
		var probe yaml.Node // what would be read as something else stays in quotes
		if yaml.Unmarshal([]byte(n.Value), &probe) != nil || len(probe.Content) != 1 || probe.Content[0].Value != n.Value || probe.Content[0].Tag == "!!null" {
			n.Style = yaml.DoubleQuotedStyle
		}
		return
	}
	n.Style = yaml.FlowStyle
	if top && len(n.Content) > 0 {
		n.Style = 0
	}
	for _, c := range n.Content {
		plain(c, false)
	}
}

// restoreHidden puts back the secrets of entries that are known by their name.
func restoreHidden(n, old *yaml.Node) error {
	switch n.Kind {
	case yaml.ScalarNode:
		if n.Value != hidden {
			return nil
		}
		if old == nil || old.Kind != yaml.ScalarNode {
			return errors.New("the text of this key is not known here: write the key itself")
		}
		n.Value, n.Tag, n.Style = old.Value, old.Tag, old.Style
	case yaml.SequenceNode:
		for _, c := range n.Content {
			if err := restoreHidden(c, namedEntry(old, fieldOf(c, "name"))); err != nil {
				return err
			}
		}
	case yaml.MappingNode:
		for i := 0; i+1 < len(n.Content); i += 2 {
			if err := restoreHidden(n.Content[i+1], fieldOf(old, n.Content[i].Value)); err != nil {
				return err
			}
		}
	}
	return nil
}

// fieldOf returns the value of a mapping's key, nil if there is none.
func fieldOf(n *yaml.Node, key string) *yaml.Node {
	if n == nil || n.Kind != yaml.MappingNode {
		return nil
	}
	for i := 0; i+1 < len(n.Content); i += 2 {
		if n.Content[i].Value == key {
			return follow(n.Content[i+1])
		}
	}
	return nil
}

func namedEntry(list, name *yaml.Node) *yaml.Node {
	if list == nil || list.Kind != yaml.SequenceNode || name == nil {
		return nil
	}
	for _, c := range list.Content {
		if n := fieldOf(follow(c), "name"); n != nil && n.Value == name.Value {
			return follow(c)
		}
	}
	return nil
}

// entry is a key of a mapping: its place in the mapping's content.
type entry struct {
	in *yaml.Node
	at int
}

func (e *entry) name() *yaml.Node  { return e.in.Content[e.at] }
func (e *entry) value() *yaml.Node { return follow(e.in.Content[e.at+1]) }

// findEntry returns where a setting stands, nil if nowhere. A key may be
// written in one word (routing.hold.max) or section by section.
func findEntry(n *yaml.Node, prefix, key string) *entry {
	if chain := findChain(n, prefix, key); chain != nil {
		return chain[len(chain)-1]
	}
	return nil
}

// findChain returns the entries that lead to a setting, the last its own.
func findChain(n *yaml.Node, prefix, key string) []*entry {
	if n == nil || n.Kind != yaml.MappingNode {
		return nil
	}
	for i := 0; i+1 < len(n.Content); i += 2 {
		full, here := prefix+n.Content[i].Value, &entry{n, i}
		if full == key {
			return []*entry{here}
		}
		if strings.HasPrefix(key, full+".") {
			if below := findChain(follow(n.Content[i+1]), full+".", key); below != nil {
				return append([]*entry{here}, below...)
			}
		}
	}
	return nil
}

// sectionChain returns the entries that lead to a section, nil of the root and
// of one that is not below it.
func sectionChain(n, section *yaml.Node) []*entry {
	if n == nil || n.Kind != yaml.MappingNode || n == section {
		return nil
	}
	for i := 0; i+1 < len(n.Content); i += 2 {
		here, value := &entry{n, i}, follow(n.Content[i+1])
		if value == section {
			return []*entry{here}
		}
		if below := sectionChain(value, section); below != nil {
			return append([]*entry{here}, below...)
		}
	}
	return nil
}

// emptied cuts a chain to the entry that is to be removed so that no section
// stays without an entry; gone are the sections' entries above the last one
// that go with it, the outermost first.
func emptied(chain []*entry) (gone []*entry) {
	at := len(chain) - 1
	for at > 0 && len(chain[at].in.Content) == 2 {
		at--
	}
	return chain[at:]
}

// findSection returns the deepest section that is there for a key, and what
// of the key is left below it.
func findSection(n *yaml.Node, key string) (section *yaml.Node, rest string) {
	if n == nil || n.Kind != yaml.MappingNode {
		return nil, key
	}
	for i := 0; i+1 < len(n.Content); i += 2 {
		left, below := strings.CutPrefix(key, n.Content[i].Value+".")
		if !below {
			continue
		}
		if in := follow(n.Content[i+1]); in.Kind == yaml.MappingNode {
			if s, rest := findSection(in, left); s != nil {
				return s, rest
			}
		}
	}
	return n, key
}

// editLines changes the lines of the settings alone; ok is false where that
// cannot be done.
func editLines(text []byte, values map[string]*yaml.Node) (out []byte, ok bool) {
	for _, key := range slices.Sorted(maps.Keys(values)) {
		if text, ok = editLine(text, key, values[key]); !ok {
			return nil, false
		}
	}
	return text, true
}

func editLine(text []byte, key string, value *yaml.Node) (out []byte, ok bool) {
	doc, err := document.Read(text)
	if err != nil {
		return nil, false
	}
	lines := strings.SplitAfter(string(text), "\n")
	if chain := findChain(doc, "", key); chain != nil {
		e := chain[len(chain)-1]
		gone := []*entry{e}
		if value == nil {
			gone = emptied(chain)
		}
		if gone[0].in.Style&yaml.FlowStyle != 0 {
			return editFlow(doc, lines, chain, key, value)
		}
		if value == nil {
			return removeLines(lines, gone)
		}
		comment := e.name().LineComment
		if c := e.value().LineComment; c != "" {
			comment = c
		}
		return replaceLines(lines, e.name().Line, lastLineOf(lines, e.value()), rendered(e.name().Column-1, e.name().Value, value, comment))
	}
	if value == nil {
		return text, true // it stands nowhere as it is
	}
	section, rest := findSection(doc, key)
	if section == nil || len(section.Content) == 0 && section == doc {
		if doc != nil {
			return nil, false
		}
		return append(endLine(text), strings.Join(nested(0, key, value), "")...), true
	}
	if section.Style&yaml.FlowStyle != 0 {
		return editFlow(doc, lines, sectionChain(doc, section), key, value)
	}
	last := lastLineOf(lines, section)
	if last < 0 || last > len(lines) || len(section.Content) == 0 {
		return nil, false
	}
	lines[last-1] = string(endLine([]byte(lines[last-1])))
	return []byte(strings.Join(slices.Insert(lines, last, nested(section.Column-1, rest, value)...), "")), true
}

// editFlow writes a setting within braces: the one entry anew that the braces
// are the value of. The chain leads to the setting or to its section.
func editFlow(doc *yaml.Node, lines []string, chain []*entry, key string, value *yaml.Node) (out []byte, ok bool) {
	at := 0
	for at < len(chain) && chain[at].value().Style&yaml.FlowStyle == 0 {
		at++
	}
	if at == len(chain) || chain[at].in.Style&yaml.FlowStyle != 0 {
		return nil, false // all of the file is within braces
	}
	e := chain[at]
	first, last := e.name().Line, lastLineOf(lines, e.value())
	comment := cmp.Or(e.value().LineComment, e.name().LineComment)
	setNode(doc, key, value)
	fresh := *e.value()
	fresh.LineComment, fresh.HeadComment, fresh.FootComment = "", "", ""
	return replaceLines(lines, first, last, rendered(e.name().Column-1, e.name().Value, &fresh, comment))
}

// replaceLines puts lines in the place of those from first to last.
func replaceLines(lines []string, first, last int, fresh []string) (out []byte, ok bool) {
	if last < 0 || last > len(lines) {
		return nil, false
	}
	return []byte(strings.Join(slices.Replace(lines, first-1, max(last, first), fresh...), "")), true
}

// removeLines takes away an entry and the names of the sections above it that
// hold nothing else; comments between them stay.
func removeLines(lines []string, gone []*entry) (out []byte, ok bool) {
	e := gone[len(gone)-1]
	last := lastLineOf(lines, e.value())
	if last < 0 || last > len(lines) {
		return nil, false
	}
	lines = slices.Delete(lines, e.name().Line-1, max(last, e.name().Line))
	for _, section := range slices.Backward(gone[:len(gone)-1]) {
		if at := section.name().Line - 1; at < e.name().Line-1 { // else it stood on the line of the entry
			lines = slices.Delete(lines, at, at+1)
		}
	}
	return []byte(strings.Join(lines, "")), true
}

// lastLineOf returns the last line of a value with the brackets that close it,
// -1 where that is not clear.
func lastLineOf(lines []string, n *yaml.Node) int {
	last := lastLine(n)
	for last >= 0 && last < len(lines) && isClosing(lines[last]) {
		last++
	}
	return last
}

// isClosing reports whether a line holds nothing but brackets that close.
func isClosing(line string) bool {
	text, _, _ := strings.Cut(strings.TrimSpace(line), "#")
	return text != "" && strings.Trim(text, "]}, \t") == ""
}

// endLine gives a text a line's end, unless it is empty or has one.
func endLine(text []byte) []byte {
	if len(text) == 0 || text[len(text)-1] == '\n' {
		return text
	}
	return append(slices.Clip(text), '\n')
}

// lastLine returns the last line of a value, -1 where that is not clear.
func lastLine(n *yaml.Node) int {
	last := n.Line
	if n.Kind == yaml.AliasNode || n.Anchor != "" {
		return -1
	}
	if n.Kind == yaml.ScalarNode && (n.Style&(yaml.LiteralStyle|yaml.FoldedStyle) != 0 || strings.Contains(n.Value, "\n")) {
		return -1
	}
	for _, c := range n.Content {
		l := lastLine(c)
		if l < 0 {
			return -1
		}
		last = max(last, l)
	}
	return last
}

// nested writes a setting section by section.
func nested(indent int, key string, value *yaml.Node) []string {
	section, rest, deeper := strings.Cut(key, ".")
	if !deeper {
		return rendered(indent, key, value, "")
	}
	return append([]string{strings.Repeat(" ", indent) + section + ":\n"}, nested(indent+2, rest, value)...)
}

// rendered writes one entry as lines.
func rendered(indent int, name string, value *yaml.Node, comment string) []string {
	var b bytes.Buffer
	out := yaml.NewEncoder(&b)
	out.SetIndent(2)
	m := &yaml.Node{Kind: yaml.MappingNode, Content: []*yaml.Node{{Kind: yaml.ScalarNode, Value: name}, value}}
	if out.Encode(m) != nil || out.Close() != nil {
		return nil // caught when it is read again
	}
	lines := strings.SplitAfter(strings.TrimSuffix(b.String(), "\n"), "\n")
	lines[len(lines)-1] += "\n"
	if comment != "" {
		lines[0] = strings.TrimSuffix(lines[0], "\n") + "  " + comment + "\n"
	}
	for i := range lines {
		lines[i] = strings.Repeat(" ", indent) + lines[i]
	}
	return lines
}

// editNodes changes the nodes of the file and writes all of it anew.
func editNodes(text []byte, values map[string]*yaml.Node) ([]byte, error) {
	var doc yaml.Node
	if err := yaml.Unmarshal(text, &doc); err != nil {
		return nil, err
	}
	if len(doc.Content) == 0 {
		doc = yaml.Node{Kind: yaml.DocumentNode, Content: []*yaml.Node{{Kind: yaml.MappingNode}}}
	}
	root := follow(doc.Content[0])
	if root.Kind != yaml.MappingNode {
		*root = yaml.Node{Kind: yaml.MappingNode}
	}
	for _, key := range slices.Sorted(maps.Keys(values)) {
		setNode(root, key, values[key])
	}
	var b bytes.Buffer
	out := yaml.NewEncoder(&b)
	out.SetIndent(2)
	if err := errors.Join(out.Encode(&doc), out.Close()); err != nil {
		return nil, fmt.Errorf("write the settings: %w", err)
	}
	return b.Bytes(), nil
}

func setNode(root *yaml.Node, key string, value *yaml.Node) {
	if chain := findChain(root, "", key); chain != nil {
		e := chain[len(chain)-1]
		if value == nil {
			e = emptied(chain)[0]
			e.in.Content = slices.Delete(e.in.Content, e.at, e.at+2)
			return
		}
		value.LineComment = e.in.Content[e.at+1].LineComment
		e.in.Content[e.at+1] = value
		return
	}
	if value == nil {
		return
	}
	section, rest := findSection(root, key)
	for {
		name, below, deeper := strings.Cut(rest, ".")
		if !deeper {
			section.Content = append(section.Content, &yaml.Node{Kind: yaml.ScalarNode, Value: rest}, value)
			return
		}
		next := fieldOf(section, name)
		if next == nil {
			next = &yaml.Node{Kind: yaml.MappingNode}
			section.Content = append(section.Content, &yaml.Node{Kind: yaml.ScalarNode, Value: name}, next)
		} else { // a section that is there and holds nothing
			next.Kind, next.Tag, next.Value = yaml.MappingNode, "", ""
		}
		section, rest = next, below
	}
}

// isNested reports whether a kind holds more than one word.
func isNested(k kind) bool {
	switch kindName(k) {
	case "list", "table":
		return true
	}
	return false
}

// kindName names a kind for the settings page.
func kindName(k kind) string {
	switch k := k.(type) {
	case choiceKind:
		return "choice"
	case flagKind:
		return "flag"
	case numberKind:
		return "number"
	case wholeKind:
		return "whole"
	case spanKind:
		return "span"
	case listOf:
		return "list"
	case unsetKind:
		return kindName(k.kind)
	case wordKind, hiddenKind:
		return "text"
	}
	return "table"
}

// hasHidden reports whether values of a kind hold secrets.
func hasHidden(k kind) bool {
	switch k := k.(type) {
	case hiddenKind:
		return true
	case listOf:
		return hasHidden(k.of)
	case tableOf:
		return hasHidden(k.of)
	case unsetKind:
		return hasHidden(k.kind)
	case entryKind:
		for _, f := range k.fields {
			if hasHidden(f) {
				return true
			}
		}
	}
	return false
}
