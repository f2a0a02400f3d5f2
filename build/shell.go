package main

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"time"
)

// command makes a child process that is asked to end when ctx does, and killed
// if it does not within ten seconds.
func command(ctx context.Context, name string, args ...string) *exec.Cmd {
	cmd := exec.CommandContext(ctx, name, args...)
	cmd.Cancel = func() error {
		if runtime.GOOS == "windows" {
			return cmd.Process.Kill()
		}
		return cmd.Process.Signal(os.Interrupt)
	}
	cmd.WaitDelay = 10 * time.Second
	return cmd
}

// sh runs a command with its output shown; env is added to ours.
func sh(ctx context.Context, env []string, name string, args ...string) error {
	cmd := command(ctx, name, args...)
	cmd.Env = append(os.Environ(), env...)
	cmd.Stdout, cmd.Stderr = os.Stdout, os.Stderr
	if err := cmd.Run(); err != nil {
		return fmt.Errorf("%s %s: %w", name, strings.Join(args, " "), err)
	}
	return nil
}

// output runs a command and returns what it printed, without the last newline.
func output(ctx context.Context, name string, args ...string) (string, error) {
	var out, complaint bytes.Buffer
	cmd := command(ctx, name, args...)
	cmd.Stdout, cmd.Stderr = &out, &complaint
	if err := cmd.Run(); err != nil {
		return "", fmt.Errorf("%s %s: %w: %s", name, strings.Join(args, " "), err, strings.TrimSpace(complaint.String()))
	}
	return strings.TrimRight(out.String(), "\n"), nil
}

// goBuild builds programs of the project into dir.
func goBuild(ctx context.Context, dir string, packages ...string) error {
	args := append([]string{"build", "-o", dir + string(filepath.Separator)}, packages...)
	return sh(ctx, nil, "go", args...)
}

// exe is a program's file name on this system.
func exe(name string) string {
	if runtime.GOOS == "windows" {
		return name + ".exe"
	}
	return name
}

// has reports whether a program can be found.
func has(name string) bool {
	_, err := exec.LookPath(name)
	return err == nil
}

func exists(path string) bool {
	_, err := os.Stat(path)
	return err == nil
}

// headline marks where a step begins.
func headline(w io.Writer, format string, args ...any) {
	fmt.Fprintf(w, "\n== "+format+"\n", args...)
}
