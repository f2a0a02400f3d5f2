//go:build windows || (darwin && cgo)

package tray

import (
	"context"
	"sync"

	"fyne.io/systray"
)

// hold keeps the icon until ctx ends, or the system ends it.
func (b *bar) hold(ctx context.Context, stop func(), _ Place, _ Options, ready, drawn func()) error {
	var ending sync.WaitGroup
	ending.Go(func() {
		<-ctx.Done()
		drawn() // nothing is changed in a tray that ends
		systray.Quit()
	})
	err := guard(func() { systray.Run(ready, func() {}) })
	stop() // also where the system ended it
	ending.Wait()
	if err != nil {
		b.log.Debug("the tray did not end cleanly", "err", err)
	}
	return nil
}
