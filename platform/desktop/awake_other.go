//go:build !darwin

package desktop

// beginActivity does nothing where no system naps.
func beginActivity(uint64, string) (end func()) { return nil }
