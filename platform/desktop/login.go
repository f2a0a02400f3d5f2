package desktop

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
)

// LoginItem is the entry by which the system starts a program when its user
// logs in. The system owns the truth, and its user may change it there: it is
// read anew each time, and nothing of it is remembered here.
//
//	Linux    $XDG_CONFIG_HOME/autostart/bellwether.desktop
//	Windows  HKCU\Software\Microsoft\Windows\CurrentVersion\Run, value Bellwether
//	macOS    the app's own login item (macOS 13 and later, in a bundle), else a
//	         LaunchAgent
type LoginItem struct{ opts LoginOptions }

// LoginOptions say what is to be started.
type LoginOptions struct {
	// Program is the executable's path; "" = this one. A path that will not be
	// there tomorrow (a temporary folder, a mounted image) is refused by Enable.
	Program string
	Args    []string
	// Flags are what this start was given beside Args, each as --name=value: an
	// entry with others starts another Bellwether, of other data or settings.
	Flags []string
	// Config is the folder in which Linux keeps autostart and macOS
	// LaunchAgents, on Windows the registry key below which the usual ones stand;
	// "" = the user's own. For tests.
	Config string
}

// LoginStatus is what the system says of the entry.
type LoginStatus struct {
	On     bool   // it will be started at the next login
	Known  bool   // the system could be asked; without it On says nothing
	Can    bool   // Enable would work here
	Moved  bool   // the entry is ours and has to be written anew: it has other Args, or starts what is not there any more
	Other  bool   // there is an entry that is followed, of another program or with other Flags: On is false
	Vetoed bool   // its user switched it off in the system's own settings
	Reason string // why it is off although there is an entry, or why it cannot be on; "" = nothing to say
	Remedy string // what helps against Reason
	Entry  string // where the entry stands, for people: a path or a registry key
}

// LoginError says why the program cannot be started at login, and what helps.
type LoginError struct{ Reason, Remedy string }

func (e *LoginError) Error() string {
	if e.Remedy == "" {
		return e.Reason
	}
	return e.Reason + ": " + e.Remedy
}

// NewLoginItem makes the item; nothing is written.
func NewLoginItem(o LoginOptions) *LoginItem { return &LoginItem{o} }

// Status asks the system.
func (l *LoginItem) Status(ctx context.Context) (LoginStatus, error) {
	program, no := l.program()
	s, err := l.read(ctx, program)
	if err != nil {
		return s, fmt.Errorf("ask whether it starts at login: %w", err)
	}
	if no != nil && !s.On && !s.Other { // one that is on may stay, and can be switched off
		s.Can, s.Reason, s.Remedy = false, no.Reason, no.Remedy
	}
	return s, nil
}

// Enable has the program started at login, and reads back that it will be. A
// *LoginError says why not. What its user switched off in the system's own
// settings stays off where the system keeps that apart from the entry.
func (l *LoginItem) Enable(ctx context.Context) error {
	program, no := l.program()
	if no != nil {
		return no
	}
	s, err := l.read(ctx, program)
	switch {
	case err != nil:
		return fmt.Errorf("ask whether it starts at login: %w", err)
	case s.On && !s.Moved:
		return nil
	case !s.Can:
		return &LoginError{s.Reason, s.Remedy}
	}
	if err := l.write(ctx, program); err != nil {
		return fmt.Errorf("have it started at login: %w", err)
	}
	if s, err = l.read(ctx, program); err != nil {
		return fmt.Errorf("ask whether it starts at login: %w", err)
	}
	if !s.On {
		return &LoginError{"the entry was written, and the system will not follow it: " + s.Reason, s.Remedy}
	}
	return nil
}

// Disable takes the entry away; none there is no error.
func (l *LoginItem) Disable(ctx context.Context) error {
	if err := l.remove(ctx); err != nil {
		return fmt.Errorf("have it not started at login: %w", err)
	}
	return nil
}

