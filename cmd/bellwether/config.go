package main

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"strings"
	"text/tabwriter"

	"bellwether/assets"
	"bellwether/engine"
)

type configCmd struct {
	Show  configShowCmd  `cmd:"" default:"withargs" help:"Every setting: value, source, default, unit."`
	Check configCheckCmd `cmd:"" help:"Say whether the settings are right."`
	Path  configPathCmd  `cmd:"" help:"Print where the settings file is looked for."`
}

type configShowCmd struct {
	settingFlags
	Changed bool `help:"Only settings that are not the default."`
}

func (c *configShowCmd) Run(e *environ) error {
	all, err := c.inForce(e)
	if err != nil {
		return err
	}
	shown := []engine.Shown{}
	for _, s := range all {
		if !c.Changed || s.Source != "default" {
			shown = append(shown, s)
		}
	}
	if e.cli.JSON {
		return e.json(shown)
	}
	w := tabwriter.NewWriter(e.out, 2, 0, 2, ' ', 0)
	fmt.Fprintln(w, "KEY\tVALUE\tUNIT\tSOURCE\tDEFAULT")
	for _, s := range shown {
		usual := "the same"
		if s.Source != "default" {
			usual = brief(engine.PrintValue(s.Default))
		}
		fmt.Fprintf(w, "%s\t%s\t%s\t%s\t%s\n", s.Key, brief(engine.PrintValue(s.Value)), s.Unit, s.Source, usual)
	}
	return w.Flush()
}

// inForce returns the settings that the running engine has, or where none runs,
// and where flags say which are meant, those that a start would have. On the
// standard error it says which of both.
func (c *configShowCmd) inForce(e *environ) ([]engine.Shown, error) {
	if !c.given() {
		running, err := e.running()
		if err != nil {
			return nil, err
		}
		if running != nil {
			e.hint("these are the settings of the engine that runs at %s; its file is %s", running.Address, existing(running.File))
			if running.Error != "" {
				e.hint("what the file says now is wrong, so what it said before counts:\n%s", running.Error)
			}
			if len(running.Waiting) > 0 {
				e.hint("changed in the file, and in force after a restart: %s", strings.Join(running.Waiting, ", "))
			}
			return running.Settings, nil
		}
	}
	config, _, err := c.load(e)
	if err != nil {
		return nil, err
	}
	which := "no engine runs here"
	if c.given() {
		which = "flags are given"
	}
	e.hint("%s, so these are the settings that a start would have; the file is %s", which, existing(config.File()))
	return config.Describe(), nil
}

// running asks the engine of the data folder what it runs with; nil = none runs.
func (e *environ) running() (*engine.InForce, error) {
	var raw []byte
	client, err := e.engine()
	if err == nil {
		err = client.call("GET", "/admin/config", nil, &raw)
	}
	var none *codedError
	if errors.As(err, &none) && none.code == exitNoEngine {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	in := json.NewDecoder(bytes.NewReader(raw))
	in.UseNumber() // numbers are printed as they were sent
	var all engine.InForce
	return &all, in.Decode(&all)
}

// hint says to a person what a command's output is of.
func (e *environ) hint(format string, args ...any) {
	fmt.Fprintf(e.err, "bellwether: "+format+"\n", args...)
}

// existing names a file, and says when it is not there.
func existing(path string) string {
	if path == "" {
		return "none"
	}
	if _, err := os.Stat(path); errors.Is(err, fs.ErrNotExist) {
		return path + ", which is not there"
	}
	return path
}

// briefWidth keeps one long list from widening the table; --json has all of it.
const briefWidth = 60

func brief(s string) string {
	if r := []rune(s); len(r) > briefWidth {
		return string(r[:briefWidth-3]) + "..."
	}
	return s
}

type configCheckCmd struct{ settingFlags }

func (c *configCheckCmd) Run(e *environ) error {
	if !c.given() { // an engine that runs may have been started with another file
		if running, err := e.running(); err == nil && running != nil && existing(running.File) == running.File {
			c.Config = running.File
		}
	}
	config, _, err := c.load(e)
	if err != nil {
		return err
	}
	if _, err := engine.ReadCatalogue(assets.Catalogue(), config.OwnCatalogue()); err != nil {
		return coded(exitUsage, "the catalogue is wrong:\n%w", err)
	}
	if e.cli.JSON {
		return e.json(map[string]any{"ok": true, "warnings": config.Warnings})
	}
	for _, w := range config.Warnings {
		e.printf("Note: %s\n", w)
	}
	e.printf("The settings are right. The file is %s\n", existing(config.File()))
	return nil
}

type configPathCmd struct {
	Log bool `help:"Print where the log file is instead."`
}

func (c *configPathCmd) Run(e *environ) error {
	folders, err := e.folders()
	if err != nil {
		return err
	}
	path := configPath(folders)
	if running, err := e.running(); err == nil && running != nil {
		path = running.File // as it was started
	}
	if e.cli.JSON {
		return e.json(map[string]string{"path": path, "log": engine.LogPath(folders)})
	}
	if c.Log {
		path = engine.LogPath(folders)
	}
	e.printf("%s\n", path)
	return nil
}
