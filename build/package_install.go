package main

import (
	"path/filepath"
	"slices"
	"strings"
)

// howToInstall are the words that install what was made on this machine, by the
// names of this run: a pattern would take other versions and processors too.
// "" = nothing that was made is for it.
func (r *release) howToInstall(goos, arch string) string {
	if goos != "linux" || !slices.Contains(r.archs, arch) {
		return ""
	}
	var lines strings.Builder
	for _, way := range []struct{ command, ending string }{{"sudo apt install", ".deb"}, {"sudo dnf install", ".rpm"}} {
		files := ""
		for _, product := range []string{"bellwether", "bellwether-window"} {
			if file := filepath.Join(r.out, r.name(product, "linux", arch, way.ending)); exists(file) {
				files += " " + asArgument(file)
			}
		}
		if files != "" {
			lines.WriteString("    " + way.command + files + "\n")
		}
	}
	if lines.Len() == 0 {
		return ""
	}
	return "To install it on this machine, one of:\n" + lines.String()
}

// asArgument writes a file's path so that a shell takes it for one word, and
// apt and dnf for no package's name.
func asArgument(file string) string {
	if !filepath.IsAbs(file) {
		file = "./" + file
	}
	if strings.ContainsAny(file, " \t'\"$`\\&;()<>|*?[#~!{") {
		return "'" + strings.ReplaceAll(file, "'", `'\''`) + "'"
	}
	return file
}
