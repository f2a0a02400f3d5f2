//go:build !darwin

package desktop

func stayAwake(string) func() { return func() {} }
