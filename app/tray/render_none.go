//go:build darwin && !cgo

package tray

import "context"

// Run needs cgo on macOS: a build without it has no tray.
func Run(context.Context, Place, Options) error { return ErrNoTray }
