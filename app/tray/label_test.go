package tray

import "testing"

// T-08: a name is shown as it is, also with a character that a menu would eat.
func TestNamesAreShownWithEveryCharacter(t *testing.T) {
	const label = "Unload qwen_2_5 R&D"
	for goos, want := range map[string]string{
		"linux":   "Unload qwen__2__5 R&D",
		"freebsd": "Unload qwen__2__5 R&D",
		"windows": "Unload qwen_2_5 R&&D",
		"darwin":  label,
	} {
		if got := literal(goos, label); got != want {
			t.Errorf("%s: %q, want %q", goos, got, want)
		}
	}
}
