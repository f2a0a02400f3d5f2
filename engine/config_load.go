package engine

import (
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"

	"github.com/knadh/koanf/providers/confmap"
	"github.com/knadh/koanf/providers/env/v2"
	"github.com/knadh/koanf/providers/rawbytes"
	"github.com/knadh/koanf/v2"
)

// Sources says where settings come from, each over the one before: defaults,
// the file, variables, flags.
type Sources struct {
	// DataDir and NodeName are the defaults that the machine gives: its place
	// for data and its host name.
	DataDir, NodeName string
	// File is the settings file, "" for none. A missing one is no error unless
	// FileAsked, which is set when the owner named it.
	File      string
	FileAsked bool
	// Env are the variables as os.Environ gives them.
	Env []string
	// Flags are what the command line sets, by key.
	Flags map[string]string

	text []byte // in place of the file's own, nil = read it
}

// maxFile is the largest settings file read; a larger one is a mistake.
const maxFile = 1 << 20

// SettingError says that one setting has a wrong value.
type SettingError struct {
	Where   string // "config.yaml:12", "FLEET_PORT", "--listen"; "" for a value set by code
	Key     string
	Value   string // as written; "" where it is no single word, "(hidden)" for a secret
	Problem string // what is wrong with it, or what would be allowed
}

func (e *SettingError) Error() string {
	var b strings.Builder
	if e.Where != "" {
		b.WriteString(e.Where + ": ")
	}
	b.WriteString(e.Key + ": ")
	if e.Value != "" {
		fmt.Fprintf(&b, "%q: ", e.Value)
	}
	b.WriteString(e.Problem)
	return b.String()
}

// reading is what one look at the sources came to.
type reading struct {
	config   *Config // in force: of this look or, with an error, of the last good one
	revision string  // of the file's text that was looked at, whatever it says
	err      error   // why that text is not in force; nil = it is
}

// Load reads all sources and returns the settings in force. Its error joins
// one *SettingError for every wrong value, each with its place.
func Load(from Sources) (*Config, error) {
	r := look(from)
	return r.config, r.err
}

// look is Load; with an error it has no config.
func look(from Sources) reading {
	l := &loader{from: from, origin: map[string]string{}, k: koanf.New(".")}
	base := Default()
	base.DataDir, base.Node.Name = from.DataDir, from.NodeName
	l.layer(confmap.Provider(base.values(), "."), nil)
	l.file()
	l.environment()
	l.flags()
	if len(l.wrong) > 0 {
		return reading{revision: l.revision, err: errors.Join(l.wrong...)}
	}
	c := &Config{file: from.File, origin: l.origin, base: base, again: func() reading { return look(from) }, revision: l.revision, filled: l.filled, Warnings: l.warnings}
	c.as = func(text []byte) (*Config, error) { next := from; next.text = text; return Load(next) }
	for i := range settings {
		key := settings[i].Key
		c.field(key).Set(reflect.ValueOf(l.k.Get(key)))
	}
	if err := c.Validate(); err != nil {
		return reading{revision: l.revision, err: err}
	}
	c.Warnings = append(append(c.Warnings, c.overlaps()...), c.unknownPools()...)
	return reading{config: c, revision: l.revision}
}

// look reads the same sources again. With an error the receiver, the last good
// one, stays in force; a settings file that said something and says nothing any
// more is an *EmptiedError, unless it was emptied on purpose. A config that does
// not come from Load stays as it is.
func (c *Config) look(emptied bool) *reading {
	if c.again == nil {
		return &reading{config: c}
	}
	next := c.again()
	gone := errors.Is(next.err, fs.ErrNotExist) // which is wrong of one that was asked for
	if c.filled && !emptied && (gone || next.err == nil && !next.config.filled) {
		next.err = &EmptiedError{File: filepath.Base(c.file)}
	}
	if next.err != nil {
		next.config = c
	}
	return &next
}

