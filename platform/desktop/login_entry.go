package desktop

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

// autostart is an entry by the XDG autostart specification: a file in the
// user's folder, which hides one of the same name in the system's folders.
// It is plain files and works wherever it is compiled.
type autostart struct {
	user    string   // folder of the user's entries
	system  []string // folders of everybody's, the first counts most
	desktop string   // XDG_CURRENT_DESKTOP: names with colons between
}

// autostartName is the entry's file name.
const autostartName = "bellwether.desktop"

func (a autostart) path() string { return filepath.Join(a.user, autostartName) }

// find reads the entry that counts, and says where it stands; nil = there is none.
func (a autostart) find() (entry map[string]string, path string, err error) {
	for _, dir := range append([]string{a.user}, a.system...) {
		path = filepath.Join(dir, autostartName)
		text, err := os.ReadFile(path)
		switch {
		case err == nil:
			return parseEntry(string(text)), path, nil
		case !errors.Is(err, fs.ErrNotExist):
			return nil, path, err
		}
	}
	return nil, a.path(), nil
}

// put writes the user's entry.
func (a autostart) put(command []string) error {
	text, err := writeEntry(command[0], command[1:])
	if err != nil {
		return err
	}
	if err := os.MkdirAll(a.user, 0o700); err != nil { // what the XDG rules say of a missing one
		return err
	}
	return WritePrivate(a.path(), []byte(text))
}

// drop takes the user's entry away. Where the system has one for everybody, an
// entry that hides it takes its place.
func (a autostart) drop() error {
	if err := os.Remove(a.path()); err != nil && !errors.Is(err, fs.ErrNotExist) {
		if no := isFolder(a.path()); no != nil {
			return no
		}
		return err
	}
	entry, _, err := a.find()
	if err != nil || entry == nil {
		return err
	}
	if err := os.MkdirAll(a.user, 0o700); err != nil {
		return err
	}
	return WritePrivate(a.path(), []byte("[Desktop Entry]\nType=Application\nName=Bellwether\nHidden=true\n"))
}

// isFolder says why nothing can be read or written at the path of an entry
// where a folder stands; nil = none does.
func isFolder(path string) *LoginError {
	if info, err := os.Stat(path); err != nil || !info.IsDir() {
		return nil
	}
	return &LoginError{path + " is a folder, where the entry should be a file", "take that folder away"}
}

// judge says whether a desktop follows an entry, if not, why, and whether it
// was its user who wanted that.
func judge(entry map[string]string, current string) (on, vetoed bool, why, remedy string) {
	const inSettings = "switch it on here, or in the desktop's own settings"
	if entry["Hidden"] == "true" {
		return false, true, "it was switched off in the desktop's own settings", inSettings
	}
	for key, value := range entry { // each desktop has a key of its own; any of them says the same
		if strings.HasPrefix(key, "X-") && strings.HasSuffix(key, "-Autostart-enabled") && value == "false" {
			return false, true, "it was switched off in the desktop's own settings", inSettings
		}
	}
	names := strings.Split(current, ":")
	listed := func(key string) (in, there bool) {
		list, there := entry[key]
		return slices.ContainsFunc(strings.Split(list, ";"), func(n string) bool { return n != "" && slices.Contains(names, n) }), there
	}
	if in, there := listed("OnlyShowIn"); there && !in {
		return false, false, "its entry is for other desktops only", inSettings
	}
	if in, _ := listed("NotShowIn"); in {
		return false, false, "its entry is not for this desktop", inSettings
	}
	command := splitExec(entry["Exec"])
	if len(command) == 0 {
		return false, false, "its entry starts nothing", "switch it on here"
	}
	for _, program := range []string{entry["TryExec"], command[0]} {
		if filepath.IsAbs(program) && missing(program) {
			return false, false, isGone(program), "switch it on here"
		}
	}
	return true, false, "", ""
}

