package measure

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"strings"
	"time"
)

// Sandbox runs code that a model wrote in a process of its own, which has no
// files, no network and no environment to reach for: only a JavaScript engine
// without any of them. Time and memory are bounded inside, and again by
// killing it; whatever the code does, it ends no other process than its own.
type Sandbox struct {
	// Command starts ServeSandbox: a program of ours and its arguments.
	Command []string
	// Env is the process's whole environment.
	Env []string
	// Time is how long the code of one answer may run, all cases together; 0 = 3 s.
	Time time.Duration
}

// Bounds of one answer's run.
const (
	sandboxTime   = 3 * time.Second // of the code, all cases together
	sandboxGrace  = 4 * time.Second // beyond it, until the process is killed: its start, and what cannot be interrupted
	sandboxMemory = 256 << 20       // bytes of the process
	sandboxOutput = 64 << 10        // bytes it may say
)

// sandboxAsk goes to the sandbox, one JSON value on its standard input.
type sandboxAsk struct {
	Source   string        `json:"source"`
	Function string        `json:"function"`
	Cases    []Case        `json:"cases"`
	Time     time.Duration `json:"time"`
}

// sandboxSaid comes back, one JSON value on its standard output.
type sandboxSaid struct {
	Done bool   `json:"done"` // all cases were judged, or the code stood in the way
	Why  string `json:"why"`  // "" = right
}

// errNoSandbox is the answer of a Grader without a Sandbox.
var errNoSandbox = errors.New("there is no sandbox to run code in")

// grade runs an answer. A process that dies was killed by the code in it: that
// answer is wrong. Only one that cannot be started is an error.
func (s *Sandbox) grade(ctx context.Context, c *Code, answer string) (Verdict, error) {
	if len(s.Command) == 0 {
		return Verdict{}, errNoSandbox
	}
	source := c.source(answer)
	if !strings.Contains(source, c.Function) {
		return Verdict{Why: "it defines no function " + c.Function}, nil
	}
	ask, err := json.Marshal(sandboxAsk{source, c.Function, c.Cases, cmp.Or(s.Time, sandboxTime)})
	if err != nil {
		return Verdict{}, err
	}
	limited, cancel := context.WithTimeout(ctx, cmp.Or(s.Time, sandboxTime)+sandboxGrace)
	defer cancel()
	cmd := exec.CommandContext(limited, s.Command[0], s.Command[1:]...)
	cmd.Env = append([]string{}, s.Env...) // never nil: nil is our own
	cmd.Dir = os.TempDir()
	cmd.Stdin = bytes.NewReader(ask)
	cmd.WaitDelay = time.Second
	var out bounded
	cmd.Stdout = &out
	if err := cmd.Start(); err != nil {
		return Verdict{}, fmt.Errorf("start the sandbox: %w", err)
	}
	err = cmd.Wait()
	if ctx.Err() != nil {
		return Verdict{}, ctx.Err()
	}
	var said sandboxSaid
	switch {
	case err == nil && json.Unmarshal(out.b, &said) == nil && said.Done:
		return Verdict{Right: said.Why == "", Why: said.Why}, nil
	case limited.Err() != nil:
		return Verdict{Why: "the code did not end, not even when told to"}, nil
	default:
		return Verdict{Why: "the code used up the sandbox's memory or stack"}, nil
	}
}

// bounded keeps the first bytes of what is written.
type bounded struct{ b []byte }

func (w *bounded) Write(p []byte) (int, error) {
	if len(w.b)+len(p) > sandboxOutput {
		return 0, io.ErrShortWrite
	}
	w.b = append(w.b, p...)
	return len(p), nil
}
