// Command bellwether is the whole product in one program: `serve` runs the
// engine without a screen, the other subcommands talk to a running one.
package main

import (
	"errors"
	"fmt"
	"io"
	"os"
	"time"

	"github.com/alecthomas/kong"
	kongcompletion "github.com/jotaen/kong-completion"
	"github.com/posener/complete"
)

// version is set by release builds: -ldflags "-X main.version=1.2.3".
var version = "0.1.0-dev"

// Exit codes of every command; they are part of the CLI's contract.
const (
	exitDone     = 0
	exitFailed   = 1
	exitUsage    = 2
	exitNoEngine = 3
	exitRefused  = 4
	exitDegraded = 5
)

const description = `One private model server out of the machines you have. Apps point at http://localhost:11435.

Exit codes: 0 done, 1 failed, 2 wrong use, 3 no engine running, 4 refused, 5 done but degraded.`

type cli struct {
	DataDir string `help:"Folder of the engine's state." env:"FLEET_DATA_DIR" type:"path" placeholder:"DIR"`
	JSON    bool   `help:"Print JSON for programs."`

	Tray       trayCmd                   `cmd:"" aliases:"app" default:"withargs" help:"Run with an icon in the bar; what bellwether alone does."`
	Serve      serveCmd                  `cmd:"" help:"Run the engine without a screen."`
	Status     statusCmd                 `cmd:"" help:"Show this machine, its runtimes, queues and memory."`
	Explain    explainCmd                `cmd:"" help:"Say where a request would go, and why, without running it."`
	Decisions  decisionsCmd              `cmd:"" help:"Show where requests went, and why."`
	Models     modelsCmd                 `cmd:"" help:"List, pull, load, unload, delete and pin models."`
	Probe      probeCmd                  `cmd:"" help:"Ask models what they can do: tools, JSON, images, context ..."`
	Eval       evalCmd                   `cmd:"" help:"Measure how often models are right, task by task."`
	Open       openCmd                   `cmd:"" help:"Open the admin UI, unlocked."`
	Login      loginCmd                  `cmd:"" help:"Start at login, or not; without a word, say which."`
	Pause      pauseCmd                  `cmd:"" help:"Take no new work on this machine."`
	Resume     resumeCmd                 `cmd:"" help:"Take work again."`
	Config     configCmd                 `cmd:"" help:"Show and check the settings."`
	Doctor     doctorCmd                 `cmd:"" help:"Check this machine and say what to mend."`
	Completion kongcompletion.Completion `cmd:"" help:"Print the completion script of your shell."`
	Version    versionCmd                `cmd:"" help:"Print the version."`
	Sandbox    sandboxCmd                `cmd:"" hidden:""`
	Exam       examCmd                   `cmd:"" hidden:""`
}

func main() { os.Exit(run(os.Args[1:], os.Stdin, os.Stdout, os.Stderr)) }

// run is main with its edges named, for tests. It returns the exit code.
func run(args []string, stdin io.Reader, stdout, stderr io.Writer) int {
	return (&environ{in: stdin, out: stdout, err: stderr, cli: new(cli), patience: answerWithin}).run(args)
}

func (e *environ) run(args []string) int {
	printed := &output{to: e.out}
	e.out, e.aside = printed, e.out
	return exitCode(printed.ended(e.command(args)), e.err)
}

// command does what the arguments ask for.
func (e *environ) command(args []string) (err error) {
	exited := -1
	parser, err := kong.New(e.cli, append(mappers(), kong.Name("bellwether"),
		kong.Description(description),
		kong.Writers(e.out, e.err), kong.UsageOnError(), kong.Bind(e), kong.Exit(func(code int) { exited = code; panic(exit{}) }))...)
	if err != nil {
		return err
	}
	switch {
	case len(args) == 1 && args[0] == "help":
		args = []string{"--help"}
	case len(args) == 1 && args[0] == "--version":
		args = []string{"version"}
	case len(args) > 0 && args[0] == "help": // help COMMAND
		args = append(args[1:], "--help")
	}
	defer func() { // --help and a shell's question for completions end by Exit
		switch r := recover(); r.(type) {
		case nil:
		case exit:
			if err = nil; exited != exitDone {
				err = coded(exited, "")
			}
		default:
			panic(r)
		}
	}()
	kongcompletion.Register(parser,
		kongcompletion.WithPredictor("model", complete.PredictFunc(e.knownModels)),
		kongcompletion.WithPredictor("task", complete.PredictFunc(suites)))
	ctx, err := parser.Parse(args)
	if err != nil {
		return coded(exitUsage, "%w\nRun bellwether --help for the commands.", wrongUse(err))
	}
	return ctx.Run(e)
}

type exit struct{}

// environ is what commands read from and print to.
type environ struct {
	in       io.Reader
	out, err io.Writer
	aside    io.Writer // out for what is said while something runs; losing it is no failure
	cli      *cli
	patience time.Duration // with an engine that may hang
}

func (e *environ) printf(format string, args ...any) { fmt.Fprintf(e.out, format, args...) }

// codedError is an error with the exit code it means.
type codedError struct {
	code int
	err  error
}

func (e *codedError) Error() string { return e.err.Error() }
func (e *codedError) Unwrap() error { return e.err }

func coded(code int, format string, args ...any) error {
	return &codedError{code, fmt.Errorf(format, args...)}
}

func exitCode(err error, stderr io.Writer) int {
	if err == nil {
		return exitDone
	}
	if err.Error() != "" {
		fmt.Fprintln(stderr, "bellwether:", err)
	}
	var c *codedError
	if errors.As(err, &c) {
		return c.code
	}
	return exitFailed
}

type versionCmd struct{}

func (versionCmd) Run(e *environ) error {
	if e.cli.JSON {
		return e.json(map[string]string{"version": version})
	}
	e.printf("bellwether %s\n", version)
	return nil
}
