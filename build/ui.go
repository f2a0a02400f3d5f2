package main

import (
	"context"
	"errors"
)

// uiTask builds the admin UI into frontend/dist, where a build of bellwether
// embeds it from.
func uiTask(ctx context.Context, _ []string) error {
	const dir = "frontend"
	if !exists(dir + "/package.json") {
		return errors.New("there is no frontend in this checkout yet")
	}
	if !has("npm") {
		return errors.New("npm is missing: install Node.js 20 or later")
	}
	if !upToDate(dir) {
		if err := sh(ctx, nil, "npm", "ci", "--prefix", dir, "--no-audit", "--no-fund"); err != nil {
			return err
		}
	}
	return sh(ctx, nil, "npm", "run", "build", "--prefix", dir)
}
