package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"time"
)

// release is one run of package: what is made, of which version, and where it
// is put. Two runs at the same commit make the same bytes.
type release struct {
	version  string    // semver, without v
	at       time.Time // when the commit was made: the time of all that is packed
	archs    []string  // GOARCH
	out      string    // holds what is published
	work     string    // holds what that is made of; gone at the end
	binaries string    // macOS: folder of programs that a Mac built, "" = there are none

	maintainer string // who answers for packages, as NAME <ADDRESS>
	signer     *signer
}

// releasePart is what is made for one system.
type releasePart struct {
	name string
	make func(*release, context.Context) error
}

var releaseParts = []releasePart{
	{"linux", (*release).linux},
	{"windows", (*release).windows},
	{"macos", (*release).macos},
}

// packageTask makes the packages of a release. A part that cannot be made is
// an error, and then there is no SHA256SUMS: what lacks something is not taken
// for a whole release.
func packageTask(ctx context.Context, args []string) error {
	r := &release{}
	flags := flag.NewFlagSet("package", flag.ContinueOnError)
	only := flags.String("only", "linux,windows,macos", "systems to make packages for")
	archs := flags.String("arch", "amd64,arm64", "processors to make packages for")
	flags.StringVar(&r.version, "version", "", "version; by itself that of this commit's tag, or one that names the commit")
	flags.StringVar(&r.out, "out", "dist", "folder of the packages; what a former run left in it is removed")
	flags.StringVar(&r.binaries, "binaries", "", "macOS: folder with bellwether and bellwether-window as a Mac built them")
	if err := flags.Parse(args); err != nil {
		return err
	}
	r.archs = strings.Split(*archs, ",")
	var err1, err2 error
	r.maintainer, err1 = maintainerOf(os.Getenv(maintainerEnv))
	r.signer, err2 = newSigner(os.Getenv(signEnv))
	parts, err := partsOf(*only)
	if err := errors.Join(err, err1, err2); err != nil {
		return err
	}
	if err := r.begin(ctx); err != nil {
		return err
	}
	defer func() { _ = os.RemoveAll(r.work) }()
	var wrong []error
	for _, p := range parts {
		headline(os.Stdout, "%s", p.name)
		if err := p.make(r, ctx); err != nil {
			wrong = append(wrong, fmt.Errorf("%s: %w", p.name, err))
		}
	}
	if err := errors.Join(wrong...); err != nil {
		return fmt.Errorf("this is no whole release:\n%w", err)
	}
	if err := r.finish(ctx); err != nil {
		return err
	}
	if err := listFiles(r.out); err != nil {
		return err
	}
	fmt.Print(r.howToInstall(runtime.GOOS, runtime.GOARCH))
	fmt.Print(r.signer.report())
	if r.maintainer == nobody {
		fmt.Printf("Debs and rpms name nobody who answers for them: set %s=\"NAME <ADDRESS>\".\n", maintainerEnv)
	}
	return nil
}

// finish signs what was made, writes the checksums of that, and signs those.
func (r *release) finish(ctx context.Context) error {
	if err := r.signer.everything(ctx, r.out); err != nil {
		return err
	}
	if err := writeSums(r.out); err != nil {
		return err
	}
	return r.signer.published(ctx, filepath.Join(r.out, sumsName))
}

// partsOf reads the flag only.
func partsOf(only string) ([]releasePart, error) {
	var parts []releasePart
	for name := range strings.SplitSeq(only, ",") {
		i := slices.IndexFunc(releaseParts, func(p releasePart) bool { return p.name == name })
		if i < 0 {
			return nil, fmt.Errorf("there are no packages for %q: choose of linux, windows, macos", name)
		}
		parts = append(parts, releaseParts[i])
	}
	return parts, nil
}

// begin finds the version, makes the folders and sees to the admin UI, which
// the programs carry.
func (r *release) begin(ctx context.Context) error {
	commit, at := commitOf(ctx)
	r.at = at
	if r.version == "" {
		tag, _ := output(ctx, "git", "describe", "--exact-match", "--tags", "--match", "v[0-9]*")
		source, err := os.ReadFile(versionFile)
		if err != nil {
			return err
		}
		r.version = versionOf(tag, versionIn(string(source)), commit, modified(ctx), at)
	}
	if err := checkVersion(r.version); err != nil {
		return err
	}
	fmt.Println("Bellwether", r.version, "of", r.at.Format(time.DateTime))
	if err := uiTask(ctx, nil); err != nil {
		return fmt.Errorf("the admin UI is part of the programs: %w", err)
	}
	if err := emptyRelease(r.out); err != nil {
		return err
	}
	var err error
	r.work, err = os.MkdirTemp("", "bellwether-package")
	return err
}

// emptyRelease makes a folder ready. It removes what package makes, and nothing
// else: --out might name a folder that holds more.
func emptyRelease(dir string) error {
	old, err := filepath.Glob(filepath.Join(dir, "bellwether*_*"))
	if err != nil {
		return err
	}
	for _, path := range append(old, filepath.Join(dir, sumsName), filepath.Join(dir, unfinishedDir)) {
		if err := os.RemoveAll(path); err != nil {
			return err
		}
	}
	if err := removeSignatures(filepath.Join(dir, sumsName)); err != nil {
		return err
	}
	return os.MkdirAll(dir, 0o755)
}

// name is the file name of what is published.
func (r *release) name(product, system, arch, ending string) string {
	return fmt.Sprintf("%s_%s_%s_%s%s", product, r.version, system, arch, ending)
}

// listFiles prints what came of it.
func listFiles(dir string) error {
	headline(os.Stdout, "%s", dir)
	return filepath.WalkDir(dir, func(path string, d os.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		info, err := d.Info()
		if err == nil {
			fmt.Printf("%8.1f MB  %s\n", float64(info.Size())/1e6, path)
		}
		return err
	})
}
