package main

import (
	"fmt"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"
)

// stop ends a program as a service manager does and wants it gone in seconds.
func stop(t testing.TB, p *process) {
	t.Helper()
	terminate(t, p)
	began := time.Now()
	if code := p.wait(t); code != exitDone {
		t.Errorf("exit code %d after SIGTERM\n%s", code, p.err)
	}
	if took := time.Since(began); took > 5*time.Second {
		t.Errorf("it took %s to end", took)
	}
}

func terminate(t testing.TB, p *process) {
	t.Helper()
	if runtime.GOOS == "windows" {
		t.Skip("this system has no SIGTERM")
	}
	if err := p.cmd.Process.Signal(syscall.SIGTERM); err != nil {
		t.Fatal(err)
	}
}

func TestSecondEngineOnADataFolderIsRefused(t *testing.T) {
	t.Parallel()
	h := newHome(t, "", nil)
	h.serve(t, anywhere)
	h.run(t, "serve", anywhere).ends(t, exitRefused).says(t, "already uses", strconv.Itoa(h.engine.cmd.Process.Pid), "--data-dir")
	if h.status(t).Node.State != "serving" {
		t.Error("the first engine suffered")
	}
}

// occupy listens on an address, unless someone does already, and returns the
// name under which the system knows the owner, "" when that cannot be told.
func occupy(t testing.TB, address string) (owner string) {
	t.Helper()
	l, err := net.Listen("tcp", address)
	if err != nil {
		c, dialErr := net.Dial("tcp", address)
		if dialErr != nil {
			t.Skipf("%s cannot be used here: %v", address, err)
		}
		_ = c.Close()
		return ""
	}
	t.Cleanup(func() { _ = l.Close() })
	if runtime.GOOS != "linux" {
		return ""
	}
	return filepath.Base(os.Args[0])
}

// P-39: who holds the port that apps look at is said by name, at the start and by
// the doctor.
func TestTakenPortAtFirstStartMovesOnceAndIsRemembered(t *testing.T) {
	t.Parallel()
	const usual = 11435
	owner := occupy(t, fmt.Sprintf("127.0.0.1:%d", usual))
	h := newHome(t, "", nil)
	h.serve(t)
	first := h.address
	if port := portOf(t, first); port <= usual || port > usual+20 {
		t.Fatalf("it serves at %s, want one of the next ports", first)
	}
	if said := h.engine.out.String(); !strings.Contains(said, fmt.Sprintf("%s holds port %d", owner, usual)) || !strings.Contains(said, first) {
		t.Errorf("it does not say that %s holds the port:\n%s", owner, said)
	}
	h.run(t, "doctor").says(t, fmt.Sprintf("holds port %d", usual), first)
	stop(t, h.engine)

	h.serve(t)
	if h.address != first {
		t.Errorf("the second start serves at %s, the first did at %s", h.address, first)
	}
	stop(t, h.engine)

	// Apps know the remembered address now: it is not changed silently again.
	occupy(t, strings.TrimPrefix(strings.Replace(first, "localhost", "127.0.0.1", 1), "http://"))
	h.run(t, "serve").ends(t, exitRefused).says(t, "holds", strconv.Itoa(portOf(t, first)), "--listen")
}

func portOf(t testing.TB, address string) int {
	t.Helper()
	port, err := strconv.Atoi(address[strings.LastIndexByte(address, ':')+1:])
	if err != nil {
		t.Fatalf("%q has no port", address)
	}
	return port
}

func TestTakenAddressThatWasAskedForIsAnErrorThatNamesItsOwner(t *testing.T) {
	t.Parallel()
	f := fakeRuntime(t, "ollama")
	h := newHome(t, "", nil)
	s := h.run(t, "serve", "--listen", strings.TrimPrefix(f.url, "http://")).ends(t, exitRefused).says(t, strings.TrimPrefix(f.url, "http://"), "--listen")
	if runtime.GOOS == "linux" {
		s.says(t, "fakeruntime holds")
	}
}

func TestItServesBothFamiliesOrTheOneAskedFor(t *testing.T) {
	t.Parallel()
	if l, err := net.Listen("tcp", "[::1]:0"); err != nil {
		t.Skip("no IPv6 here")
	} else {
		_ = l.Close()
	}
	h := newHome(t, "", nil)
	h.serve(t, "--listen", "localhost:0")
	port := portOf(t, h.address)
	for _, host := range []string{"127.0.0.1", "[::1]", "localhost"} {
		if status := get(t, fmt.Sprintf("http://%s:%d/v1/models", host, port)); status != http.StatusOK {
			t.Errorf("%s: %d", host, status)
		}
	}
	stop(t, h.engine)

	six := newHome(t, "", nil)
	six.serve(t, "--listen", "[::1]:0")
	if status := get(t, fmt.Sprintf("http://[::1]:%d/v1/models", portOf(t, six.address))); status != http.StatusOK {
		t.Errorf("[::1]: %d", status)
	}
	six.run(t, "status").says(t, six.address)
	six.run(t, "serve", "--data-dir", t.TempDir(), "--listen", fmt.Sprintf("[::1]:%d", portOf(t, six.address))).ends(t, exitRefused).says(t, "[::1]")
}

// get returns the status of a GET, 0 = no answer.
func get(t testing.TB, url string) int {
	t.Helper()
	resp, err := http.Get(url)
	if err != nil {
		return 0
	}
	_ = resp.Body.Close()
	return resp.StatusCode
}

func TestIdleEngineFitsInto50MB(t *testing.T) {
	t.Parallel()
	if runtime.GOOS != "linux" {
		t.Skip("resident memory is read from /proc")
	}
	h, _ := studio(t)
	h.ask(t, "tiny")
	mb := resident(t, h.engine)
	t.Logf("resident: %.1f MB", mb)
	if mb > 50 {
		t.Errorf("resident %.1f MB", mb)
	}
}

// resident is the memory that a process takes, in MB.
func resident(t testing.TB, p *process) float64 {
	t.Helper()
	raw, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", p.cmd.Process.Pid))
	if err != nil {
		t.Fatal(err)
	}
	for line := range strings.Lines(string(raw)) {
		if kb, is := strings.CutPrefix(line, "VmRSS:"); is {
			n, err := strconv.Atoi(strings.TrimSpace(strings.TrimSuffix(strings.TrimSpace(kb), "kB")))
			if err != nil {
				t.Fatal(err)
			}
			return float64(n) / 1000
		}
	}
	t.Fatal("no VmRSS")
	return 0
}
