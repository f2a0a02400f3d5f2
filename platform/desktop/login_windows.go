package desktop

import (
	"context"
	"errors"

	"golang.org/x/sys/windows/registry"
)

// runName is the entry's name, as Task Manager shows it.
const runName = "Bellwether"

// longestRun is what Windows reads of a Run value, in characters.
const longestRun = 260

const (
	runKey      = `Software\Microsoft\Windows\CurrentVersion\Run`
	approvedKey = `Software\Microsoft\Windows\CurrentVersion\Explorer\StartupApproved\Run`
)

// key is where a key of ours stands; in tests below one of their own.
func (l *LoginItem) key(path string) string {
	if l.opts.Config != "" {
		return l.opts.Config + `\` + path
	}
	return path
}

func (l *LoginItem) read(_ context.Context, program string) (LoginStatus, error) {
	s := LoginStatus{Entry: `HKEY_CURRENT_USER\` + l.key(runKey) + `\` + runName}
	line, err := runValue(l.key(runKey))
	if err != nil {
		return s, err
	}
	off, err := offByUser(l.key(approvedKey))
	if err != nil {
		return s, err
	}
	s.Known, s.Can = true, true
	command := splitCommandLine(line)
	switch {
	case off:
		s.Can, s.Vetoed = false, true
		s.Reason, s.Remedy = "it was switched off in Task Manager or the Settings app", "switch it on there: Settings, Apps, Startup"
	case len(command) == 0:
	case missing(command[0]):
		l.judgeGone(&s, command, program)
	default:
		l.judge(&s, command, program)
	}
	return s, nil
}

func (l *LoginItem) write(_ context.Context, program string) error {
	line := commandLine(l.command(program))
	if len([]rune(line)) > longestRun {
		return &LoginError{"the path of this Bellwether and its options are longer than the 260 characters that Windows reads", "install it in a shorter path, or put options into the settings file"}
	}
	key, _, err := registry.CreateKey(registry.CURRENT_USER, l.key(runKey), registry.SET_VALUE)
	if err != nil {
		return err
	}
	defer func() { _ = key.Close() }()
	return key.SetStringValue(runName, line)
}

// remove leaves what the user said in Task Manager: it counts for a later entry.
func (l *LoginItem) remove(context.Context) error {
	key, err := registry.OpenKey(registry.CURRENT_USER, l.key(runKey), registry.SET_VALUE)
	if errors.Is(err, registry.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	defer func() { _ = key.Close() }()
	if err := key.DeleteValue(runName); err != nil && !errors.Is(err, registry.ErrNotExist) {
		return err
	}
	return nil
}

// runValue is the entry's command line, "" = there is none.
func runValue(path string) (string, error) {
	key, err := registry.OpenKey(registry.CURRENT_USER, path, registry.QUERY_VALUE)
	if errors.Is(err, registry.ErrNotExist) {
		return "", nil
	}
	if err != nil {
		return "", err
	}
	defer func() { _ = key.Close() }()
	line, _, err := key.GetStringValue(runName)
	if errors.Is(err, registry.ErrNotExist) {
		return "", nil
	}
	return line, err
}

// offByUser reports what the user said in Task Manager.
func offByUser(path string) (bool, error) {
	key, err := registry.OpenKey(registry.CURRENT_USER, path, registry.QUERY_VALUE)
	if errors.Is(err, registry.ErrNotExist) {
		return false, nil
	}
	if err != nil {
		return false, err
	}
	defer func() { _ = key.Close() }()
	approved, _, err := key.GetBinaryValue(runName)
	if errors.Is(err, registry.ErrNotExist) {
		return false, nil
	}
	return switchedOff(approved), err
}
