package desktop

import (
	"bufio"
	"io"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
)

// A process that is called ollama listens, and its own variable says where its
// models are.
func TestARunningOllamaTellsWhereItsModelsAre(t *testing.T) {
	if os.Getenv("TEST_OLLAMA_LISTENS") != "" {
		l, err := net.Listen("tcp", "127.0.0.1:0")
		if err != nil {
			t.Fatal(err)
		}
		_, port, _ := net.SplitHostPort(l.Addr().String())
		_, _ = os.Stdout.WriteString(port + "\n")
		_, _ = io.ReadAll(os.Stdin) // until its end
		return
	}
	for name, want := range map[string]bool{"ollama": true, "proxy": false} {
		dir := t.TempDir()
		models := filepath.Join(dir, "models")
		if err := os.Mkdir(models, 0o700); err != nil {
			t.Fatal(err)
		}
		program := filepath.Join(dir, name)
		if err := os.Link(os.Args[0], program); err != nil {
			text, err := os.ReadFile(os.Args[0])
			if err != nil {
				t.Fatal(err)
			}
			if err := os.WriteFile(program, text, 0o700); err != nil {
				t.Fatal(err)
			}
		}
		cmd := exec.Command(program, "-test.run=^TestARunningOllamaTellsWhereItsModelsAre$")
		cmd.Env = append(os.Environ(), "TEST_OLLAMA_LISTENS=1", "OLLAMA_MODELS="+models)
		in, err := cmd.StdinPipe()
		if err != nil {
			t.Fatal(err)
		}
		out, err := cmd.StdoutPipe()
		if err != nil {
			t.Fatal(err)
		}
		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}
		line, _ := bufio.NewReader(out).ReadString('\n')
		port, err := strconv.Atoi(strings.TrimSpace(line))
		if err != nil {
			t.Fatalf("it says %q", line)
		}
		folder, ok := OllamaModels(t.Context(), port)
		_ = in.Close()
		_ = cmd.Wait()
		if ok != want || ok && folder != models {
			t.Errorf("%s: got %q, %v", name, folder, ok)
		}
	}
}
