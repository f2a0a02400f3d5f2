// Command fakeruntime runs a stand-in inference server on a real socket: for
// the demo, for benchmarks, and for trying clients without a model.
//
//	fakeruntime --addr 127.0.0.1:11434 -m tiny -m 'qwen3:8b=5.2GB,ctx=32768,caps=completion+tools' --decode 40
//
// POST /__control slows and breaks it while it runs.
package main

import (
	"context"
	"fmt"
	"os"
	"os/signal"
	"syscall"
	"time"

	"github.com/alecthomas/kong"

	"bellwether/engine/runtime/runtimetest"
)

type cli struct {
	Kind      string        `enum:"ollama,llama-server" default:"ollama" help:"Whose wire format: ${enum}."`
	Router    bool          `help:"llama-server in router mode."`
	Addr      string        `default:"127.0.0.1:0" help:"Where to listen."`
	Model     []string      `short:"m" sep:"none" default:"tiny" help:"A model: name[=size][,ctx=N][,caps=completion+tools][,params=8B][,quant=Q4_K_M][,tokens=N][,width=N][,coding=0.9]. Repeatable."`
	Parallel  int           `default:"1" help:"Slots of each loaded model."`
	MaxLoaded int           `help:"Most models loaded at once (default: 3, in router mode 1)."`
	Context   int           `default:"4096" help:"Tokens per slot when a request asks for nothing else."`
	KeepAlive time.Duration `default:"5m" help:"How long an idle model stays."`
	Memory    bytes         `help:"What all loaded models must fit in, like 16GB (default: no limit)."`
	GPU       float64       `name:"gpu" help:"Share of a loaded model in VRAM, 0 to 1."`
	LoadRate  bytes         `help:"Bytes a load reads per second, like 2GB (default: instant)."`
	PullRate  bytes         `help:"Bytes a pull fetches per second (default: instant)."`
	Prefill   float64       `help:"Prompt tokens per second (default: unpaced)."`
	Decode    float64       `help:"Output tokens per second and slot (default: unpaced)."`
	APIKey    string        `name:"api-key" help:"llama-server: the key requests must bring."`
	Replay    string        `type:"existingdir" help:"Directory of recordings to answer equal requests with."`
	Exam      string        `type:"existingfile" help:"Questions, as bellwether exam writes them, that models answer right as often as their strength says (coding=0.9)."`
	Log       int           `default:"100" help:"Requests that the log behind /__control remembers."`
}

func main() {
	var c cli
	k := kong.Parse(&c, kong.Name("fakeruntime"), kong.Description("A stand-in inference server."))
	k.FatalIfErrorf(c.run())
}

func (c *cli) run() error {
	fake, err := c.start()
	if err != nil {
		return err
	}
	defer fake.Close()
	fmt.Println(fake.URL())
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	<-ctx.Done()
	return nil
}

func (c *cli) start() (*runtimetest.Fake, error) {
	config := runtimetest.FakeConfig{Kind: c.Kind, Router: c.Router, Addr: c.Addr, Parallel: c.Parallel,
		MaxLoaded: c.MaxLoaded, Context: c.Context, KeepAlive: c.KeepAlive, MemoryBytes: int64(c.Memory), GPU: c.GPU,
		LoadBytesPerSecond: float64(c.LoadRate), PullBytesPerSecond: float64(c.PullRate), PrefillRate: c.Prefill, DecodeRate: c.Decode,
		APIKey: c.APIKey, RecordingsDir: c.Replay, KeepRequests: c.Log}
	for _, spec := range c.Model {
		m, err := parseModel(spec)
		if err != nil {
			return nil, err
		}
		config.Models = append(config.Models, m)
	}
	if c.Exam != "" {
		file, err := os.Open(c.Exam)
		if err != nil {
			return nil, err
		}
		defer file.Close()
		if config.Exam, err = runtimetest.ReadExam(file); err != nil {
			return nil, err
		}
	}
	fake, err := runtimetest.NewFake(config)
	if err != nil {
		return nil, err
	}
	return fake, fake.Start()
}
