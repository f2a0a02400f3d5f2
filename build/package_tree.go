package main

import (
	"bytes"
	"compress/gzip"
	"context"
	"debug/elf"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"time"
)

// linuxDir holds what Linux packages are made of besides programs.
const linuxDir = "build/linux"

// nfpmTool makes deb and rpm. It is run in a version of its own, for its
// modules are many and none is the product's.
const nfpmTool = "github.com/goreleaser/nfpm/v2/cmd/nfpm@v2.43.4"

// iconSizes are those of the hicolor theme.
var iconSizes = []int{16, 24, 32, 48, 64, 128, 256, 512}

// linux makes deb, rpm and tar.gz for every processor. The window is made for
// that of this machine: others need the toolkit of theirs.
func (r *release) linux(ctx context.Context) error {
	for _, arch := range r.archs {
		dir := filepath.Join(r.work, "linux", arch)
		program, err := r.program(ctx, "linux", arch, dir)
		if err != nil {
			return err
		}
		window := ""
		if runtime.GOOS == "linux" && runtime.GOARCH == arch {
			if err := prepareWindow(ctx); err != nil {
				return err
			}
			if window, err = r.windowProgram(ctx, "linux", arch, dir); err != nil {
				return err
			}
			if err := showsWindows(ctx, window); err != nil {
				return err
			}
		}
		if err := r.linuxOf(ctx, arch, dir, program, window); err != nil {
			return err
		}
	}
	return nil
}

// linuxOf packs the programs of one processor; window is "" where there is none.
func (r *release) linuxOf(ctx context.Context, arch, dir, program, window string) error {
	papers, err := r.papers(ctx, "linux", arch, program, window)
	if err != nil {
		return err
	}
	system := filepath.Join(dir, "system")
	if err := r.linuxTree(filepath.Join(system, "usr"), "/usr/bin/bellwether", program, papers); err != nil {
		return err
	}
	// The unit of the machine is not for a folder of one user.
	if err := r.filled("system.service", filepath.Join(system, "usr/lib/systemd/system/bellwether.service"), "/usr/bin/bellwether"); err != nil {
		return err
	}
	if err := r.nfpm(ctx, "bellwether", arch, "nfpm.yaml", system, map[string]string{}); err != nil {
		return err
	}
	alone := filepath.Join(dir, strings.TrimSuffix(r.name("bellwether", "linux", arch, ""), "_"))
	if err := r.linuxTree(alone, "%h/.local/bin/bellwether", program, papers); err != nil {
		return err
	}
	if err := copyFile(filepath.Join(linuxDir, installScript), filepath.Join(alone, installScript)); err != nil {
		return err
	}
	if window != "" {
		if err := copyFile(window, filepath.Join(alone, windowPlace)); err != nil {
			return err
		}
		if err := r.windowPackage(ctx, arch, dir, window, papers); err != nil {
			return err
		}
	}
	return writeTarGz(filepath.Join(r.out, r.name("bellwether", "linux", arch, ".tar.gz")), alone, r.at)
}

// installScript puts the archive's files where its caller wants them, and
// writes that place into the menu entry and the unit.
const installScript = "install.sh"

// windowPlace is where a bellwether in bin looks for its window.
const windowPlace = "lib/bellwether/bellwether-window"

// windowPackage packs the window by itself: it alone needs a toolkit.
func (r *release) windowPackage(ctx context.Context, arch, dir, window string, p papers) error {
	tree := filepath.Join(dir, "window")
	if err := copyFile(window, filepath.Join(tree, "usr", windowPlace)); err != nil {
		return err
	}
	if err := p.put(filepath.Join(tree, "usr/share/doc/bellwether-window")); err != nil {
		return err
	}
	libraries, glibc, err := linkedWith(window)
	if err != nil {
		return err
	}
	return r.nfpm(ctx, "bellwether-window", arch, "nfpm-window.yaml", tree, map[string]string{"LIBRARIES": strings.Join(libraries, ", "), "GLIBC": glibc})
}

// linuxTree lays out a program as it stands below /usr, /usr/local or
// ~/.local. command is the program's path as units and menus call it.
func (r *release) linuxTree(root, command, program string, p papers) error {
	unit, menu := "lib/systemd/user", command
	if strings.HasPrefix(command, "%h") { // below a home units are looked for elsewhere, and menus find programs by PATH
		unit, menu = "share/systemd/user", "bellwether"
	}
	if err := copyFile(program, filepath.Join(root, "bin/bellwether")); err != nil {
		return err
	}
	for _, f := range []struct{ from, to, command string }{
		{"bellwether.desktop", "share/applications/bellwether.desktop", menu},
		{"user.service", unit + "/bellwether.service", command},
		{"completion.bash", "share/bash-completion/completions/bellwether", menu},
	} {
		if err := r.filled(f.from, filepath.Join(root, f.to), f.command); err != nil {
			return err
		}
	}
	if err := r.manual(filepath.Join(root, "share/man/man1/bellwether.1.gz")); err != nil {
		return err
	}
	for _, size := range iconSizes {
		text, err := iconPNG(size)
		if err != nil {
			return err
		}
		if err := putFile(filepath.Join(root, fmt.Sprintf("share/icons/hicolor/%dx%d/apps/bellwether.png", size, size)), text, 0o644); err != nil {
			return err
		}
	}
	if err := copyFile(iconDrawing, filepath.Join(root, "share/icons/hicolor/scalable/apps/bellwether.svg")); err != nil {
		return err
	}
	doc := filepath.Join(root, "share/doc/bellwether")
	changes, err := os.ReadFile("CHANGELOG.md")
	if err != nil {
		return err
	}
	if err := putPacked(filepath.Join(doc, "changelog.gz"), changes); err != nil {
		return err
	}
	return p.put(doc)
}

