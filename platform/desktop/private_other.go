//go:build !windows

package desktop

import (
	"io/fs"
	"os"
)

func exposed(m fs.FileMode) bool { return m.Perm()&0o077 != 0 }

// syncDir makes a rename in dir durable.
func syncDir(dir string) error {
	d, err := os.Open(dir)
	if err != nil {
		return err
	}
	defer d.Close()
	return d.Sync()
}
