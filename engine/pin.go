package engine

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"slices"

	"bellwether/engine/admin"
	"bellwether/engine/dialect"
	"bellwether/engine/fleet"
)

const pinnedKey = "routing.pinned_models"

// Pin puts a model on the list of pinned ones in the settings file, or takes it
// off. It is the file's list that changes, whatever a draft of the settings page
// says: there is no revision to be behind.
func (d settingsDesk) Pin(ctx context.Context, model string, on bool) error {
	d.e.saving.Lock()
	defer d.e.saving.Unlock()
	c, err := d.current(ctx)
	if err != nil {
		return err
	}
	was := c.Routing.PinnedModels
	name, known := d.modelNamed(model)
	named := func(m string) bool { return fleet.SameModel(m, name) }
	if !known && !slices.ContainsFunc(was, named) {
		no := false
		return &dialect.Problem{Status: http.StatusNotFound, Code: "no_such_model", Message: "No machine has the model " + printableName(model) + ".",
			Remedy: "Pull it first; bellwether models lists those that are here.", Retry: &no}
	}
	if slices.ContainsFunc(was, named) == on {
		return nil
	}
	is := slices.DeleteFunc(slices.Clone(was), named)
	if on {
		is = append(is, name)
	}
	ask := admin.SettingsChange{Revision: c.revision, Changes: map[string]*string{pinnedKey: nil}}
	if len(is) > 0 {
		text, err := json.Marshal(is)
		if err != nil {
			return fmt.Errorf("write the pinned models: %w", err)
		}
		list := string(text)
		ask.Changes[pinnedKey] = &list
	}
	_, err = d.change(ctx, c, ask)
	var wrong *admin.SettingsError
	if errors.As(err, &wrong) && wrong.Keys[pinnedKey] != "" { // a variable is over the file, say
		return refusedSettings(wrong.Err.Code, wrong.Keys[pinnedKey], "Change it there.", http.StatusConflict)
	}
	return err
}

// modelNamed finds a model by its name, or by a deployment's id.
func (d settingsDesk) modelNamed(s string) (name string, known bool) {
	snap := d.e.registry.Snapshot()
	for i := range snap.Nodes {
		if dep := deploymentNamed(&snap.Nodes[i], s); dep != nil {
			return dep.ID.Model, true
		}
	}
	if id, ok := fleet.ParseDeploymentID(s); ok {
		return id.Model, false
	}
	return s, false
}
