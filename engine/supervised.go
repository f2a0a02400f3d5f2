package engine

import (
	"context"
	"time"

	"bellwether/platform/desktop"
)

// reassure tells the supervisor, where there is one, that all is well, for as
// long as no loop hangs: a service whose queue hangs is better started anew.
func (e *Engine) reassure(ctx context.Context, s *desktop.Supervisor) error {
	if s == nil {
		return nil
	}
	tick := time.NewTicker(s.Every)
	defer tick.Stop()
	for {
		if len(e.hangs.Hung()) > 0 {
			e.log.Error("a loop hangs, so the service's supervisor is told nothing and will start Bellwether anew")
		} else if err := s.Alive(); err != nil {
			e.log.Warn("the service's supervisor could not be told that all is well", "err", err)
		}
		select {
		case <-ctx.Done():
			return nil
		case <-tick.C:
		}
	}
}
