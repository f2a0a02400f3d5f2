package desktop

import (
	"errors"
	"net"
	"os"
	"testing"
)

func TestOwnerOfAPortIsTheProcessThatListens(t *testing.T) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	port := l.Addr().(*net.TCPAddr).Port
	owner, err := OwnerOfPort(t.Context(), port)
	if err != nil {
		t.Fatal(err)
	}
	if int(owner.PID) != os.Getpid() || owner.Name == "" {
		t.Errorf("owner of our own port = %+v, want pid %d", owner, os.Getpid())
	}
	if err := l.Close(); err != nil {
		t.Fatal(err)
	}
	if _, err := OwnerOfPort(t.Context(), port); !errors.Is(err, ErrNoOwner) {
		t.Errorf("owner of a closed port: error %v, want ErrNoOwner", err)
	}
}
