// Package frontend holds the admin UI as it was built into dist by
// go run ./build ui. A build without it embeds an empty folder.
package frontend

import (
	"embed"
	"io/fs"
)

//go:embed all:dist
var dist embed.FS

// Dist is the built UI with index.html at its root, or a folder without it
// where the UI was not built.
func Dist() fs.FS {
	sub, err := fs.Sub(dist, "dist")
	if err != nil {
		panic(err) // the folder is part of the program
	}
	return sub
}
