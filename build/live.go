package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"
)

// liveClients runs the client libraries against bellwether in front of the
// Ollama of this machine, with its smallest models.
func (s *suite) liveClients(ctx context.Context) error {
	base := os.Getenv("OLLAMA_HOST")
	if base == "" {
		base = "127.0.0.1:11434"
	}
	if !strings.Contains(base, "://") {
		base = "http://" + base
	}
	models, err := ollamaModels(ctx, base)
	if err != nil {
		fmt.Println("no Ollama here, so nothing to test against:", err)
		s.skipped++
		return nil
	}
	env := []string{
		"CLIENTS_CHAT=" + smallest(models, "completion"), "CLIENTS_TOOLS=" + smallest(models, "tools"), "CLIENTS_EMBED=" + smallest(models, "embedding"),
	}
	if env[0] == "CLIENTS_CHAT=" {
		fmt.Println("that Ollama has no chat model: ollama pull qwen3:0.6b, then again")
		s.skipped++
		return nil
	}
	fmt.Println(base, env)
	dir, err := os.MkdirTemp("", "bellwether-soak")
	if err != nil {
		return err
	}
	defer func() { _ = os.RemoveAll(dir) }()
	if err := goBuild(ctx, dir, "./cmd/bellwether"); err != nil {
		return err
	}
	config := filepath.Join(dir, "config.yaml")
	if err := os.WriteFile(config, fmt.Appendf(nil, "runtimes:\n  - {name: ollama, kind: ollama, url: %q}\nrouting: {auto_pull: \"off\"}\n", base), 0o600); err != nil {
		return err
	}
	ports, err := freePorts(1)
	if err != nil {
		return err
	}
	ctx, stop := context.WithCancel(ctx)
	bell := command(ctx, filepath.Join(dir, exe("bellwether")), "serve", "--config", config, "--data-dir", filepath.Join(dir, "data"), "--listen", addr(ports[0]))
	bell.Stderr = os.Stderr
	if err := bell.Start(); err != nil {
		stop()
		return err
	}
	defer func() {
		stop()
		_ = bell.Wait()
	}()
	address := "http://" + addr(ports[0])
	if err := untilServed(ctx, address, strings.TrimPrefix(env[0], "CLIENTS_CHAT=")); err != nil {
		return err
	}
	return s.nodeTests(ctx, append(env, "CLIENTS_BASE="+address)...)
}

type ollamaModel struct {
	Name         string
	Size         int64
	Capabilities []string
}

func ollamaModels(ctx context.Context, base string) ([]ollamaModel, error) {
	ctx, cancel := context.WithTimeout(ctx, 3*time.Second)
	defer cancel()
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, base+"/api/tags", nil)
	if err != nil {
		return nil, err
	}
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		return nil, err
	}
	defer func() { _ = resp.Body.Close() }()
	var tags struct{ Models []ollamaModel }
	if err := json.NewDecoder(resp.Body).Decode(&tags); err != nil {
		return nil, err
	}
	slices.SortFunc(tags.Models, func(a, b ollamaModel) int { return int(a.Size - b.Size) })
	return tags.Models, nil
}

// smallest returns the smallest model that can do it, "" if none can.
func smallest(models []ollamaModel, capability string) string {
	for _, m := range models {
		if slices.Contains(m.Capabilities, capability) {
			return m.Name
		}
	}
	return ""
}

// untilServed waits until bellwether offers the model.
func untilServed(ctx context.Context, base, model string) error {
	deadline := time.Now().Add(30 * time.Second)
	for time.Now().Before(deadline) {
		models, err := ollamaModels(ctx, base)
		if err == nil && slices.ContainsFunc(models, func(m ollamaModel) bool { return m.Name == model }) {
			return nil
		}
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-time.After(100 * time.Millisecond):
		}
	}
	return errors.New("bellwether does not offer " + model)
}
