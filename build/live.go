package main

import (
	"cmp"
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

// liveClients runs the client libraries against bellwether in front of a real
// runtime: that of FLEET_SOAK_URL (an Ollama or a llama-server), else the
// Ollama of this machine. CLIENTS_CHAT, CLIENTS_TOOLS and CLIENTS_EMBED name
// the models; else its smallest are used.
func (s *suite) liveClients(ctx context.Context) error {
	base := cmp.Or(os.Getenv("FLEET_SOAK_URL"), os.Getenv("OLLAMA_HOST"), "127.0.0.1:11434")
	if !strings.Contains(base, "://") {
		base = "http://" + base
	}
	if err := answers(ctx, base); err != nil {
		fmt.Println("no runtime here, so nothing to test against:", err)
		s.skipped++
		return nil
	}
	dir, err := os.MkdirTemp("", "bellwether-soak")
	if err != nil {
		return err
	}
	defer func() { _ = os.RemoveAll(dir) }()
	if err := goBuild(ctx, dir, "./cmd/bellwether"); err != nil {
		return err
	}
	config := filepath.Join(dir, "config.yaml")
	if err := os.WriteFile(config, fmt.Appendf(nil, "runtimes:\n  - {name: real, url: %q}\nrouting: {auto_pull: \"off\"}\n", base), 0o600); err != nil {
		return err
	}
	ports, err := freePorts(1)
	if err != nil {
		return err
	}
	ctx, stop := context.WithCancel(ctx)
	bell := command(ctx, filepath.Join(dir, exe("bellwether")), "serve", "--config", config, "--data-dir", filepath.Join(dir, "data"), "--listen", addr(ports[0]))
	bell.Env = slices.DeleteFunc(os.Environ(), func(v string) bool { // it is to know the one runtime only
		return strings.HasPrefix(v, "FLEET_") || strings.HasPrefix(v, "OLLAMA_HOST=")
	})
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
	models, err := untilServed(ctx, address)
	if err != nil {
		return err
	}
	pick := func(name, capability string) string {
		return name + "=" + cmp.Or(os.Getenv(name), smallest(models, capability))
	}
	env := []string{pick("CLIENTS_CHAT", "completion"), pick("CLIENTS_TOOLS", "tools"), pick("CLIENTS_EMBED", "embedding")}
	if env[0] == "CLIENTS_CHAT=" {
		fmt.Println("that runtime has no chat model (ollama pull qwen3:0.6b, for one), so nothing to test against")
		s.skipped++
		return nil
	}
	fmt.Println(base, env)
	return s.nodeTests(ctx, clientsDir, "*.test.js", 2*time.Minute, append(env, "CLIENTS_BASE="+address)...)
}

// answers reports whether an HTTP server is there.
func answers(ctx context.Context, base string) error {
	ctx, cancel := context.WithTimeout(ctx, 3*time.Second)
	defer cancel()
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, base, nil)
	if err != nil {
		return err
	}
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		return err
	}
	return resp.Body.Close()
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

// untilServed waits until bellwether offers models, and lists them.
func untilServed(ctx context.Context, base string) ([]ollamaModel, error) {
	deadline := time.Now().Add(30 * time.Second)
	for time.Now().Before(deadline) {
		if models, err := ollamaModels(ctx, base); err == nil && len(models) > 0 {
			return models, nil
		}
		select {
		case <-ctx.Done():
			return nil, ctx.Err()
		case <-time.After(100 * time.Millisecond):
		}
	}
	return nil, errors.New("bellwether offers no model of that runtime")
}
