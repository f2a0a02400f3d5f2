package agent

import (
	"context"
	"fmt"

	"bellwether/engine/fleet"
	"bellwether/engine/runtime"
)

// Digest asks a deployment's runtime which weights its name stands for right
// now. able is false for runtimes that cannot say; "" with able is a name that
// it does not know.
func (a *Agent) Digest(ctx context.Context, d fleet.DeploymentID) (digest string, able bool, err error) {
	var ad runtime.Adapter
	if err := a.ask(ctx, func(s *state) {
		if srv := s.servers[d.Runtime]; srv != nil {
			ad = srv.adapter
		}
	}); err != nil {
		return "", false, fmt.Errorf("digest of %s: %w", d.Model, err)
	}
	asked, able := ad.(runtime.Digester)
	if !able {
		return "", false, nil
	}
	digest, err = asked.Digest(ctx, d.Model)
	return digest, true, err
}
