package desktop

import (
	"os/exec"
	"path"
	"path/filepath"
	"strings"
)

// lastingPath says which path an entry may hold for a program that runs from
// path now, so that it is still right after the next restart and the next
// update. goos and env are inputs for tests.
//
//  1. An AppImage runs from a mount that is gone tomorrow: its own file counts.
//  2. Homebrew and Nix put every version in a folder of its own: the link in
//     PATH to this very file counts.
//  3. Temporary folders, go run's and go build's among them, are refused.
//  4. So is what macOS runs from a disk image, or from a random place because it
//     was never moved out of Downloads.
func lastingPath(goos, program string, env func(string) string) (string, *LoginError) {
	if image := env("APPIMAGE"); image != "" && goos == "linux" && below(program, env("APPDIR")) {
		program = image // 1
	}
	program = unversioned(goos, program) // 2
	plain := slashed(goos, program)
	switch {
	case strings.Contains(plain, "/go-build"):
		return "", &LoginError{"this Bellwether was built by go run or go test and is gone tomorrow", "install it, or build it to a place of its own"}
	case goos == "darwin" && strings.Contains(plain, "/apptranslocation/"):
		return "", &LoginError{"macOS runs this Bellwether from a place of the moment, for it was opened where it was downloaded", "move Bellwether to the Applications folder and open it there"}
	case goos == "darwin" && strings.HasPrefix(plain, "/volumes/"):
		return "", &LoginError{"this Bellwether runs from a disk image or an external disk", "move Bellwether to the Applications folder and open it there"}
	case isTemporary(goos, plain, env): // 3
		return "", &LoginError{"this Bellwether stands in a folder for temporary files", "install it, or copy it to a place of its own"}
	}
	return program, nil
}

// unversioned is the link in PATH to a program that stands in a folder of its
// version, else the program itself.
func unversioned(goos, program string) string {
	plain := slashed(goos, program)
	if !strings.Contains(plain, "/cellar/") && !strings.HasPrefix(plain, "/nix/store/") {
		return program
	}
	if link, err := exec.LookPath(filepath.Base(program)); err == nil && filepath.IsAbs(link) && sameFile(link, program) {
		return link
	}
	return program
}

// isTemporary reports whether a slashed path is below a folder that is emptied.
func isTemporary(goos, plain string, env func(string) string) bool {
	dirs := []string{"/tmp", "/var/tmp", "/private/tmp", "/private/var/tmp", "/var/folders", "/private/var/folders", "/dev/shm", "/run/user"}
	if goos == "windows" {
		dirs = []string{env("TEMP"), env("TMP"), env("SystemRoot") + "/temp"}
	} else {
		dirs = append(dirs, env("TMPDIR"))
	}
	for _, dir := range dirs {
		if below(plain, slashed(goos, dir)) {
			return true
		}
	}
	return goos == "windows" && strings.Contains(plain, "/appdata/local/temp/")
}

// slashed is a path in the form in which paths are compared here: with
// slashes, and in lower case where the system does not tell cases apart.
func slashed(goos, p string) string {
	switch goos {
	case "windows":
		return strings.ToLower(strings.ReplaceAll(p, `\`, "/"))
	case "darwin":
		return strings.ToLower(p)
	}
	// Folders of Linux that matter here are in lower case but Homebrew's.
	return strings.Replace(p, "/Cellar/", "/cellar/", 1)
}

// below reports whether a slashed path is inside a folder; "" and the root
// hold nothing.
func below(p, dir string) bool {
	dir = strings.TrimSuffix(path.Clean("/"+dir), "/")
	return dir != "" && strings.HasPrefix(path.Clean("/"+p), dir+"/")
}
