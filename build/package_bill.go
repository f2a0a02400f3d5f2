package main

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"time"
)

// billTool writes what a Go program is made of, with the licences it finds.
const billTool = "github.com/CycloneDX/cyclonedx-gomod/cmd/cyclonedx-gomod@v1.9.0"

// bill publishes the bill of materials of each program, in CycloneDX. That of
// bellwether names the admin UI's packages as well.
func (r *release) bill(ctx context.Context, goos, arch string, programs []string) error {
	for _, program := range programs {
		product := strings.TrimSuffix(filepath.Base(program), ".exe")
		raw := filepath.Join(r.work, "bill.json")
		// It complains that it cannot download us; only an error is worth showing.
		if _, err := output(ctx, "go", "run", billTool, "bin", "-json", "-noserial", "-std", "-licenses", "-version", "v"+r.version, "-output", raw, program); err != nil {
			return err
		}
		text, err := os.ReadFile(raw)
		if err != nil {
			return err
		}
		var ui []uiPackage
		if product == "bellwether" {
			if ui, err = lockedPackages(uiPackages); err != nil {
				return err
			}
		}
		if text, err = steadyBill(text, r.at, ui); err != nil {
			return err
		}
		dir := r.out
		if goos == "macos" {
			dir = filepath.Join(r.out, unfinishedDir) // with what it is the bill of
		}
		if err := putFile(filepath.Join(dir, r.name(product, goos, arch, ".cdx.json")), text, 0o644); err != nil {
			return err
		}
	}
	return nil
}

// uiPackage is a package of npm as the lock file has it.
type uiPackage struct{ Name, Version, License string }

// lockedPackages looks packages up in the admin UI's lock file.
func lockedPackages(names []string) ([]uiPackage, error) {
	text, err := os.ReadFile(filepath.Join(uiDir, "package-lock.json"))
	if err != nil {
		return nil, err
	}
	var lock struct{ Packages map[string]uiPackage }
	if err := json.Unmarshal(text, &lock); err != nil {
		return nil, err
	}
	var found []uiPackage
	for _, name := range names {
		p, ok := lock.Packages["node_modules/"+name]
		if !ok {
			return nil, fmt.Errorf("%s is not in the admin UI's lock file", name)
		}
		p.Name = name
		found = append(found, p)
	}
	return found, nil
}

// steadyBill adds packages to a bill, and takes out of it what would be another
// in the next run at the same commit: the hour, and the sums of the tool.
func steadyBill(text []byte, at time.Time, ui []uiPackage) ([]byte, error) {
	var bill map[string]any
	if err := json.Unmarshal(text, &bill); err != nil {
		return nil, err
	}
	meta, ok := bill["metadata"].(map[string]any)
	if !ok {
		return nil, fmt.Errorf("it has no metadata")
	}
	meta["timestamp"] = at.Format(time.RFC3339)
	if tools, ok := meta["tools"].([]any); ok {
		for _, tool := range tools {
			if t, ok := tool.(map[string]any); ok {
				delete(t, "hashes")
			}
		}
	}
	parts, _ := bill["components"].([]any)
	for _, p := range ui {
		url := "pkg:npm/" + p.Name + "@" + p.Version
		parts = append(parts, map[string]any{"bom-ref": url, "type": "library", "name": p.Name, "version": p.Version, "purl": url,
			"licenses": []any{map[string]any{"license": map[string]any{"id": p.License}}}})
	}
	bill["components"] = parts
	return json.MarshalIndent(bill, "", "  ")
}
