package hardware

import (
	"context"
	"os"
	"os/exec"
	"time"
)

// commandTimeout bounds a vendor tool; nvidia-smi takes seconds on a GPU that
// just woke and for ever on one that fell off its bus.
const commandTimeout = 3 * time.Second

// runner runs a system tool and returns its output; tests replace it.
type runner func(ctx context.Context, name string, args ...string) ([]byte, error)

// run is the real runner. Desktop programs get a short PATH, so a tool is also
// looked for where its maker puts it.
func run(ctx context.Context, name string, args ...string) ([]byte, error) {
	ctx, cancel := context.WithTimeout(ctx, commandTimeout)
	defer cancel()
	cmd := exec.CommandContext(ctx, locate(name), args...)
	cmd.WaitDelay = time.Second
	return cmd.Output()
}

func locate(name string) string {
	if path, err := exec.LookPath(name); err == nil {
		return path
	}
	for _, path := range knownPlaces[name] {
		if _, err := os.Stat(path); err == nil {
			return path
		}
	}
	return name
}

var knownPlaces = map[string][]string{
	"nvidia-smi": {
		"/usr/bin/nvidia-smi", "/usr/lib/wsl/lib/nvidia-smi", "/opt/bin/nvidia-smi",
		`C:\Windows\System32\nvidia-smi.exe`, `C:\Program Files\NVIDIA Corporation\NVSMI\nvidia-smi.exe`,
	},
	"ioreg": {"/usr/sbin/ioreg"},
}
