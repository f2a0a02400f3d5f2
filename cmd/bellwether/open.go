package main

import (
	"bellwether/engine/admin"
	"bellwether/platform/desktop"
)

type openCmd struct {
	Print bool `help:"Print the address instead of opening a browser. It is good once, for a minute."`
}

// Run opens the admin UI in a browser, unlocked by a one-time link. The link
// is never logged, and stands in no command line but the browser's.
func (c *openCmd) Run(e *environ) error {
	client, err := e.engine()
	if err != nil {
		return err
	}
	var link admin.EnterLink
	if err := client.call("POST", "/admin/enter-link", nil, &link); err != nil {
		return err
	}
	if e.cli.JSON {
		return e.json(link)
	}
	if c.Print {
		e.printf("%s\n", link.URL)
		return nil
	}
	if err := desktop.OpenURL(link.URL); err != nil {
		e.printf("No browser could be opened here. Open this address, within a minute:\n  %s\n", link.URL)
		return nil
	}
	e.printf("The admin UI opens at %s/ui/\n", client.state.Address)
	return nil
}
