package desktop

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"github.com/ebitengine/purego"
	"github.com/ebitengine/purego/objc"
)

// What SMAppService says of an item.
const (
	smNotRegistered = iota
	smEnabled
	smRequiresApproval
	smNotFound
)

// appService is the app's own login item, which starts it without options, which its user sees and revokes in
// System Settings; 0 = not in a bundle, or an older macOS.
func (l *LoginItem) appService(program string) objc.ID {
	self, err := os.Executable()
	if err != nil || !bundled(self) || l.opts.Config != "" || program != "" && !sameFile(program, self) {
		return 0
	}
	if _, err := purego.Dlopen("/System/Library/Frameworks/ServiceManagement.framework/ServiceManagement", purego.RTLD_LAZY|purego.RTLD_GLOBAL); err != nil {
		return 0
	}
	class := objc.GetClass("SMAppService") // macOS 13 and later
	if class == 0 {
		return 0
	}
	return objc.ID(class).Send(objc.RegisterName("mainAppService"))
}

func (l *LoginItem) read(ctx context.Context, program string) (LoginStatus, error) {
	service := l.appService(program)
	registered := service != 0 && objc.Send[int](service, objc.RegisterName("status")) == smEnabled
	if service != 0 && (len(l.opts.Flags) == 0 || registered) {
		s := LoginStatus{Known: true, Can: true, Entry: "System Settings, General, Login Items"}
		switch objc.Send[int](service, objc.RegisterName("status")) {
		case smEnabled:
			l.judge(&s, append([]string{program}, l.opts.Args...), program)
		case smRequiresApproval:
			s.Can, s.Vetoed = false, true
			s.Reason, s.Remedy = "it was switched off in System Settings", "switch it on there: System Settings, General, Login Items"
		case smNotFound: // what a bundle says that was never registered
		}
		return s, nil
	}
	path, err := l.agentPath()
	if err != nil {
		return LoginStatus{}, err
	}
	s := LoginStatus{Known: true, Can: true, Entry: path}
	list, err := os.ReadFile(path)
	if errors.Is(err, fs.ErrNotExist) {
		return s, nil
	}
	if err != nil {
		return LoginStatus{Entry: path}, err
	}
	command, disabled, err := readAgent(list)
	switch {
	case err != nil || len(command) == 0:
		s.Reason, s.Remedy = "its LaunchAgent cannot be read", "switch it on here"
	case disabled || l.disabledByUser(ctx):
		s.Reason, s.Remedy = "its LaunchAgent was disabled", "run: launchctl enable gui/"+strconv.Itoa(os.Getuid())+"/"+agentLabel
		s.Can, s.Vetoed = disabled, true
	case missing(command[0]):
		l.judgeGone(&s, command, program)
	default:
		l.judge(&s, command, program)
	}
	return s, nil
}

func (l *LoginItem) write(_ context.Context, program string) error {
	service := l.appService(program)
	path, err := l.agentPath()
	if err != nil {
		return err
	}
	if service != 0 && len(l.opts.Flags) == 0 {
		if err := os.Remove(path); err != nil && !errors.Is(err, fs.ErrNotExist) { // of a start with options; two would start
			return err
		}
		return tell(service, "registerAndReturnError:")
	}
	if service != 0 && objc.Send[int](service, objc.RegisterName("status")) == smEnabled {
		// The app's own item passes no options on, so it makes room.
		if err := tell(service, "unregisterAndReturnError:"); err != nil {
			return err
		}
	}
	list, err := writeAgent(l.command(program))
	if err != nil {
		return err
	}
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		return err
	}
	// launchd reads the folder at the next login. Loading the agent now would
	// start a second Bellwether beside the one that asks.
	return WritePrivate(path, list)
}

func (l *LoginItem) remove(context.Context) error {
	var wrong error
	if service := l.appService(""); service != 0 {
		if status := objc.Send[int](service, objc.RegisterName("status")); status == smEnabled || status == smRequiresApproval {
			wrong = tell(service, "unregisterAndReturnError:")
		}
	}
	path, err := l.agentPath()
	if err != nil {
		return errors.Join(wrong, err)
	}
	if err := os.Remove(path); err != nil && !errors.Is(err, fs.ErrNotExist) {
		wrong = errors.Join(wrong, err)
	}
	return wrong
}

func (l *LoginItem) agentPath() (string, error) {
	if l.opts.Config != "" {
		return filepath.Join(l.opts.Config, "LaunchAgents", agentLabel+".plist"), nil
	}
	home, err := os.UserHomeDir()
	return filepath.Join(home, "Library", "LaunchAgents", agentLabel+".plist"), err
}

// disabledByUser asks launchd, which keeps that apart from the list.
func (l *LoginItem) disabledByUser(ctx context.Context) bool {
	ctx, cancel := context.WithTimeout(ctx, 2*time.Second)
	defer cancel()
	out, err := exec.CommandContext(ctx, "/bin/launchctl", "print-disabled", "gui/"+strconv.Itoa(os.Getuid())).Output()
	return err == nil && agentDisabled(string(out))
}

// tell sends a message that takes only an NSError's place and answers whether
// it worked.
func tell(service objc.ID, message string) error {
	var trouble objc.ID
	if objc.Send[bool](service, objc.RegisterName(message), &trouble) {
		return nil
	}
	if trouble == 0 {
		return errors.New("macOS does not say why")
	}
	words := trouble.Send(objc.RegisterName("localizedDescription"))
	return fmt.Errorf("macOS says: %s", objc.Send[string](words, objc.RegisterName("UTF8String")))
}

// bundled reports whether a program is the main one of an app bundle.
func bundled(program string) bool { return strings.Contains(program, ".app/Contents/MacOS/") }
