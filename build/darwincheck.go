package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"go/types"
	"io"
	"os"
	"path/filepath"
	"strings"
)

// Go code that is tied to C is not compiled without its system's C compiler,
// and nobody has Apple's on Linux. Its Go part can be type-checked all the
// same: every package that a program for macOS is made of, in the order of
// their imports, with what is C's taken on trust.

// darwinPrograms are what is released for macOS, by their tags.
var darwinPrograms = []struct{ pkg, tags string }{
	{"./cmd/bellwether", ""},
	{windowPackage, "desktop,production"},
}

// darwinArchs are the processors of Macs.
var darwinArchs = []string{"arm64", "amd64"}

// checkDarwin type-checks the programs as a Mac would compile them.
func checkDarwin(ctx context.Context) error {
	var wrong []error
	for _, p := range darwinPrograms {
		for _, arch := range darwinArchs {
			n, err := typeCheck(ctx, "darwin", arch, p.tags, p.pkg)
			if err != nil {
				wrong = append(wrong, fmt.Errorf("%s for darwin/%s with cgo: %w", p.pkg, arch, err))
				continue
			}
			fmt.Printf("%s for darwin/%s with cgo: %d packages\n", p.pkg, arch, n)
		}
	}
	return errors.Join(wrong...)
}

// listed is a package as go list tells it.
type listed struct {
	ImportPath string
	Dir        string
	GoFiles    []string
	CgoFiles   []string
	ImportMap  map[string]string
	Error      *struct{ Err string }
}

// typeCheck checks the packages that pkgs are made of, and says how many.
func typeCheck(ctx context.Context, goos, goarch, tags string, pkgs ...string) (int, error) {
	cmd := command(ctx, "go", append([]string{"list", "-deps", "-e", "-json=ImportPath,Dir,GoFiles,CgoFiles,ImportMap,Error", "-tags", tags}, pkgs...)...)
	cmd.Env = append(os.Environ(), "GOOS="+goos, "GOARCH="+goarch, "CGO_ENABLED=1")
	cmd.Stderr = os.Stderr
	out, err := cmd.StdoutPipe()
	if err != nil {
		return 0, err
	}
	if err := cmd.Start(); err != nil {
		return 0, err
	}
	c := checker{files: token.NewFileSet(), done: map[string]*types.Package{"unsafe": types.Unsafe}, sizes: types.SizesFor("gc", goarch)}
	wrong := c.all(json.NewDecoder(out))
	_, _ = io.Copy(io.Discard, out) // what is left when it gave up
	return len(c.done), errors.Join(wrong, cmd.Wait())
}

// checker holds what was checked so far, by full import path.
type checker struct {
	files *token.FileSet
	done  map[string]*types.Package
	sizes types.Sizes
}

// all checks packages as they come: what one imports stands before it.
func (c *checker) all(list *json.Decoder) error {
	for {
		var p listed
		err := list.Decode(&p)
		switch {
		case errors.Is(err, io.EOF):
			return nil
		case err != nil:
			return fmt.Errorf("read go list: %w", err)
		case p.Error != nil:
			return errors.New(p.Error.Err)
		case p.ImportPath == "unsafe" || p.ImportPath == "C":
			continue
		}
		if err := c.one(&p); err != nil {
			return err
		}
	}
}

// one checks a package. Bodies count for packages that are tied to C and for
// ours; the rest, compiled on every system, needs only what it declares.
func (c *checker) one(p *listed) error {
	var files []*ast.File
	for _, name := range append(p.GoFiles, p.CgoFiles...) {
		f, err := parser.ParseFile(c.files, filepath.Join(p.Dir, name), nil, parser.SkipObjectResolution)
		if err != nil {
			return err
		}
		files = append(files, f)
	}
	var wrong []error
	conf := types.Config{
		FakeImportC: true, Sizes: c.sizes, Importer: imports{c, p.ImportMap},
		IgnoreFuncBodies: len(p.CgoFiles) == 0 && !strings.HasPrefix(p.ImportPath, "bellwether/"),
		Error: func(err error) {
			if len(wrong) < 10 {
				wrong = append(wrong, err)
			}
		},
	}
	c.done[p.ImportPath], _ = conf.Check(p.ImportPath, c.files, files, nil)
	return errors.Join(wrong...)
}

// imports finds what a package imports among what was checked before it.
type imports struct {
	c   *checker
	own map[string]string // import path as written -> as it stands, for vendored ones
}

func (i imports) Import(path string) (*types.Package, error) {
	if real, there := i.own[path]; there {
		path = real
	}
	if p := i.c.done[path]; p != nil {
		return p, nil
	}
	return nil, fmt.Errorf("%s was not listed before its importer", path)
}
