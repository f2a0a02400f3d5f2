package main

import (
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/alecthomas/kong"
)

// Remedies, pages and documents tell people to run commands. Each of them, and
// each of their flags, is there.
func TestEveryCommandThatATextNamesIsThere(t *testing.T) {
	parser, err := kong.New(new(cli))
	if err != nil {
		t.Fatal(err)
	}
	named := 0
	for _, place := range []struct{ dir, ext string }{
		{"../../engine", ".go"}, {"../../app", ".go"}, {"../../cmd", ".go"}, {"../../build", ".go"}, {"../../platform", ".go"},
		{"../../frontend/src", ".svelte"}, {"../../frontend/src", ".ts"}, {"../../assets/docs", ".md"}, {"../..", "README.md"},
	} {
		err := filepath.WalkDir(place.dir, func(path string, e fs.DirEntry, err error) error {
			switch {
			case err != nil:
				return err
			case e.IsDir() && (e.Name() == "node_modules" || place.ext == "README.md" && path != place.dir):
				return fs.SkipDir
			case e.IsDir() || !strings.HasSuffix(path, place.ext) || strings.HasSuffix(path, "_test.go"):
				return nil
			}
			text, err := os.ReadFile(path)
			if err != nil {
				return err
			}
			for _, said := range commandsIn(string(text)) {
				named++
				if wrong := misnamed(parser.Model.Node, said); wrong != "" {
					t.Errorf("%s: %q: there is no %s", path, said, wrong)
				}
			}
			return nil
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	if named < 80 {
		t.Errorf("found %d commands only: the search is broken", named)
	}
}

// told is a command in a text: of a line of its own, or within a sentence, where
// its flags tell it from what only follows the program's name.
var (
	ownLine = regexp.MustCompile(`(?m)^ {4}(?:[^\n]*\| )?bellwether ([a-z][^\n#]*)`)
	inText  = regexp.MustCompile("[`\"'>. (]bellwether ([a-z][a-z-]*(?: [a-z]+)*(?: [A-Zm][A-Za-z0-9:.]*)*(?: --[a-z-]+(?:[ =][A-Za-z0-9,.:]+)?)*)")
)

func commandsIn(text string) (all []string) {
	for _, found := range ownLine.FindAllStringSubmatch(text, -1) {
		all = append(all, strings.TrimSpace(found[1]))
	}
	for _, found := range inText.FindAllStringSubmatch(text, -1) {
		all = append(all, found[1])
	}
	return all
}

// misnamed returns the command or flag that does not exist, "" when all do.
// Words behind a command are its arguments, or the rest of a sentence.
func misnamed(at *kong.Node, said string) string {
	words := strings.Fields(said)
	commands := 0
	for _, w := range words {
		if child := childNamed(at, w); child != nil {
			at = child
			commands++
			continue
		}
		if name, flag := strings.CutPrefix(w, "--"); flag {
			name, _, _ = strings.Cut(name, "=")
			if commands > 0 && !hasFlag(at, strings.TrimRight(name, ".,;:)`")) {
				return w
			}
		} else if commands == 0 && strings.Contains(said, " --") {
			return w
		}
	}
	return ""
}

func childNamed(n *kong.Node, name string) *kong.Node {
	name = strings.TrimRight(name, ".,;:")
	for _, c := range n.Children {
		if c.Name == name || slices.Contains(c.Aliases, name) {
			return c
		}
	}
	return nil
}

func hasFlag(n *kong.Node, name string) bool {
	for ; n != nil; n = n.Parent {
		for _, f := range n.Flags {
			if f.Name == name || name == "help" || f.Tag.Negatable != "" && "no-"+f.Name == name {
				return true
			}
		}
	}
	return false
}
