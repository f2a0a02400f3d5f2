package engine

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"bellwether/engine/admin"
	"bellwether/engine/dialect"
	"bellwether/platform/desktop"
)

// settingsDesk is where the admin UI reads and changes the settings file.
type settingsDesk struct{ e *Engine }

// Settings returns every setting in force, and the revision of the file that a
// change has to be based on: all of one reading of it.
func (d settingsDesk) Settings() admin.SettingsAnswer {
	now := d.e.reading.Load()
	c := now.config
	out := admin.SettingsAnswer{Revision: now.revision, Settings: []admin.SettingView{}}
	if c.file != "" {
		out.File = filepath.Base(c.file)
	}
	if now.err != nil {
		out.Error = now.err.Error()
	}
	for _, s := range c.Describe() {
		v := admin.SettingView{
			Key: s.Key, Value: PrintValue(s.Value), Source: s.Source, Default: PrintValue(s.Default), Unit: s.Unit,
			Kind: kindName(s.kind), Choices: []string{}, Allowed: s.kind.allowed(), Doc: s.Doc, Scope: s.Scope,
			Restart: s.Restart, Later: s.Later, Env: append([]string{}, s.Env...), Secret: hasHidden(s.kind), Fixed: fixed(s.Source),
		}
		if k, ok := s.kind.(choiceKind); ok {
			v.Choices = append(v.Choices, k.of...)
		}
		out.Settings = append(out.Settings, v)
	}
	return out
}

// InForce returns what the engine runs with, an InForce.
func (d settingsDesk) InForce() any {
	now := d.e.reading.Load()
	c := now.config
	out := InForce{Address: d.e.address, File: c.file, Settings: c.Describe()}
	if now.err != nil {
		out.Error = now.err.Error()
	}
	_, out.Waiting = d.e.opts.Config.Changes(c)
	for i, was := range d.e.opts.Config.Describe() {
		if slices.Contains(out.Waiting, was.Key) {
			out.Settings[i] = was
		}
	}
	return out
}

// fixed says why a change in the file would not count, "" when it would.
func fixed(source string) string {
	switch from, name, _ := strings.Cut(source, " "); from {
	case "env":
		return "The variable " + name + " sets it, and counts over the file."
	case "flag":
		return "The flag " + name + " sets it, and counts over the file."
	}
	return ""
}

