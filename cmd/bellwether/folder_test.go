package main

import (
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// A first start where nothing can be kept says what is wrong with the folder and
// what helps. The disks are real ones, in a namespace of the test's own.
func TestAFirstStartWithoutRoomSaysWhatHelps(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct{ mount, fill, why, remedy string }{
		"a full disk":      {"size=64k", "head -c 64k /dev/zero > $1/fill;", "its disk is full", "free some room there"},
		"a read-only disk": {"ro", "", "its disk is read-only", "make it writable"},
	} {
		dir := t.TempDir()
		script := "mount -t tmpfs -o " + c.mount + " none $1 || exit 77; mkdir $1/data 2>/dev/null; " + c.fill + " exec $0 serve --data-dir $1/data --listen 127.0.0.1:0"
		cmd := exec.Command("unshare", "--user", "--map-root-user", "--mount", "sh", "-c", script, program("bellwether"), dir)
		cmd.Env = cleanEnv(dir)
		out, err := cmd.CombinedOutput()
		if code := cmd.ProcessState.ExitCode(); err == nil || code != exitFailed {
			if code == 77 || strings.Contains(string(out), "unshare") || cmd.ProcessState == nil {
				t.Skip("this system gives no namespaces")
			}
			t.Errorf("%s: exit code %d: %s", name, code, out)
		}
		for _, want := range []string{"the data folder " + filepath.Join(dir, "data") + " cannot be used: " + c.why, c.remedy, "--data-dir"} {
			if !strings.Contains(string(out), want) {
				t.Errorf("%s: it does not say %q:\n%s", name, want, out)
			}
		}
	}
}

func TestAFileInPlaceOfTheDataFolderIsTold(t *testing.T) {
	t.Parallel()
	h := newHome(t, "", nil)
	h.dir = filepath.Join(h.dir, "config.yaml")
	for _, args := range [][]string{{"serve"}, {"config", "show"}, {"status"}, {"doctor"}} {
		h.run(t, args...).ends(t, exitUsage).says(t, "the data folder "+h.dir+" cannot be used: a file is in its place", "--data-dir")
	}
}
