package main

import (
	"context"
	"errors"
	"maps"
	"slices"

	"bellwether/engine/admin"
	"bellwether/platform/desktop"
)

// loginItem is the entry that starts the desktop app when its user logs in,
// without opening its window: with the options of this start, so that it is of
// the same data and settings. f may be nil for a command that takes no settings.
func (e *environ) loginItem(f *settingFlags) *desktop.LoginItem {
	return desktop.NewLoginItem(desktop.LoginOptions{Args: []string{"app", "--hidden"}, Flags: e.loginFlags(f)})
}

// loginFlags are the options of this start in a fixed order. What came by the
// environment is among them: a login has another one.
func (e *environ) loginFlags(f *settingFlags) (flags []string) {
	add := func(name, value string) {
		if value != "" {
			flags = append(flags, "--"+name+"="+value)
		}
	}
	add("data-dir", e.cli.DataDir)
	if f == nil {
		return flags
	}
	add("config", f.Config)
	add("listen", f.Listen)
	for _, key := range slices.Sorted(maps.Keys(f.Set)) {
		add("set", key+"="+f.Set[key])
	}
	return flags
}

type loginCmd struct {
	Do string `arg:"" enum:"status,on,off" default:"status" help:"status, on or off."`
}

// Run asks the running engine, which remembers what its owner decided; without
// one it asks the system itself.
func (c *loginCmd) Run(e *environ) error {
	view, err := c.byEngine(e)
	var none *codedError
	if errors.As(err, &none) && none.code == exitNoEngine {
		view, err = c.bySystem(e)
	}
	if err != nil {
		return err
	}
	if e.cli.JSON {
		return e.json(view)
	}
	switch {
	case view.On:
		e.printf("Bellwether starts when you log in (%s).\n", view.Entry)
	case view.Reason != "":
		e.printf("Bellwether does not start when you log in: %s.\n", view.Reason)
		if view.Remedy != "" {
			e.printf("To change that, %s.\n", view.Remedy)
		}
	default:
		e.printf("Bellwether does not start when you log in. Switch it on with bellwether login on.\n")
	}
	return nil
}

func (c *loginCmd) byEngine(e *environ) (view admin.LoginView, err error) {
	client, err := e.engine()
	if err != nil {
		return view, err
	}
	if c.Do == "status" {
		err = client.call("GET", "/admin/login-item", nil, &view)
	} else {
		err = client.call("POST", "/admin/login-item", map[string]bool{"on": c.Do == "on"}, &view)
	}
	return view, err
}

func (c *loginCmd) bySystem(e *environ) (view admin.LoginView, err error) {
	ctx, item := context.Background(), e.loginItem(nil)
	switch c.Do {
	case "on":
		err = item.Enable(ctx)
	case "off":
		err = item.Disable(ctx)
	}
	var no *desktop.LoginError
	if errors.As(err, &no) {
		return view, coded(exitRefused, "%w", no)
	}
	if err != nil {
		return view, err
	}
	s, err := item.Status(ctx)
	return admin.LoginView{Known: s.Known, On: s.On, Can: s.Can, Reason: s.Reason, Remedy: s.Remedy, Entry: s.Entry}, err
}