// readSettings reads the file; a missing one is empty.
func readSettings(path string) ([]byte, error) {
	text, err := os.ReadFile(path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if len(text) > maxFile {
		return nil, errors.New("the settings file is too large to be changed from here")
	}
	return text, err
}

// revisionOf tells one text of the file from another.
func revisionOf(text []byte) string {
	sum := sha256.Sum256(text)
	return hex.EncodeToString(sum[:8])
}

// Change previews a change of settings, or makes it: it is in force, as far as
// it can be without a restart, when Change returns. Its error is an
// *admin.SettingsError, or a *dialect.Problem with status 409 when the file was
// changed by another meanwhile.
func (d settingsDesk) Change(ctx context.Context, ask admin.SettingsChange) (*admin.SettingsPreview, error) {
	d.e.saving.Lock()
	defer d.e.saving.Unlock()
	c, err := d.current(ctx)
	if err != nil {
		return nil, err
	}
	return d.change(ctx, c, ask)
}

// current takes over what the file says now, for who changes it: what is in
// force is what it says then, and it is of the revision of its config.
func (d settingsDesk) current(ctx context.Context) (*Config, error) {
	if err := d.e.Reload(ctx); err != nil {
		told := wrongSettingsFile(err)
		return nil, refusedSettings("settings_wrong", told.Text+" Nothing was changed.", told.Remedy, http.StatusConflict)
	}
	return d.e.conf(), nil
}

// change is Change for who holds the lock, with the settings as they are.
func (d settingsDesk) change(ctx context.Context, c *Config, ask admin.SettingsChange) (*admin.SettingsPreview, error) {
	if c.file == "" || c.as == nil {
		return nil, refusedSettings("no_settings_file", "This Bellwether runs without a settings file.", "Start it with --config FILE.", http.StatusConflict)
	}
	text, err := readSettings(c.file)
	if err != nil {
		return nil, refusedSettings("settings_unreadable", "The settings file cannot be read: "+err.Error()+".", "Make it readable to this user.", http.StatusConflict)
	}
	if ask.Revision != c.revision || ask.Revision != revisionOf(text) {
		return nil, refusedSettings("revision_moved", "The settings were changed meanwhile, so nothing was done.", "Look at them as they are now, and change them again.", http.StatusConflict)
	}
	fresh, next, err := d.changed(c, text, ask.Changes)
	if err != nil {
		return nil, err
	}
	out := preview(c, next)
	out.Revision = ask.Revision
	if ask.DryRun {
		return out, nil
	}
	if err := replaceSettings(c.file, fresh); err != nil {
		return nil, refusedSettings("settings_unwritable", "The settings file cannot be written: "+err.Error()+".", "Make its folder writable to this user, or edit it by hand.", http.StatusConflict)
	}
	out.Saved, out.Revision = true, revisionOf(fresh)
	if err := d.e.reload(ctx, true); err != nil {
		out.Warnings = append(out.Warnings, "It is saved, and not in force yet: "+err.Error())
	}
	return out, nil
}

// changed returns the file's text with the changes, and what it means.
func (d settingsDesk) changed(c *Config, text []byte, changes map[string]*string) ([]byte, *Config, error) {
	if len(changes) == 0 {
		return nil, nil, refusedSettings("no_changes", "Nothing is to be changed.", "Name at least one setting under changes.", http.StatusBadRequest)
	}
	wrong := map[string]string{}
	for key := range changes {
		if why := fixed(c.Source(key)); why != "" {
			wrong[key] = why
		}
	}
	if len(wrong) > 0 {
		return nil, nil, wrongSettings(wrong)
	}
	fresh, err := editSettings(filepath.Base(c.file), text, changes)
	if err != nil {
		return nil, nil, wrongSettings(byKey(err))
	}
	next, err := c.as(fresh)
	if err != nil {
		return nil, nil, wrongSettings(byKey(err))
	}
	return fresh, next, nil
}

// preview says what a change comes to.
func preview(c, next *Config) *admin.SettingsPreview {
	out := &admin.SettingsPreview{Changed: []admin.SettingChange{}, Restart: []string{}, Warnings: append([]string{}, next.Warnings...)}
	live, restart := c.Changes(next)
	out.Restart = append(out.Restart, restart...)
	was, is := c.Describe(), next.Describe()
	for i := range is {
		if key := is[i].Key; slices.Contains(live, key) || slices.Contains(restart, key) {
			out.Changed = append(out.Changed, admin.SettingChange{Key: key, From: PrintValue(was[i].Value), To: PrintValue(is[i].Value)})
		}
	}
	return out
}

// byKey sorts the errors of settings by the setting that they are about; what
// is about none stands under "".
func byKey(err error) map[string]string {
	out := map[string]string{}
	var walk func(error)
	walk = func(err error) {
		if many, ok := err.(interface{ Unwrap() []error }); ok {
			for _, e := range many.Unwrap() {
				walk(e)
			}
			return
		}
		var s *SettingError
		if !errors.As(err, &s) {
			out[""] = err.Error()
			return
		}
		key, text := settingKeyOf(s.Key), s.Problem
		if s.Value != "" {
			text = fmt.Sprintf("%q: %s", s.Value, text)
		}
		if s.Key != key {
			text = s.Key + ": " + text
		}
		if out[key] != "" {
			text = out[key] + "; " + text
		}
		out[key] = text
	}
	walk(err)
	return out
}

// settingKeyOf returns the setting that a key lies in: pools of pools[1].margin_gb.
func settingKeyOf(key string) string {
	best := ""
	for i := range settings {
		k := settings[i].Key
		if (key == k || strings.HasPrefix(key, k+".") || strings.HasPrefix(key, k+"[")) && len(k) > len(best) {
			best = k
		}
	}
	return cmp.Or(best, key)
}

func wrongSettings(keys map[string]string) error {
	message := "One setting is wrong; nothing was changed."
	if len(keys) > 1 {
		message = fmt.Sprintf("%d settings are wrong; nothing was changed.", len(keys))
	}
	return &admin.SettingsError{Err: admin.Refusal{Code: "settings_wrong", Message: message, Remedy: "Correct it and save again."}, Keys: keys}
}

func refusedSettings(code, message, remedy string, status int) error {
	no := false
	return &dialect.Problem{Status: status, Code: code, Message: message, Remedy: remedy, Retry: &no}
}

// replaceSettings puts a new text in the place of the file at once, never a
// part of it. Its rights stay; a new file, and one that holds keys, is its
// owner's alone.
func replaceSettings(path string, text []byte) error {
	if real, err := filepath.EvalSymlinks(path); err == nil {
		path = real // a link into somebody's dotfiles stays one
	}
	mode := fs.FileMode(0o600)
	if info, err := os.Stat(path); err == nil {
		mode = info.Mode().Perm()
		if p := (&fileParser{name: "", origin: map[string]string{}}); mode&0o077 != 0 {
			if _, err := p.Unmarshal(text); err == nil && p.secrets {
				mode = 0o600
			}
		}
	} else if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		return err
	}
	tmp, err := os.CreateTemp(filepath.Dir(path), desktop.Unfinished)
	if err != nil {
		return err
	}
	defer func() { _ = os.Remove(tmp.Name()) }() // fails harmlessly once renamed
	_, err = tmp.Write(text)
	err = errors.Join(err, tmp.Chmod(mode), tmp.Sync(), tmp.Close())
	if err == nil {
		err = os.Rename(tmp.Name(), path)
	}
	return err
}
