package desktop

import (
	"errors"
	"fmt"
	"net/url"
	"os/exec"
)

// OpenURL shows an http or https address in the user's browser. It returns
// when the browser has been told, not when the page is there. Other schemes are
// refused: what opens them is not for us to start.
func OpenURL(address string) error {
	u, err := url.Parse(address)
	if err != nil || (u.Scheme != "http" && u.Scheme != "https") || u.Host == "" {
		return fmt.Errorf("open a page: %q is no web address", address)
	}
	name, args := opener(u.String())
	path, err := exec.LookPath(name)
	if err != nil {
		return fmt.Errorf("open a page: %w", ErrNotAvailable)
	}
	cmd := exec.Command(path, args...)
	if err := cmd.Start(); err != nil {
		return fmt.Errorf("open a page: %w", errors.Join(ErrNotAvailable, err))
	}
	go func() { _ = cmd.Wait() }() // so that it leaves no zombie; it ends by itself
	return nil
}
