package store

import (
	"bufio"
	"context"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"testing"

	"go.uber.org/goleak"
)

// childMode, in the environment, makes this test program one of the other
// processes that the tests start, kill and race against.
const childMode = "BELLWETHER_STORE_CHILD"

func TestMain(m *testing.M) {
	if mode, path, ok := strings.Cut(os.Getenv(childMode), ":"); ok {
		if err := child(mode, path); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		os.Exit(0)
	}
	// Few random histories in an everyday run; -rapid.checks=1000 for many.
	if err := flag.Set("rapid.checks", "12"); err != nil {
		panic(err)
	}
	goleak.VerifyTestMain(m)
}

// child writes records with ids req_<from>... and says on stdout what is in
// the file, until it is killed or its count is reached.
func child(mode, path string) error {
	from, count := 0, 1<<30
	if mode == "hundred" {
		from, count = 1_000_000, 100
	}
	s, err := Open(path, Options{Now: atEpoch})
	if err != nil {
		return err
	}
	ctx, stop := context.WithCancel(context.Background())
	defer stop()
	ended := make(chan error, 1)
	go func() { ended <- s.Run(ctx) }()
	for n := from; n < from+count; n++ {
		s.Record(record(n))
		if err := s.SaveLedger([]byte("ledger " + strconv.Itoa(n))); err != nil {
			return err
		}
		fmt.Println("ledger", n)
		if n%10 == 9 {
			if err := s.Flush(ctx); err != nil {
				return err
			}
			fmt.Println("flushed", n)
		}
	}
	stop()
	if err := <-ended; err != nil {
		return err
	}
	return s.Close()
}

// startChild runs this test program as another process.
func startChild(t *testing.T, mode, path string) (*exec.Cmd, *bufio.Scanner) {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), os.Args[0])
	cmd.Env = append(os.Environ(), childMode+"="+mode+":"+path)
	cmd.Stderr = os.Stderr
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	return cmd, bufio.NewScanner(out)
}