// loader gathers the layers. Its errors are collected, so that all wrong
// settings are told at once.
type loader struct {
	from     Sources
	k        *koanf.Koanf
	origin   map[string]string
	wrong    []error
	warnings []string
	revision string // of the file's text
	filled   bool   // the file says something
}

func (l *loader) layer(p koanf.Provider, parser koanf.Parser) {
	if err := l.k.Load(p, parser); err != nil {
		l.wrong = append(l.wrong, err)
	}
}

// file reads the settings file.
func (l *loader) file() {
	if l.from.text != nil {
		l.parse(l.from.text)
		return
	}
	if l.from.File == "" {
		return
	}
	l.revision = revisionOf(nil)
	info, err := os.Stat(l.from.File)
	if errors.Is(err, os.ErrNotExist) && !l.from.FileAsked {
		return
	}
	if err == nil && info.Size() > maxFile {
		err = fmt.Errorf("has %d bytes; a settings file has a few thousand", info.Size())
	}
	var text []byte
	if err == nil {
		text, err = os.ReadFile(l.from.File)
	}
	if err != nil {
		l.revision = "unread"
		if errors.Is(err, fs.ErrPermission) {
			err = fmt.Errorf("%w: let this user read it, or name another with --config", err)
		}
		l.wrong = append(l.wrong, fmt.Errorf("settings file: %w", err))
		return
	}
	if parser := l.parse(text); parser.secrets && info.Mode().Perm()&0o077 != 0 && os.PathSeparator == '/' {
		l.warn("%s holds keys and can be read by other users of this machine: "+exposedWarning, parser.name)
	}
}

// parse reads the file's text.
func (l *loader) parse(text []byte) *fileParser {
	parser := &fileParser{name: filepath.Base(l.from.File), origin: l.origin}
	l.layer(rawbytes.Provider(text), parser)
	l.revision, l.filled = revisionOf(text), parser.filled
	return parser
}

// exposedWarning ends the warning of a file whose keys others can read.
const exposedWarning = "chmod 600 it"

// environment reads the variables.
func (l *loader) environment() {
	vars := newVariables(l)
	l.layer(env.Provider(".", env.Opt{
		EnvironFunc:   func() []string { return vars.ordered(l.from.Env) },
		TransformFunc: vars.read,
	}), nil)
}

// flags reads the command line.
func (l *loader) flags() {
	values := map[string]any{}
	for _, key := range slices.Sorted(maps.Keys(l.from.Flags)) {
		where := "--set" // as it is written, but for what has a flag of its own
		if key == "listen" {
			where = "--listen"
		}
		s, ok := settingOf(key)
		if !ok {
			l.wrong = append(l.wrong, &SettingError{Where: where, Key: key, Problem: unknownKey(key, settingKeys()).Error()})
			continue
		}
		if v, ok := l.read(s, where, l.from.Flags[key]); ok {
			values[key], l.origin[key] = v, "flag "+where
		}
	}
	l.layer(confmap.Provider(values, "."), nil)
}

// read turns a text into a setting's value, or notes what is wrong with it.
func (l *loader) read(s *Setting, where, text string) (any, bool) {
	v, err := s.kind.text(text)
	if err != nil {
		l.wrong = append(l.wrong, wrongValue(s, where, text, err))
		return nil, false
	}
	return v, true
}

func (l *loader) warn(format string, args ...any) {
	l.warnings = append(l.warnings, fmt.Sprintf(format, args...))
}

// wrongValue makes the error of a value that a kind refused.
func wrongValue(s *Setting, where, value string, err error) *SettingError {
	e := &SettingError{Where: where, Key: s.Key, Value: value, Problem: err.Error()}
	allowed := s.kind.allowed()
	var in *insideError
	if errors.As(err, &in) {
		e.Key, e.Value, e.Problem, allowed = s.Key+in.path, in.value, in.err.Error(), in.allowed
	}
	var part *partError
	if errors.As(err, &part) {
		e.Value, e.Problem = part.part, part.err.Error()
	}
	if errors.Is(err, errValue) && allowed != "" {
		e.Problem = "not allowed; allowed: " + allowed
	}
	return e
}
