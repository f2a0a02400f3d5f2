package admin

import (
	"context"
	"errors"
	"net/http"
)

// Settings is the settings file, as the admin UI reads and changes it. Errors
// of Change are a *SettingsError or a *dialect.Problem.
type Settings interface {
	Settings() SettingsAnswer
	// InForce is the same for the command line, with the file's place and values
	// as plain JSON: an engine.InForce.
	InForce() any
	Change(ctx context.Context, c SettingsChange) (*SettingsPreview, error)
	// Pin puts a model's name, or the id of a deployment of it, on the list of
	// models that are never unloaded for another, or takes it off; it counts when
	// Pin returns. What is so already is no error.
	Pin(ctx context.Context, model string, on bool) error
}

func (a *api) settings(w http.ResponseWriter, _ *http.Request) {
	answer(w, http.StatusOK, a.Settings.Settings())
}

func (a *api) inForce(w http.ResponseWriter, _ *http.Request) {
	answer(w, http.StatusOK, a.Settings.InForce())
}

// changeSettings previews (dry_run) or makes a change.
func (a *api) changeSettings(w http.ResponseWriter, r *http.Request) {
	var c SettingsChange
	if !read(w, r, &c) {
		return
	}
	out, err := a.Settings.Change(r.Context(), c)
	var wrong *SettingsError
	switch {
	case errors.As(err, &wrong):
		answer(w, http.StatusBadRequest, wrong)
	case err != nil:
		trouble(w, err)
	default:
		answer(w, http.StatusOK, out)
	}
}
