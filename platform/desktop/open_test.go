package desktop

import (
	"errors"
	"testing"
)

func TestOnlyWebAddressesAreOpened(t *testing.T) {
	t.Setenv("PATH", t.TempDir()) // nothing is there to open any
	for _, address := range []string{"", "file:///etc/passwd", "javascript:alert(1)", "-h", "http://", "localhost:11435", "x\x00://a"} {
		if err := OpenURL(address); err == nil || errors.Is(err, ErrNotAvailable) {
			t.Errorf("%q: %v", address, err)
		}
	}
	if err := OpenURL("http://localhost:11435/ui/"); !errors.Is(err, ErrNotAvailable) {
		t.Errorf("without an opener: %v", err)
	}
}
