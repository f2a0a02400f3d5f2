package engine_test

import (
	"go/parser"
	"go/token"
	"io/fs"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
)

const module = "bellwether/"

// arrows says which of our own packages each package may import. A package
// not in this table, or an import not in its row, fails the test.
var arrows = map[string]string{
	"engine/document":            "", // settings, catalogues and suites are read alike: one document a text
	"engine/desk":                "", // queue and agent, the owners on the way of every request, stand on it
	"engine/event":               "",
	"engine/pulse":               "", // what hangs is noticed alike in agent, engine and app
	"engine/socket":              "",
	"engine/dialect":             "",
	"engine/picture":             "", // what may be dialled for a request is judged in one place
	"engine/fleet":               "",
	"engine/capacity":            "",
	"engine/budget":              "engine/fleet",
	"engine/evidence":            "engine/fleet engine/document",
	"engine/task":                "engine/dialect", // what a text asks for: weights and features, used by route and trained by build/taskmodel
	"engine/route":               "engine/dialect engine/fleet engine/budget engine/evidence engine/task",
	"engine/queue":               "engine/route engine/fleet engine/budget engine/evidence engine/event engine/desk",
	"engine/runtime":             "engine/dialect engine/fleet",
	"engine/runtime/runtimetest": "engine/runtime engine/dialect engine/fleet",
	// measure asks questions and grades answers: what it asks through, and where
	// its results go, others give it.
	"engine/measure":        "engine/dialect engine/fleet engine/evidence engine/document",
	"engine/agent":          "engine/capacity engine/runtime engine/budget engine/dialect engine/fleet engine/event engine/desk engine/pulse platform/hardware platform/sense platform/desktop",
	"engine/peer":           "engine/fleet engine/event engine/socket",
	"engine/store":          "engine/fleet engine/evidence engine/capacity engine/route engine/budget",
	"engine/gateway":        "engine/dialect engine/route engine/queue engine/fleet engine/event",
	"engine/admin":          "engine/socket engine/dialect engine/fleet engine/route engine/queue engine/budget engine/evidence engine/capacity engine/store engine/event engine/measure engine/pulse",
	"engine/simulate":       "engine/route engine/queue engine/fleet engine/budget engine/evidence engine/capacity",
	"engine":                "engine/* platform/*",
	"platform/hardware":     "",
	"platform/sense":        "",
	"platform/desktop":      "",
	"app":                   "engine engine/admin engine/fleet engine/pulse engine/socket app/* platform/* assets frontend", // the tray reads the feed as windows do
	"app/tray":              "engine/fleet",
	"app/window":            "app/window/child platform/desktop",
	"app/notice":            "", // pure: what is worth a notification
	"app/window/child":      "", // what the window and its parent agree on
	"app/window/inside":     "app/window/child",
	"app/window/place":      "", // where a window stands on its screen
	"assets":                "",
	"frontend":              "",
	"cmd/bellwether":        "engine engine/* app platform/* assets frontend",
	"cmd/bellwether-window": "app/window/child app/window/inside app/window/place",
	"cmd/fakeruntime":       "engine/runtime/runtimetest engine/fleet",
	// build reads the catalogue that it makes priors for, trains and measures what
	// tells tasks apart, and shows the window on a screen.
	"build":           "engine/evidence engine/fleet engine/dialect engine/route engine/task build/taskmodel app/window app/window/child",
	"build/taskmodel": "engine/dialect engine/task",

	"platform/desktop/desktoptest": "", // a desktop for tests, which those of four packages stand on
}

// testArrows are imports that only test files may add, beyond their package's row.
var testArrows = map[string]string{
	"engine/runtime":   "engine/runtime/runtimetest",
	"engine/agent":     "engine/runtime/runtimetest",
	"engine/gateway":   "engine/*",
	"engine":           "engine/* platform/desktop/desktoptest",
	"cmd/bellwether":   "engine/*",
	"platform/desktop": "platform/desktop/desktoptest",
}

// bans names imports allowed in one place only, or never in pure packages.
var bans = []struct {
	path   string // import path or prefix
	only   []string
	reason string
}{
	{"fyne.io/systray", []string{"app/tray"}, "the tray's library stays behind render.go"},
	{"github.com/wailsapp/", []string{"cmd/bellwether-window"}, "the window is a child process"},
	{"github.com/gorilla/websocket", []string{"engine/socket"}, "one importer of the websocket library"},
	{"github.com/dop251/goja", []string{"engine/measure"}, "code that models wrote runs in the sandbox only"},
	{"modernc.org/sqlite", []string{"engine/store"}, "one importer of the SQLite driver"},
	{"github.com/hashicorp/memberlist", []string{"engine/peer"}, "one importer of memberlist"},
	{"github.com/shirou/gopsutil", []string{"platform/hardware", "platform/sense", "platform/desktop"}, "facts and readings of the machine come from platform/"},
}

