package window

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"bellwether/app/window/child"
)

// process is one run of the window program. Its channels close: ready when it
// first said so, gone when it has ended; cmd's state may be read after that.
type process struct {
	cmd     *exec.Cmd
	orders  io.WriteCloser
	said    lines // standard output
	told    tail  // standard error
	ready   chan struct{}
	shown   chan struct{} // an answer to show; one is kept, for show asks one at a time
	gone    chan struct{}
	hung    atomic.Bool // it did not answer, and was given up
	started time.Time
	ended   time.Time // set before gone closes
}

// launch starts the window program with an address; outside gets those that the
// window leaves to the browser, and lost why its page went away and was loaded
// again, one after the other. Whoever launches waits for gone, or ends it.
func launch(program, url string, outside, lost func(string)) (*process, error) {
	p := &process{cmd: exec.Command(program), ready: make(chan struct{}), shown: make(chan struct{}, 1), gone: make(chan struct{}), started: time.Now()}
	// X11 takes a window's class from the program's name at its start, and by the
	// class desktops find the icon. The toolkit's option comes too late for that.
	p.cmd.Args = []string{"bellwether"}
	ready := sync.OnceFunc(func() { close(p.ready) })
	p.said = lines{each: func(line string) {
		switch line {
		case child.Ready:
			ready()
		case child.Shown:
			select {
			case p.shown <- struct{}{}:
			default: // nobody took the last one
			}
		default:
			if url, ok := strings.CutPrefix(line, child.Outside); ok {
				outside(url)
			} else if why, ok := strings.CutPrefix(line, child.Lost); ok {
				lost(why)
			}
		}
	}}
	p.cmd.Env = environment(os.Environ(), url)
	p.cmd.Stdout, p.cmd.Stderr = &p.said, &p.told
	// Its own children, the web view's, may hold its output open after it ended.
	p.cmd.WaitDelay = 500 * time.Millisecond
	var err error
	if p.orders, err = p.cmd.StdinPipe(); err != nil {
		return nil, err
	}
	if err := p.cmd.Start(); err != nil {
		return nil, err
	}
	go func() {
		_ = p.cmd.Wait() // its code is read from the state
		p.ended = time.Now()
		close(p.gone)
	}()
	return p, nil
}

// environment is the window's: ours, with the address. WebKit's way of drawing
// through DMA buffers leaves windows blank on NVIDIA's driver, and an admin UI
// needs none of its speed (github.com/wailsapp/wails/issues/2977).
func environment(ours []string, url string) []string {
	const dmabuf = "WEBKIT_DISABLE_DMABUF_RENDERER="
	env := make([]string, 0, len(ours)+2)
	decided := false
	for _, v := range ours {
		if strings.HasPrefix(v, child.EnvURL+"=") {
			continue
		}
		decided = decided || strings.HasPrefix(v, dmabuf)
		env = append(env, v)
	}
	if !decided {
		env = append(env, dmabuf+"1")
	}
	return append(env, child.EnvURL+"="+url)
}

func (p *process) alive() bool {
	select {
	case <-p.gone:
		return false
	default:
		return true
	}
}

// errHung says that a window runs and answers nothing, errGone that it ended.
var (
	errHung = errors.New("the window does not answer")
	errGone = errors.New("the window has ended")
)

// show raises the window and waits until it says so. One at a time.
func (p *process) show(ctx context.Context, patience time.Duration) error {
	select {
	case <-p.shown: // for somebody who did not wait for it
	default:
	}
	if _, err := io.WriteString(p.orders, child.Show+"\n"); err != nil {
		return errGone
	}
	late := time.NewTimer(patience)
	defer late.Stop()
	select {
	case <-p.shown:
		return nil
	case <-p.gone:
		return errGone
	case <-ctx.Done():
		return ctx.Err()
	case <-late.C:
		return errHung
	}
}

// end tells the window to quit, and kills it when it does not. It returns when
// the process is gone.
func (p *process) end(patience time.Duration) {
	_ = p.orders.Close()
	late := time.NewTimer(patience)
	defer late.Stop()
	select {
	case <-p.gone:
	case <-late.C:
		p.kill()
	}
}

func (p *process) kill() {
	_ = p.cmd.Process.Kill()
	<-p.gone
}

// exit is the code it ended with, -1 by a signal. Only after gone.
func (p *process) exit() int { return p.cmd.ProcessState.ExitCode() }

// lived is how long it ran. Only after gone.
func (p *process) lived() time.Duration { return p.ended.Sub(p.started) }

// why says for people why it ended, and what helps. Only after gone.
func (p *process) why() string { return explain(p.exit(), p.cmd.ProcessState.String(), p.told.last()) }

// explain puts an exit code into words; state is the system's word for it, and
// said the last line of its complaint.
func explain(code int, state, said string) string {
	switch code {
	case child.Closed:
		return "the window was closed"
	case child.NoDisplay:
		return "there is no display that answers: " + cmp.Or(said, "GTK could not begin")
	case child.NoWebView:
		return "Windows lacks the WebView2 runtime, which Microsoft offers as the Evergreen Bootstrapper"
	case child.NoWindow:
		return "bellwether-window was built without a window (build it with: go run ./build window)"
	case child.NoLibrary:
		return fmt.Sprintf("the window needs GTK 3 and WebKitGTK 4.1 (on Debian and Ubuntu: libgtk-3-0 libwebkit2gtk-4.1-0): %s", cmp.Or(said, state))
	case child.PageLost:
		return "its page went away: " + cmp.Or(said, "the process that draws it ended")
	case child.Stuck:
		return "the window hung and cut itself off"
	}
	return fmt.Sprintf("the window ended with %s: %s", state, cmp.Or(said, "it said nothing"))
}

// lines hands output on line by line. Only the goroutine that copies the output
// uses it.
type lines struct {
	part []byte
	each func(line string)
}

// longest is more than any line that matters.
const longest = 4 << 10

func (l *lines) Write(b []byte) (int, error) {
	l.part = append(l.part, b...)
	for {
		line, rest, whole := bytes.Cut(l.part, []byte("\n"))
		if !whole {
			break
		}
		l.each(string(bytes.TrimSpace(line)))
		l.part = rest
	}
	if len(l.part) > longest {
		l.part = nil
	}
	return len(b), nil
}

// tail keeps the end of what was written. Its mutex guards kept.
type tail struct {
	mu   sync.Mutex
	kept []byte
}

func (t *tail) Write(b []byte) (int, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.kept = append(t.kept, b...)
	if over := len(t.kept) - longest; over > 0 {
		t.kept = t.kept[over:]
	}
	return len(b), nil
}

// last is the last line that says something of the trouble: a panic's first
// line, not its stack's last.
func (t *tail) last() string {
	t.mu.Lock()
	defer t.mu.Unlock()
	found := ""
	for line := range strings.Lines(string(t.kept)) {
		line = strings.TrimSpace(line)
		if after, isPanic := strings.CutPrefix(line, "panic: "); isPanic {
			return after
		}
		if line != "" && !harmless(line) {
			found = line
		}
	}
	return found
}

// harmless lines are said by windows that are well.
func harmless(line string) bool {
	return strings.HasPrefix(line, "Overriding existing handler for signal") || strings.Contains(line, "Gtk-WARNING") || strings.Contains(line, "dconf-WARNING")
}
