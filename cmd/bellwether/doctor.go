package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"net"
	"os"
	"slices"
	"strconv"
	"strings"
	"time"

	"bellwether/app"
	"bellwether/assets"
	"bellwether/engine"
	"bellwether/engine/admin"
	"bellwether/engine/fleet"
)

type doctorCmd struct {
	Bundle string `help:"Write what helps to find a fault into this zip file, without secrets, prompts and places." type:"path" placeholder:"FILE"`
	Names  bool   `help:"Leave the names of machines in the bundle."`
}

func (c *doctorCmd) Run(e *environ) error {
	if c.Bundle != "" {
		return c.bundle(e)
	}
	return c.examine(e)
}

// bundle asks the running engine for a support bundle. Only its owner may read
// the file, and one that is there is not written over.
func (c *doctorCmd) bundle(e *environ) error {
	client, err := e.engine()
	if err != nil {
		return err
	}
	var zip []byte
	path := "/admin/bundle"
	if c.Names {
		path += "?names=yes"
	}
	if err := client.await("GET", path, nil, &zip); err != nil {
		return err
	}
	file, err := os.OpenFile(c.Bundle, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if errors.Is(err, fs.ErrExist) {
		return coded(exitRefused, "%s is there already: name another file", c.Bundle)
	}
	if err != nil {
		return fmt.Errorf("write the bundle: %w", err)
	}
	_, err = file.Write(zip)
	if err := errors.Join(err, file.Close()); err != nil {
		return fmt.Errorf("write the bundle: %w", err)
	}
	if e.cli.JSON {
		return e.json(map[string]any{"path": c.Bundle, "bytes": len(zip)})
	}
	e.printf("%s holds %s: look through it before you send it.\n", c.Bundle, fleet.Bytes(int64(len(zip))))
	return nil
}

func (c *doctorCmd) examine(e *environ) error {
	client, err := e.engine()
	var findings []admin.Finding
	if err == nil {
		err = client.await("GET", "/admin/doctor", nil, &findings)
	}
	var none *codedError
	switch {
	case errors.As(err, &none) && (none.code == exitNoEngine || errors.Is(err, errHangs)):
		findings = e.examine(err)
	case err != nil:
		return err
	}
	folders, _ := e.folders() // whoever has none was refused above
	if f, said := app.TrayFinding(context.Background(), folders); said {
		// Of the session that asks, and of now: what the icon's program has told the
		// engine may be older. That the icon is stuck only that one knows.
		findings = slices.DeleteFunc(findings, func(told admin.Finding) bool { return told.ID == f.ID && told.Severity != "warning" })
		findings = append(findings, f)
	}
	if e.cli.JSON {
		if err := e.json(findings); err != nil {
			return err
		}
	} else {
		e.printFindings(findings)
	}
	if none != nil {
		return coded(none.code, "")
	}
	for _, f := range findings {
		if f.Severity == "broken" || f.Severity == "warning" {
			return coded(exitDegraded, "")
		}
	}
	return nil
}

// examine looks at the machine where no engine can be asked; absent says why not.
func (e *environ) examine(absent error) []admin.Finding {
	findings := []admin.Finding{{ID: "engine", Severity: "broken", Text: absent.Error()}}
	config, folders, err := (&settingFlags{}).load(e)
	if err != nil {
		findings = append(findings, admin.Finding{ID: "settings", Severity: "broken", Text: err.Error()})
	} else if _, err := engine.ReadCatalogue(assets.Catalogue(), config.OwnCatalogue()); err != nil {
		findings = append(findings, admin.Finding{ID: "catalogue", Severity: "broken", Text: "The catalogue is wrong:\n" + err.Error()})
	}
	if config != nil && !errors.Is(absent, errHangs) { // an engine that hangs holds its port itself
		findings = append(findings, heldPort(config.Listen)...)
	}
	if !errors.Is(absent, errHangs) {
		findings = append(findings, engine.ExamineStore(context.Background(), folders)...)
	}
	findings = append(findings, engine.ExaminePolicy(folders)...)
	return append(findings, engine.Examine(context.Background(), config)...)
}

// heldWithin is how long whoever holds a port may take to take a connection.
const heldWithin = time.Second

// heldPort says who holds the address that apps look at, if anyone does.
func heldPort(listen string) []admin.Finding {
	host, text, err := net.SplitHostPort(listen)
	port, wrong := strconv.Atoi(text)
	if err != nil || wrong != nil || port == 0 {
		return nil
	}
	if ip := net.ParseIP(host); host == "" || ip != nil && ip.IsUnspecified() {
		host = "localhost"
	}
	conn, err := net.DialTimeout("tcp", net.JoinHostPort(host, text), heldWithin)
	if err != nil {
		return nil // it is free
	}
	_ = conn.Close()
	who, remedy := portOwner(port), "end it, or serve elsewhere with --listen or the setting listen"
	if who == "bellwether" {
		remedy = "it serves another data folder: name that one with --data-dir, or end it"
	}
	return []admin.Finding{{ID: "port", Severity: "broken", Text: cmp.Or(who, "another program") + " holds " + net.JoinHostPort(host, text) + ", where apps look for Bellwether", Remedy: remedy}}
}

func (e *environ) printFindings(findings []admin.Finding) {
	for _, f := range findings {
		e.printf("%-8s %s\n", strings.ToUpper(f.Severity), strings.ReplaceAll(f.Text, "\n", "\n         "))
		if f.Remedy != "" {
			e.printf("         %s\n", f.Remedy)
		}
	}
}
