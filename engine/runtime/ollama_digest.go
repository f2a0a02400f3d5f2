package runtime

import (
	"context"
	"fmt"

	"bellwether/engine/fleet"
)

// Digester is an adapter that can say at any moment which weights a model's
// name stands for. An inventory is a few seconds old, and a model may have been
// pulled again meanwhile.
type Digester interface {
	// Digest returns the digest of what is installed under the name, which is what
	// the next request gets; "" when the runtime does not know the name.
	Digest(ctx context.Context, model string) (string, error)
}

// Digest asks tags, and not ps: a model that was pulled again goes on standing
// there as it was, beside what it has become. It costs a few milliseconds with
// many models installed.
func (o *Ollama) Digest(ctx context.Context, model string) (string, error) {
	var list struct{ Models []ollamaTag }
	if err := o.remote.get(ctx, "/api/tags", &list); err != nil {
		return "", fmt.Errorf("digest of %s: %w", model, err)
	}
	for i := range list.Models {
		if m := &list.Models[i]; fleet.SameModel(m.Name, model) {
			return m.Digest, nil
		}
	}
	return "", nil
}
