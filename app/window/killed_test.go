package window

import (
	"bufio"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// What kills us gives us no time to end the window: it must notice by itself.
func TestAKilledParentTakesItsWindowAlong(t *testing.T) {
	d := diary(filepath.Join(t.TempDir(), "diary"))
	cmd := exec.Command(os.Args[0])
	cmd.Env = append(os.Environ(), envOwn+"=parent", envRole+"=well", envDiary+"="+string(d), "DISPLAY=:77")
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	line, _ := bufio.NewReader(out).ReadString('\n')
	if strings.TrimSpace(line) != "open" {
		_ = cmd.Process.Kill()
		t.Fatalf("the parent said %q", line)
	}
	pid := d.pids()[0]
	if !exists(pid) {
		t.Fatal("there is no window")
	}
	if err := cmd.Process.Kill(); err != nil { // SIGKILL
		t.Fatal(err)
	}
	_ = cmd.Wait()
	until(t, "the window is gone", func() bool { return !exists(pid) })
	if d.count("end") != 1 {
		t.Errorf("it did not quit by itself: %q", d.lines())
	}
}