// program is the path that an entry should hold, or why there is none.
func (l *LoginItem) program() (string, *LoginError) {
	path := l.opts.Program
	if path == "" {
		self, err := os.Executable()
		if err != nil {
			return "", &LoginError{Reason: "the system does not say where this program stands"}
		}
		path = withoutConsole(runtime.GOOS, self)
	}
	path, no := lastingPath(runtime.GOOS, path, os.Getenv)
	if no != nil {
		return "", no
	}
	if info, err := os.Stat(path); err != nil || info.IsDir() {
		return "", &LoginError{Reason: path + " is no program", Remedy: "install Bellwether again"}
	}
	return path, nil
}

// withoutConsole is the program to start in place of the one that commands are
// typed to: Windows opens a console for that one, and has another without beside it.
func withoutConsole(goos, self string) string {
	if app := filepath.Join(filepath.Dir(self), "bellwether-app.exe"); goos == "windows" && !missing(app) {
		return app
	}
	return self
}

// command is what an entry holds: the program and all that it is given.
func (l *LoginItem) command(program string) []string {
	return slices.Concat([]string{program}, l.opts.Args, l.opts.Flags)
}

// judge says of an entry's command, which the system follows, whether it is
// this program's with its flags. program "" = nobody can say which it is. A
// program that is there and is not this one is somebody else's, a second
// installation among them: they would take the entry from each other at every
// start.
func (l *LoginItem) judge(s *LoginStatus, command []string, program string) {
	flags, args := split(command)
	switch {
	case program != "" && !sameFile(found(command[0]), program):
		s.Other = true
		s.Reason = "its entry starts another program: " + command[0]
		if isNamed(command[0]) {
			s.Reason = "another Bellwether starts at login: " + command[0]
		}
	case !slices.Equal(flags, l.opts.Flags):
		s.Other = true
		s.Reason = "the Bellwether that starts at login has other options (none)"
		if len(flags) > 0 {
			s.Reason = "the Bellwether that starts at login has other options: " + strings.Join(shownFlags(flags), " ")
		}
	default:
		s.On = true
		s.Moved = program != "" && !slices.Equal(args, l.opts.Args)
		return
	}
	s.Remedy = "switch it on here to have this one started instead"
}

// judgeGone is judge of an entry whose program is not there any more, so that
// nothing is started. One that was ours has moved.
func (l *LoginItem) judgeGone(s *LoginStatus, command []string, program string) {
	s.Reason, s.Remedy = isGone(command[0]), "switch it on here"
	flags, args := split(command)
	s.Moved = program != "" && slices.Equal(flags, l.opts.Flags) && (isNamed(command[0]) || slices.Equal(args, l.opts.Args))
}

func isGone(program string) string {
	return "its entry starts " + program + ", which is not there any more"
}

// split takes a command apart behind its program.
func split(command []string) (flags, args []string) {
	for _, a := range command[1:] {
		if strings.HasPrefix(a, "--") && strings.Contains(a, "=") {
			flags = append(flags, a)
		} else {
			args = append(args, a)
		}
	}
	return flags, args
}

// isNamed reports that a program has our name: bellwether, bellwether-app.exe,
// Bellwether-1.2.AppImage.
func isNamed(program string) bool {
	base := program[strings.LastIndexAny(program, `/\`)+1:]
	return strings.HasPrefix(strings.ToLower(base), "bellwether")
}

// found is where a program stands that a command names without a path.
func found(program string) string {
	if path, err := exec.LookPath(program); err == nil {
		return path
	}
	return program
}

// shownFlags leaves out the values of settings (--set=key=value), which may be
// keys.
func shownFlags(flags []string) []string {
	var out []string
	for _, f := range flags {
		if name, value, _ := strings.Cut(f, "="); strings.Contains(value, "=") {
			key, _, _ := strings.Cut(value, "=")
			f = name + "=" + key
		}
		out = append(out, f)
	}
	return out
}

// sameFile reports whether two paths name one file, links followed.
func sameFile(a, b string) bool {
	if a == b {
		return true
	}
	x, err1 := os.Stat(a)
	y, err2 := os.Stat(b)
	return err1 == nil && err2 == nil && os.SameFile(x, y)
}

// missing reports that nothing is at a path.
func missing(path string) bool {
	_, err := os.Stat(path)
	return errors.Is(err, os.ErrNotExist)
}
