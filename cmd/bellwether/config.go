package main

import (
	"fmt"
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
	config, _, err := c.load(e)
	if err != nil {
		return err
	}
	shown := []engine.Shown{}
	for _, s := range config.Describe() {
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
	e.printf("The settings are right.\n")
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
	if e.cli.JSON {
		return e.json(map[string]string{"path": configPath(folders), "log": engine.LogPath(folders)})
	}
	path := configPath(folders)
	if c.Log {
		path = engine.LogPath(folders)
	}
	e.printf("%s\n", path)
	return nil
}