// writeEntry makes the text of an entry.
func writeEntry(program string, args []string) (string, error) {
	if strings.ContainsRune(program, '=') { // the rules leave no way to write it
		return "", &LoginError{"the path " + program + " holds an equals sign, which no autostart entry can", "install Bellwether elsewhere"}
	}
	var exec []string
	for _, arg := range append([]string{program}, args...) {
		if strings.ContainsFunc(arg, func(r rune) bool { return r < ' ' || r == 0x7f }) {
			return "", &LoginError{"its path or an option holds control characters, which no autostart entry can", "choose a path without"}
		}
		exec = append(exec, quoteExec(arg))
	}
	return "[Desktop Entry]\nType=Application\nVersion=1.0\nName=Bellwether\nComment=One private model server out of the machines you have\n" +
		"Exec=" + escapeValue(strings.Join(exec, " ")) + "\nTryExec=" + escapeValue(program) + "\nIcon=bellwether\nTerminal=false\n" +
		"X-GNOME-Autostart-enabled=true\n", nil
}

// quoteExec writes one argument of an Exec key by the Desktop Entry rules:
// quoted where it holds a reserved character, and field codes doubled.
func quoteExec(arg string) string {
	arg = strings.ReplaceAll(arg, "%", "%%")
	if arg != "" && !strings.ContainsAny(arg, " \t\n\"'\\><~|&;$*?#()`") {
		return arg
	}
	return `"` + strings.NewReplacer(`"`, `\"`, "`", "\\`", `$`, `\$`, `\`, `\\`).Replace(arg) + `"`
}

// splitExec reads an Exec key, its value's own escapes undone already.
func splitExec(s string) (args []string) {
	var arg strings.Builder
	quoted, any := false, false
	for i := 0; i < len(s); i++ {
		switch c := s[i]; {
		case c == '"':
			quoted, any = !quoted, true
		case quoted && c == '\\' && i+1 < len(s):
			i++
			arg.WriteByte(s[i])
		case c == '%' && i+1 < len(s):
			if i++; s[i] == '%' {
				arg.WriteByte('%')
				any = true
			} // a field code stands for a file, and there is none
		case !quoted && (c == ' ' || c == '\t'):
			if any {
				args = append(args, arg.String())
			}
			arg.Reset()
			any = false
		default:
			arg.WriteByte(c)
			any = true
		}
	}
	if any {
		args = append(args, arg.String())
	}
	return args
}

var valueEscapes = strings.NewReplacer(`\`, `\\`, "\n", `\n`, "\t", `\t`, "\r", `\r`)

// escapeValue writes a string value; the leading space would be dropped.
func escapeValue(s string) string {
	s = valueEscapes.Replace(s)
	if strings.HasPrefix(s, " ") {
		s = `\s` + s[1:]
	}
	return s
}

// unescapeValue reads a string value.
func unescapeValue(s string) string {
	var out strings.Builder
	for i := 0; i < len(s); i++ {
		if s[i] != '\\' || i+1 == len(s) {
			out.WriteByte(s[i])
			continue
		}
		i++
		switch s[i] {
		case 's':
			out.WriteByte(' ')
		case 'n':
			out.WriteByte('\n')
		case 't':
			out.WriteByte('\t')
		case 'r':
			out.WriteByte('\r')
		default:
			out.WriteByte(s[i])
		}
	}
	return out.String()
}

// parseEntry reads the keys of the group [Desktop Entry]; of a key that is
// there twice the first counts.
func parseEntry(text string) map[string]string {
	entry := map[string]string{}
	in := false
	for line := range strings.Lines(text) {
		line = strings.TrimSpace(line)
		if strings.HasPrefix(line, "[") {
			in = line == "[Desktop Entry]"
			continue
		}
		key, value, ok := strings.Cut(line, "=")
		if !in || !ok || strings.HasPrefix(line, "#") {
			continue
		}
		if key = strings.TrimSpace(key); key != "" {
			if _, twice := entry[key]; !twice {
				entry[key] = unescapeValue(strings.TrimSpace(value))
			}
		}
	}
	return entry
}
