package measure

import (
	"fmt"
	"os"
	"testing"
)

// sandboxEnv makes the test binary be a sandbox, as bellwether sandbox is. A
// program built with the race detector otherwise sleeps a second before it
// ends, and some hundred sandboxes end here.
var sandboxEnv = []string{"BELLWETHER_TEST_SANDBOX=1", "GORACE=atexit_sleep_ms=0"}

func TestMain(m *testing.M) {
	if os.Getenv("BELLWETHER_TEST_SANDBOX") == "1" {
		if err := ServeSandbox(os.Stdin, os.Stdout); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		os.Exit(0)
	}
	os.Exit(m.Run())
}

func testGrader() *Grader {
	return &Grader{Sandbox: Sandbox{Command: []string{os.Args[0]}, Env: sandboxEnv}}
}
