package engine

import (
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"
)

// A setting that nothing reads is a promise nobody keeps. Those of features to
// come say so themselves (Later); when their feature reads them, they must
// stop saying so.
func TestEverySettingIsReadOrSaysWhyNot(t *testing.T) {
	read := selectorsRead(t)
	for _, s := range AllSettings() {
		path := goPath(t, s.Key)
		isRead := slices.ContainsFunc(path, func(p string) bool { return read[p] })
		switch {
		case !isRead && s.Later == "":
			t.Errorf("%s (Config.%s): nothing reads it", s.Key, path[0])
		case isRead && s.Later != "" && !sensedLater[s.Key]:
			t.Errorf("%s (Config.%s) is read now: it no longer %q", s.Key, path[0], s.Later)
		}
	}
}

// sensedLater are settings that are read and act on something which nothing
// senses yet.
var sensedLater = map[string]bool{"meetings.enabled": true} // platform/sense has no source of meetings

func TestTheTableAndTheConfigHaveTheSameKeys(t *testing.T) {
	var fields []string
	var walk func(prefix string, typ reflect.Type)
	walk = func(prefix string, typ reflect.Type) {
		for i := range typ.NumField() {
			tag := typ.Field(i).Tag.Get("koanf")
			if tag == "" || tag == "-" {
				continue
			}
			key := prefix + tag
			if _, ok := settingOf(key); !ok && typ.Field(i).Type.Kind() == reflect.Struct {
				walk(key+".", typ.Field(i).Type)
				continue
			}
			fields = append(fields, key)
		}
	}
	walk("", reflect.TypeFor[Config]())
	keys := settingKeys()
	slices.Sort(fields)
	slices.Sort(keys)
	if !slices.Equal(fields, keys) {
		t.Errorf("fields %v\nkeys %v", fields, keys)
	}
	seen := map[string]bool{}
	for _, s := range AllSettings() {
		if seen[s.Key] || !strings.HasSuffix(s.Doc, ".") || s.Scope != scopeNode && s.Scope != scopeFleet {
			t.Errorf("%s: twice, or without a proper doc or scope", s.Key)
		}
		seen[s.Key] = true
		for _, name := range s.Env {
			if seen[name] {
				t.Errorf("%s sets two settings", name)
			}
			seen[name] = true
		}
	}
}

// goPath returns the ends of the selector chains that read a key: the last two
// field names, or for a key without section the one.
func goPath(t *testing.T, key string) []string {
	t.Helper()
	typ := reflect.TypeFor[Config]()
	var names []string
	for part := range strings.SplitSeq(key, ".") {
		for i := range typ.NumField() {
			if f := typ.Field(i); f.Tag.Get("koanf") == part {
				names = append(names, f.Name)
				typ = f.Type
				break
			}
		}
	}
	if len(names) == 1 {
		return []string{"c." + names[0], "config." + names[0], "Config." + names[0], "cfg." + names[0]}
	}
	last := names[len(names)-2] + "." + names[len(names)-1]
	if names[0] == "Routing" && len(names) == 2 {
		return []string{last, "r." + names[1]}
	}
	return []string{last}
}

// selectorsRead collects the last two parts of every selector chain in the
// engine, the app and the commands, without the files that handle all settings
// alike.
func selectorsRead(t *testing.T) map[string]bool {
	t.Helper()
	skip := []string{"config.go", "config_settings.go", "config_check.go", "config_kind.go", "config_nested.go"}
	read := map[string]bool{}
	for _, root := range []string{".", "../app", "../cmd"} {
		err := filepath.WalkDir(root, func(path string, d fs.DirEntry, err error) error {
			if err != nil {
				return nil // app comes with its own change
			}
			if d.IsDir() && d.Name() == "testdata" {
				return filepath.SkipDir
			}
			if d.IsDir() || !strings.HasSuffix(path, ".go") || strings.HasSuffix(path, "_test.go") || slices.Contains(skip, path) {
				return nil
			}
			inRoot := filepath.Dir(path) == "." || strings.HasPrefix(path, "..")
			file, err := parser.ParseFile(token.NewFileSet(), path, nil, 0)
			if err != nil {
				return err
			}
			if !inRoot {
				return nil // packages below take their own types, filled here
			}
			ast.Inspect(file, func(n ast.Node) bool {
				if sel, ok := n.(*ast.SelectorExpr); ok {
					switch x := sel.X.(type) {
					case *ast.SelectorExpr:
						read[x.Sel.Name+"."+sel.Sel.Name] = true
					case *ast.Ident:
						read[x.Name+"."+sel.Sel.Name] = true
					}
				}
				return true
			})
			return nil
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	return read
}
