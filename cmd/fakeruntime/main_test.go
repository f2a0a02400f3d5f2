package main

import (
	"io"
	"net/http"
	"strings"
	"testing"

	"github.com/alecthomas/kong"
)

func TestFlagsBecomeARuntimeThatAnswers(t *testing.T) {
	var c cli
	parser, err := kong.New(&c)
	if err != nil {
		t.Fatal(err)
	}
	_, err = parser.Parse([]string{"--memory", "16GB", "--gpu", "1", "--load-rate", "2GB", "--context", "8192",
		"-m", "qwen3:8b=5.2GB,ctx=32768,caps=completion+tools", "-m", "tiny"})
	if err != nil {
		t.Fatal(err)
	}
	fake, err := c.start()
	if err != nil {
		t.Fatal(err)
	}
	defer fake.Close()
	resp, err := http.Get(fake.URL() + "/api/tags")
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	b, _ := io.ReadAll(resp.Body)
	for _, want := range []string{`"name":"qwen3:8b"`, `"size":5583457484`, `"context_length":32768`, `"capabilities":["completion","tools"]`, `"tiny:latest"`} {
		if !strings.Contains(string(b), want) {
			t.Errorf("tags lack %s: %s", want, b)
		}
	}
}

func TestWrongFlagsAreRefused(t *testing.T) {
	for _, args := range [][]string{{"--kind", "vllm"}, {"--memory", "much"}, {"-m", "a", "-m", "a"}, {"--kind", "llama-server", "-m", "a", "-m", "b"}, {"-m", "a,b=c"}} {
		var c cli
		parser, err := kong.New(&c)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := parser.Parse(args); err != nil {
			continue
		}
		if fake, err := c.start(); err == nil {
			fake.Close()
			t.Errorf("%v: started", args)
		}
	}
}