// filled writes one of linuxDir's files with the path of the program in it.
func (r *release) filled(from, to, program string) error {
	text, err := os.ReadFile(filepath.Join(linuxDir, from))
	if err != nil {
		return err
	}
	return putFile(to, []byte(fill(string(text), map[string]string{"PROGRAM": program})), 0o644)
}

// manual writes the manual page.
func (r *release) manual(to string) error {
	text, err := os.ReadFile(filepath.Join(linuxDir, "bellwether.1"))
	if err != nil {
		return err
	}
	values := map[string]string{"VERSION": r.version, "DATE": r.at.Format(time.DateOnly)}
	return putPacked(to, []byte(fill(string(text), values)))
}

// putPacked writes a text as Debian wants documents packed: in the same bytes
// at any time.
func putPacked(to string, text []byte) error {
	var b bytes.Buffer
	z, err := gzip.NewWriterLevel(&b, gzip.BestCompression)
	if err != nil {
		return err
	}
	if _, err := z.Write(text); err != nil {
		return err
	}
	if err := z.Close(); err != nil {
		return err
	}
	return putFile(to, b.Bytes(), 0o644)
}

// nfpm makes the packages that a file of linuxDir describes, of all files of a
// tree.
func (r *release) nfpm(ctx context.Context, product, arch, from, tree string, values map[string]string) error {
	text, err := os.ReadFile(filepath.Join(linuxDir, from))
	if err != nil {
		return err
	}
	if values["CONTENTS"], err = contentsOf(tree); err != nil {
		return err
	}
	values["ARCH"], values["VERSION"], values["TIME"], values["MAINTAINER"] = arch, r.version, r.at.Format(time.RFC3339), strconv.Quote(r.maintainer)
	values["CHANGELOG"] = filepath.Join(r.work, "changelog.yaml")
	entry := fmt.Sprintf("- {semver: %q, date: %s, packager: %q, deb: {urgency: medium, distributions: [stable]}, changes: [{note: %q}]}\n",
		r.version, values["TIME"], r.maintainer, "What is new is told in /usr/share/doc/bellwether/changelog.gz")
	if err := putFile(values["CHANGELOG"], []byte(entry), 0o644); err != nil {
		return err
	}
	config := filepath.Join(r.work, product+"-"+arch+".yaml")
	if err := putFile(config, []byte(fill(string(text), values)), 0o644); err != nil {
		return err
	}
	env := []string{"SOURCE_DATE_EPOCH=" + strconv.FormatInt(r.at.Unix(), 10)}
	for _, kind := range []string{"deb", "rpm"} {
		to := filepath.Join(r.out, r.name(product, "linux", arch, "."+kind))
		if err := sh(ctx, env, "go", "run", nfpmTool, "package", "--config", config, "--packager", kind, "--target", to); err != nil {
			return err
		}
	}
	return nil
}

// contentsOf lists the files of a tree as nfpm reads them.
func contentsOf(tree string) (string, error) {
	var list strings.Builder
	err := eachFile(tree, func(name, file string, info fs.FileInfo) error {
		if info.IsDir() {
			return nil
		}
		_, name, _ = strings.Cut(name, "/")
		_, err := fmt.Fprintf(&list, "  - {src: %q, dst: %q, file_info: {mode: 0%o}}\n", file, "/"+name, packedMode(info))
		return err
	})
	return list.String(), err
}

// linkedWith lists what a program is linked with as RPM writes it, and the
// oldest C library that it runs with.
func linkedWith(program string) (libraries []string, glibc string, err error) {
	f, err := elf.Open(program)
	if err != nil {
		return nil, "", err
	}
	defer func() { _ = f.Close() }()
	names, err := f.ImportedLibraries()
	if err != nil {
		return nil, "", err
	}
	for _, name := range names {
		libraries = append(libraries, strconv.Quote(name+"()(64bit)"))
	}
	symbols, err := f.ImportedSymbols()
	if err != nil {
		return nil, "", err
	}
	newest := []int{2, 17} // older is nowhere
	for _, s := range symbols {
		if v, ok := strings.CutPrefix(s.Version, "GLIBC_"); ok && s.Library == "libc.so.6" {
			if n := numbers(v); slices.Compare(n, newest) > 0 {
				newest = n
			}
		}
	}
	glibc = fmt.Sprintf("%d.%d", newest[0], newest[1])
	return append(libraries, strconv.Quote("libc.so.6(GLIBC_"+glibc+")(64bit)")), glibc, nil
}

// numbers reads 2.34 as 2 and 34; what is no number ends it.
func numbers(version string) []int {
	var n []int
	for part := range strings.SplitSeq(version, ".") {
		v, err := strconv.Atoi(part)
		if err != nil {
			break
		}
		n = append(n, v)
	}
	return n
}
