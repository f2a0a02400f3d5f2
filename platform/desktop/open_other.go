//go:build !darwin && !windows

package desktop

func opener(address string) (name string, args []string) { return "xdg-open", []string{address} }
