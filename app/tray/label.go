package tray

import "strings"

// literal is a label as the menus of a system take it, so that they show every
// character of it. Some read one of them as the mark of an access key, and
// leave it out:
//
//	_  dbusmenu, on Linux and the BSDs
//	&  Windows
//
// Twice is once as it stands. macOS has no such mark.
func literal(goos, label string) string {
	switch goos {
	case "darwin":
		return label
	case "windows":
		return strings.ReplaceAll(label, "&", "&&")
	}
	return strings.ReplaceAll(label, "_", "__")
}
