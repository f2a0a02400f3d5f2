package main

import (
	"bytes"
	"context"
	"debug/buildinfo"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"runtime/debug"
	"slices"
	"strings"
)

// papers are the licences that go with programs: ours, and those of what is
// compiled into them, which most ask for.
type papers struct{ licence, notices []byte }

// put writes them into a folder of documentation, ours under the name that
// Debian gives it.
func (p papers) put(dir string) error {
	if err := putFile(filepath.Join(dir, "copyright"), p.licence, 0o644); err != nil {
		return err
	}
	return putFile(filepath.Join(dir, "THIRD-PARTY-NOTICES.txt"), p.notices, 0o644)
}

// putPlain writes them under the names that people look for elsewhere.
func (p papers) putPlain(dir string) error {
	if err := putFile(filepath.Join(dir, "LICENSE.txt"), p.licence, 0o644); err != nil {
		return err
	}
	return putFile(filepath.Join(dir, "THIRD-PARTY-NOTICES.txt"), p.notices, 0o644)
}

// uiPackages are the packages of npm of which code is in the built admin UI;
// a test holds them against what its sources import.
var uiPackages = []string{"svelte", "uplot"}

// papers gathers the licences of programs, of which empty names are left out,
// and publishes their bill of materials.
func (r *release) papers(ctx context.Context, goos, arch string, programs ...string) (papers, error) {
	programs = slices.DeleteFunc(programs, func(p string) bool { return p == "" })
	if err := r.bill(ctx, goos, arch, programs); err != nil {
		return papers{}, fmt.Errorf("the bill of materials: %w", err)
	}
	var p papers
	var err error
	if p.licence, err = os.ReadFile("LICENSE"); err != nil {
		return papers{}, err
	}
	p.notices, err = notices(ctx, programs)
	return p, err
}

// notices is one text with the licences of all that programs hold.
func notices(ctx context.Context, programs []string) ([]byte, error) {
	dirs, err := moduleDirs(ctx)
	if err != nil {
		return nil, err
	}
	modules, err := modulesOf(programs)
	if err != nil {
		return nil, err
	}
	var all bytes.Buffer
	all.WriteString("Bellwether contains the following works. Each is under the licence printed below its name.\n")
	add := func(name, dir string) error {
		texts, err := licences(dir)
		if err != nil {
			return fmt.Errorf("the licence of %s: %w", name, err)
		}
		fmt.Fprintf(&all, "\n%s\n%s\n", strings.Repeat("=", 78), name)
		for _, text := range texts {
			fmt.Fprintf(&all, "\n%s\n", strings.TrimSpace(strings.ReplaceAll(text, "\r\n", "\n")))
		}
		return nil
	}
	root, err := output(ctx, "go", "env", "GOROOT")
	if err != nil {
		return nil, err
	}
	if err := add("The Go standard library and runtime", root); err != nil {
		return nil, err
	}
	for _, m := range modules {
		if err := add(m.Path+" "+m.Version, dirs[m.Path+" "+m.Version]); err != nil {
			return nil, err
		}
	}
	for _, name := range uiPackages {
		if err := add("npm: "+name, filepath.Join(uiDir, "node_modules", name)); err != nil {
			return nil, err
		}
	}
	return all.Bytes(), nil
}

// modulesOf lists the modules that are compiled into programs, each once, in
// order.
func modulesOf(programs []string) ([]*debug.Module, error) {
	var modules []*debug.Module
	for _, p := range programs {
		info, err := buildinfo.ReadFile(p)
		if err != nil {
			return nil, err
		}
		for _, m := range info.Deps {
			if m.Replace != nil {
				m = m.Replace
			}
			modules = append(modules, m)
		}
	}
	slices.SortFunc(modules, func(a, b *debug.Module) int { return strings.Compare(a.Path+" "+a.Version, b.Path+" "+b.Version) })
	return slices.CompactFunc(modules, func(a, b *debug.Module) bool { return a.Path == b.Path && a.Version == b.Version }), nil
}

// moduleDirs says where the sources of each module stand, by "path version".
func moduleDirs(ctx context.Context) (map[string]string, error) {
	list, err := output(ctx, "go", "list", "-m", "-f", "{{.Path}} {{.Version}}\t{{.Dir}}", "all")
	if err != nil {
		return nil, err
	}
	dirs := map[string]string{}
	for line := range strings.Lines(list) {
		if name, dir, ok := strings.Cut(strings.TrimSpace(line), "\t"); ok {
			dirs[name] = dir
		}
	}
	return dirs, nil
}

var licenceFile = regexp.MustCompile(`(?i)^(licen[cs]es?|copying|notice|unlicense|patents)([._-].*)?$`)

// licences reads the licence files of a folder; none is an error.
func licences(dir string) ([]string, error) {
	entries, err := os.ReadDir(dir)
	if err != nil {
		return nil, err
	}
	var texts []string
	for _, e := range entries {
		if e.Type().IsRegular() && licenceFile.MatchString(e.Name()) && !strings.HasSuffix(e.Name(), ".go") {
			text, err := os.ReadFile(filepath.Join(dir, e.Name()))
			if err != nil {
				return nil, err
			}
			texts = append(texts, string(text))
		}
	}
	if len(texts) == 0 {
		return nil, fmt.Errorf("there is none in %s", dir)
	}
	return texts, nil
}