// pure packages decide; they may look at no clock, log, lock, file or network.
var pure = []string{"engine/route", "engine/budget", "engine/capacity"}

var impure = []string{"log", "log/slog", "sync", "sync/atomic", "net", "net/http", "os", "io/fs", "database/sql", "context"}

func TestImportsFollowTheArrows(t *testing.T) {
	seen := 0
	eachFile(t, func(pkg, file string, imports []string) {
		row, known := arrows[pkg]
		if !known {
			t.Errorf("%s: package %s is not in the table of arrows", file, pkg)
			return
		}
		if strings.HasSuffix(file, "_test.go") {
			row += " " + pkg + " " + testArrows[pkg]
		}
		for _, imp := range imports {
			seen++
			own, isOwn := strings.CutPrefix(imp, module)
			if isOwn && !allowed(row, own) {
				t.Errorf("%s: %s may not import %s (arrows: %q)", file, pkg, own, row)
			}
			for _, ban := range bans {
				if strings.HasPrefix(imp, ban.path) && !slices.Contains(ban.only, pkg) {
					t.Errorf("%s: only %v may import %s: %s", file, ban.only, imp, ban.reason)
				}
			}
			if slices.Contains(pure, pkg) && !strings.HasSuffix(file, "_test.go") && slices.Contains(impure, imp) {
				t.Errorf("%s: %s decides purely and may not import %s", file, pkg, imp)
			}
		}
	})
	if seen < 50 {
		t.Fatalf("looked at %d imports only: the walk is broken", seen)
	}
}

func TestPurePackagesReadNoClock(t *testing.T) {
	root, err := filepath.Abs("..")
	if err != nil {
		t.Fatal(err)
	}
	for _, pkg := range pure {
		files, _ := filepath.Glob(filepath.Join(root, pkg, "*.go"))
		for _, f := range files {
			if strings.HasSuffix(f, "_test.go") {
				continue
			}
			for _, call := range clockCalls(t, f) {
				t.Errorf("%s: %s decides purely; now is an input", call, pkg)
			}
		}
	}
}

func TestSystemSpecificFilesStayInPlatformAndApp(t *testing.T) {
	suffixes := []string{"_darwin.go", "_linux.go", "_windows.go", "_unix.go"}
	eachFile(t, func(pkg, file string, _ []string) {
		if strings.HasPrefix(pkg, "platform") || strings.HasPrefix(pkg, "app") || pkg == "build" {
			return
		}
		for _, s := range suffixes {
			if strings.HasSuffix(strings.TrimSuffix(file, "_test.go")+".go", s) || strings.HasSuffix(file, s) {
				t.Errorf("%s: files for one system belong in platform/ or app/", file)
			}
		}
	})
}

func allowed(row, imp string) bool {
	for pat := range strings.FieldsSeq(row) {
		if prefix, ok := strings.CutSuffix(pat, "/*"); ok && strings.HasPrefix(imp, prefix+"/") || pat == imp {
			return true
		}
	}
	return false
}

func eachFile(t *testing.T, do func(pkg, file string, imports []string)) {
	t.Helper()
	root, err := filepath.Abs("..")
	if err != nil {
		t.Fatal(err)
	}
	err = filepath.WalkDir(root, func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		name := d.Name()
		if d.IsDir() && (strings.HasPrefix(name, ".") || name == "node_modules" || name == "testdata" || name == "dist") {
			return filepath.SkipDir
		}
		if !strings.HasSuffix(name, ".go") {
			return nil
		}
		f, err := parser.ParseFile(token.NewFileSet(), path, nil, parser.ImportsOnly)
		if err != nil {
			return err
		}
		var imports []string
		for _, s := range f.Imports {
			p, err := strconv.Unquote(s.Path.Value)
			if err != nil {
				return err
			}
			imports = append(imports, p)
		}
		rel, _ := filepath.Rel(root, path)
		rel = filepath.ToSlash(rel)
		do(filepath.ToSlash(filepath.Dir(rel)), rel, imports)
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
}
