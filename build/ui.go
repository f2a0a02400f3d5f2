package main

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

// uiDir holds the admin UI's sources; what is built of them is in its dist,
// where a build of bellwether embeds it from.
const uiDir = "frontend"

// uiStamp is a file with the digest of the sources that dist was built of. It
// goes when the packages do, which are sources too.
var uiStamp = filepath.Join(uiDir, "node_modules", ".bellwether-ui")

// uiTask builds the admin UI where its sources or the lock file changed.
func uiTask(ctx context.Context, _ []string) error {
	digest, err := uiDigest(os.DirFS(uiDir))
	if err != nil {
		return fmt.Errorf("read the admin UI's sources: %w", err)
	}
	if uiBuilt(digest) {
		return nil
	}
	if err := prepareUI(ctx); err != nil {
		return err
	}
	if err := sh(ctx, nil, "npm", "run", "build", "--prefix", uiDir); err != nil {
		return err
	}
	return os.WriteFile(uiStamp, []byte(digest), 0o644)
}

// uiIfAtHand builds the admin UI for a task that does without where it has to.
func uiIfAtHand(ctx context.Context) {
	if err := uiTask(ctx, nil); err != nil && ctx.Err() == nil {
		fmt.Println("The admin UI is left out:", err)
	}
}

// prepareUI installs the packages of the lock file, unless they are there.
func prepareUI(ctx context.Context) error {
	if !has("npm") {
		return errors.New("npm is missing: install Node.js 20 or later")
	}
	if upToDate(uiDir) {
		return nil
	}
	return sh(ctx, nil, "npm", "ci", "--prefix", uiDir, "--no-audit", "--no-fund")
}

// uiBuilt reports whether dist is of these sources.
func uiBuilt(digest string) bool {
	stamp, err := os.ReadFile(uiStamp)
	return err == nil && string(stamp) == digest && exists(filepath.Join(uiDir, "dist", "index.html"))
}

// uiDigest is of all that a build of the UI reads: names and contents, tests
// left out, whatever the files' times.
func uiDigest(dir fs.FS) (string, error) {
	var files []string
	err := fs.WalkDir(dir, ".", func(path string, d fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case d.IsDir() && (path == "node_modules" || path == "dist" || path == "src/test"):
			return fs.SkipDir
		case !d.IsDir() && !strings.HasSuffix(path, ".test.ts") && !strings.HasSuffix(path, ".go"):
			files = append(files, path)
		}
		return nil
	})
	if err != nil {
		return "", err
	}
	slices.Sort(files)
	sum := sha256.New()
	for _, path := range files {
		text, err := fs.ReadFile(dir, path)
		if err != nil {
			return "", err
		}
		fmt.Fprintf(sum, "%s %d\n", path, len(text))
		_, _ = sum.Write(text)
	}
	return hex.EncodeToString(sum.Sum(nil)), nil
}

// uiTests checks the UI's types and runs its unit and component tests.
func (s *suite) uiTests(ctx context.Context) error {
	if err := prepareUI(ctx); err != nil {
		return err
	}
	if err := sh(ctx, nil, "npm", "run", "check", "--prefix", uiDir); err != nil {
		return err
	}
	cmd := command(ctx, "npx", "vitest", "run", "--reporter=default", "--reporter=json", "--outputFile.json=node_modules/.vitest.json")
	cmd.Dir, cmd.Stdout, cmd.Stderr = uiDir, os.Stdout, os.Stderr
	runErr := cmd.Run()
	report, err := os.ReadFile(filepath.Join(uiDir, "node_modules", ".vitest.json"))
	if err != nil {
		return errors.Join(runErr, err)
	}
	passed, failed, skipped, err := readVitest(report)
	if err != nil {
		return errors.Join(runErr, err)
	}
	s.passed, s.failed, s.skipped = s.passed+passed, s.failed+failed, s.skipped+skipped
	switch {
	case failed > 0:
		return fmt.Errorf("%w: %d", errTestsFailed, failed)
	case runErr != nil:
		return fmt.Errorf("vitest: %w", runErr)
	case passed == 0:
		return errors.New("vitest ran no test")
	}
	return nil
}

// readVitest reads the counts of vitest's JSON report.
func readVitest(report []byte) (passed, failed, skipped int, err error) {
	var r struct {
		Passed  int `json:"numPassedTests"`
		Failed  int `json:"numFailedTests"`
		Pending int `json:"numPendingTests"`
		Todo    int `json:"numTodoTests"`
	}
	if err := json.Unmarshal(report, &r); err != nil {
		return 0, 0, 0, fmt.Errorf("vitest's report: %w", err)
	}
	return r.Passed, r.Failed, r.Pending + r.Todo, nil
}
