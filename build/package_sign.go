package main

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"net/mail"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
)

// signEnv names the program that signs what is released. It is called with one
// file, and either changes it or puts a signature beside it, as FILE.asc or
// FILE.sig; what it leaves as it was stays unsigned. Anything but 0 ends the
// release. It is called for each program for Windows before that is packed, for
// what uninstalls them, for each setup, deb and rpm, and last for the checksums.
const signEnv = "BELLWETHER_SIGN"

// signatures are the endings of one beside a file.
var signatures = []string{".asc", ".sig"}

// signer signs the files of one release. It keeps what it did not sign.
type signer struct {
	program  string // absolute; "" = nothing is signed
	unsigned []string
}

// newSigner finds the program before anything is built.
func newSigner(program string) (*signer, error) {
	if program == "" {
		return &signer{}, nil
	}
	path, err := exec.LookPath(program)
	if err == nil {
		path, err = filepath.Abs(path)
	}
	if err != nil {
		return nil, fmt.Errorf("%s names what signs the release: one program, without arguments: %w", signEnv, err)
	}
	return &signer{program: path}, nil
}

// within signs a file that is going to be packed, as name: only in itself, for
// what stands beside it would be packed as well.
func (s *signer) within(ctx context.Context, file, name string) error {
	beside, err := s.sign(ctx, file, name)
	if err == nil && len(beside) > 0 {
		err = fmt.Errorf("%s put %s beside a program, where nobody would look for it: sign the file itself, or leave it", s.program, filepath.Base(beside[0]))
	}
	return err
}

// published signs a file of the release.
func (s *signer) published(ctx context.Context, file string) error {
	_, err := s.sign(ctx, file, filepath.Base(file))
	return err
}

// sign has one file signed, and says what was put beside it.
func (s *signer) sign(ctx context.Context, file, name string) (beside []string, err error) {
	if s.program == "" {
		s.unsigned = append(s.unsigned, name)
		return nil, nil
	}
	before, err := fileSum(file)
	if err != nil {
		return nil, err
	}
	if err := sh(ctx, nil, s.program, file); err != nil {
		return nil, fmt.Errorf("sign %s: %w", name, err)
	}
	after, err := fileSum(file)
	if err != nil {
		return nil, fmt.Errorf("sign %s: %w", name, err)
	}
	for _, ending := range signatures {
		if info, err := os.Stat(file + ending); err == nil && info.Size() > 0 {
			beside = append(beside, file+ending)
		}
	}
	if after == before && len(beside) == 0 {
		s.unsigned = append(s.unsigned, name)
	}
	return beside, nil
}

// everything signs the packages in a folder. Archives are not: they are under
// the checksums, which are signed when they stand.
func (s *signer) everything(ctx context.Context, dir string) error {
	files, err := os.ReadDir(dir)
	if err != nil {
		return err
	}
	var wrong []error
	for _, f := range files {
		if name := f.Name(); !f.IsDir() && (strings.HasSuffix(name, ".deb") || strings.HasSuffix(name, ".rpm") || strings.HasSuffix(name, ".exe")) {
			wrong = append(wrong, s.published(ctx, filepath.Join(dir, name)))
		}
	}
	return errors.Join(wrong...)
}

// report says what nobody vouches for.
func (s *signer) report() string {
	if len(s.unsigned) == 0 {
		return "All of it is signed.\n"
	}
	slices.Sort(s.unsigned)
	return fmt.Sprintf("Not signed (%s, see assets/docs/release.md):\n  %s\n", signEnv, strings.Join(slices.Compact(s.unsigned), "\n  "))
}

// maintainerEnv says who answers for packages, as NAME <ADDRESS>.
const maintainerEnv = "BELLWETHER_MAINTAINER"

// nobody is who answers where that is not set: packages must name an address,
// and this one says that it is none (RFC 2606).
const nobody = "The Bellwether authors <nobody@bellwether.invalid>"

// maintainerOf reads the setting; "" is nobody.
func maintainerOf(set string) (string, error) {
	if set == "" {
		return nobody, nil
	}
	a, err := mail.ParseAddress(set)
	if err != nil || a.Name == "" || strings.ContainsAny(set, "\"\\\n") {
		return "", fmt.Errorf("%s is written as NAME <ADDRESS>, not %q", maintainerEnv, set)
	}
	return a.Name + " <" + a.Address + ">", nil
}

// removeSignatures removes those of a former run.
func removeSignatures(file string) error {
	for _, ending := range signatures {
		if err := os.Remove(file + ending); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return err
		}
	}
	return nil
}
