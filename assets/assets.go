// Package assets holds the files that the program carries with it. It imports
// nothing of ours; whoever needs them gets them passed.
package assets

import (
	"embed"
	"io/fs"
)

//go:embed catalogue/*.yaml
var files embed.FS

// Catalogue returns the files of the catalogue of models, to be laid over each
// other in the order of their names.
func Catalogue() fs.FS {
	sub, err := fs.Sub(files, "catalogue")
	if err != nil {
		panic("assets: " + err.Error()) // the name is a constant
	}
	return sub
}
