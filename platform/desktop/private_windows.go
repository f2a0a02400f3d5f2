package desktop

import "io/fs"

// exposed is always false: Windows has rights lists instead of mode bits, and
// the folders of DefaultFolders are private to their user.
func exposed(fs.FileMode) bool { return false }

// syncDir does nothing: Windows keeps directory entries with the rename.
func syncDir(string) error { return nil }
