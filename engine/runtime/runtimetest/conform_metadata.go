package runtimetest

import (
	"context"
	"net/http"
	"strings"
	"testing"
	"time"

	"bellwether/engine/fleet"
	"bellwether/engine/runtime"
)

// conformMetadata: what is there, what it can do, what is loaded.
func conformMetadata(t *testing.T, s Setup) {
	t.Run("recognised by its kind alone", func(t *testing.T) {
		b := s.bench(t, FakeModel{})
		id, err := b.adapter.Identify(b.Context())
		if err != nil || id.Kind != s.kind() || id.Router != s.Fake.Router {
			t.Errorf("got %+v, %v", id, err)
		}
		found, err := runtime.Recognise(b.Context(), runtime.Target{URL: b.fake.URL(), APIKey: s.Fake.APIKey})
		if err != nil || found != id {
			t.Errorf("recognised as %+v, %v", found, err)
		}
	})
	t.Run("looking loads nothing", func(t *testing.T) {
		b := s.bench(t, FakeModel{}, FakeModel{Name: "other"})
		loads := b.fake.Loads(b.model)
		for range 3 {
			b.inventory()
			if _, err := b.adapter.Identify(b.Context()); err != nil {
				t.Error(err)
			}
		}
		if b.fake.Loads(b.model) != loads || b.fake.Loads("other") != 0 {
			t.Error("an observation loaded a model")
		}
		if n := b.fake.MaxRunning(b.model); n != 0 {
			t.Errorf("an observation took %d slots", n)
		}
	})
	t.Run("each model says what it can do", func(t *testing.T) { conformCapabilities(t, s) })
	t.Run("loaded, used and unloaded as observed", func(t *testing.T) { conformResidency(t, s) })
	t.Run("a load under way is a state", func(t *testing.T) {
		b := s.bench(t, FakeModel{LoadBytesPerSecond: 1 << 30})
		b.inventory()
		b.fake.Inject(Fault{LoadDelay: time.Hour})
		if s.single() {
			b.fake.Close()
			if err := b.fake.Start(); err != nil {
				t.Fatal(err)
			}
			if d := b.deployment(); d.Residency != fleet.Loading {
				t.Errorf("got %v", d.Residency)
			}
			return
		}
		ctx, cancel := context.WithCancel(b.Context())
		ended := make(chan error, 1)
		go func() { ended <- b.adapter.Load(ctx, b.model, runtime.LoadOptions{}) }()
		b.await("the load begins", func() bool { return b.fake.loadingNow(b.model) })
		if d := b.deployment(); d.Residency == fleet.Loaded {
			t.Error("a model that is being loaded is called loaded")
		}
		cancel()
		if err := <-ended; err == nil {
			t.Error("a cancelled load ended well")
		}
	})
	t.Run("a load that fails says why", func(t *testing.T) {
		if s.single() {
			t.Skip("a single server's model loads when it starts")
		}
		b := s.bench(t, FakeModel{Broken: "unsupported model architecture"})
		err := b.adapter.Load(b.Context(), b.model, runtime.LoadOptions{})
		if f := b.failure(err); f.Class != fleet.FailLoad || f.Caller {
			t.Errorf("got %+v", f)
		}
	})
	t.Run("a missing model is missing", func(t *testing.T) {
		if s.single() {
			t.Skip("a single server takes any name")
		}
		b := s.bench(t, FakeModel{})
		f := b.failure(b.adapter.Load(b.Context(), "nope", runtime.LoadOptions{}))
		if f.Code != runtime.CodeModelNotFound {
			t.Errorf("got %+v", f)
		}
	})
	t.Run("a half answer is no observation", func(t *testing.T) {
		b := s.bench(t, FakeModel{})
		if err := b.adapter.Load(b.Context(), b.model, runtime.LoadOptions{}); err != nil {
			t.Fatal(err)
		}
		if s.ollama() {
			b.fake.Inject(Fault{Path: "/api/ps", EmptyEntries: true, Times: 1})
			if inv, err := b.adapter.Inventory(b.Context()); err == nil {
				t.Errorf("a half-empty entry was believed: %+v", inv.Deployments)
			}
		}
		for _, body := range []string{`{"models":[{"na`, `<html>`, ``} {
			b.fake.Inject(Fault{Path: "*", Status: 200, Body: body, Times: 1})
			if _, err := b.adapter.Inventory(b.Context()); err == nil {
				t.Errorf("%q was believed", body)
			}
		}
		b.inventory()
	})
	t.Run("one connection for all observations", func(t *testing.T) {
		b := s.bench(t, FakeModel{})
		b.inventory()
		b.inventory()
		before := b.fake.serving.connections()
		for range 10 {
			b.inventory()
		}
		if after := b.fake.serving.connections(); after > before {
			t.Errorf("%d connections became %d", before, after)
		}
	})
	t.Run("nothing of a client reaches the runtime", func(t *testing.T) {
		b := s.bench(t, FakeModel{})
		b.must(b.chat("hi", false))
		for _, r := range b.fake.Requests() {
			for name := range r.Header {
				switch name {
				case "Content-Type", "Content-Length", "User-Agent", runtime.HeaderRouter:
				case "Authorization":
					if r.Header.Get(name) != "Bearer "+s.Fake.APIKey {
						t.Errorf("%s: %s", name, r.Header.Get(name))
					}
				default:
					t.Errorf("%s %s was sent %s", r.Method, r.Path, name)
				}
			}
		}
	})
	if s.Fake.Kind == LlamaServer {
		t.Run("a wrong key is the node's fault, not the caller's", func(t *testing.T) {
			keyed := s
			keyed.Fake.APIKey = "sesame"
			b := keyed.bench(t, FakeModel{})
			b.must(b.chat("hi", true))
			wrong := s.Open(t, runtime.Target{Name: "wrong", Kind: s.kind(), URL: b.fake.URL(), APIKey: "other"})
			defer wrong.(runtime.Closer).Close()
			_, err := wrong.Inventory(b.Context())
			if f := b.failure(err); f.Status != http.StatusUnauthorized || f.Caller || f.Code != runtime.CodeUnauthorized {
				t.Errorf("got %+v", f)
			}
		})
	}
}

func (s Setup) kind() string {
	if s.ollama() {
		return runtime.KindOllama
	}
	return runtime.KindLlamaServer
}

func conformCapabilities(t *testing.T, s Setup) {
	for _, c := range []struct {
		words []string
		yes   []fleet.Capability
		no    []fleet.Capability
	}{
		{[]string{"completion"}, []fleet.Capability{fleet.CapChat, fleet.CapJSONObject, fleet.CapJSONSchema, fleet.CapStreaming},
			[]fleet.Capability{fleet.CapEmbedding, fleet.CapVision}},
		{[]string{"completion", "tools"}, []fleet.Capability{fleet.CapChat, fleet.CapTools, fleet.CapToolChoiceRequired}, []fleet.Capability{fleet.CapVision}},
		{[]string{"completion", "vision"}, []fleet.Capability{fleet.CapVision}, []fleet.Capability{fleet.CapEmbedding}},
		{[]string{"completion", "thinking"}, []fleet.Capability{fleet.CapThinking}, []fleet.Capability{fleet.CapVision}},
		{[]string{"embedding"}, []fleet.Capability{fleet.CapEmbedding}, []fleet.Capability{fleet.CapChat}},
	} {
		b := s.bench(t, FakeModel{Capabilities: c.words, EmbeddingWidth: 96, Context: 8192})
		if s.Fake.Router && c.words[0] == "completion" {
			if err := b.adapter.Load(b.Context(), b.model, runtime.LoadOptions{}); err != nil {
				t.Fatal(err)
			}
		}
		if s.Fake.Router && c.words[0] == "embedding" {
			continue // how a router starts its models is its owner's affair
		}
		d := b.deployment()
		for _, name := range c.yes {
			if got := d.Can(name); got.Support != fleet.Yes || got.Source == fleet.SourceNone {
				t.Errorf("%v: %s is %v from %v", c.words, name, got.Support, got.Source)
			}
		}
		for _, name := range c.no {
			if got := d.Can(name); got.Support == fleet.Yes {
				t.Errorf("%v: %s is claimed", c.words, name)
			}
		}
		if d.Kind != s.kind() || d.MaxContext <= 0 || d.ID.Runtime != "under-test" || d.ID.Model != b.model {
			t.Errorf("%v: got %+v", c.words, d)
		}
	}
}

func conformResidency(t *testing.T, s Setup) {
	s.Fake.GPU = 0.5
	b := s.bench(t, FakeModel{}, FakeModel{Name: "other"})
	if !s.single() {
		if d := b.deployment(); d.Residency != fleet.OnDisk {
			t.Fatalf("at first: %v", d.Residency)
		}
	}
	started := time.Now()
	if err := b.adapter.Load(b.Context(), b.model, runtime.LoadOptions{Context: 2048}); err != nil {
		t.Fatal(err)
	}
	inv := b.inventory()
	if !inv.ReportsResidency || inv.StartedAt.Before(started) {
		t.Errorf("observed at %v, reports %v", inv.StartedAt, inv.ReportsResidency)
	}
	d := b.deployment()
	if d.Residency != fleet.Loaded || d.LoadedContext == 0 {
		t.Errorf("loaded: %+v", d)
	}
	if s.ollama() && (d.ResidentBytes == 0 || d.ResidentVRAM <= 0 || d.ResidentVRAM >= d.ResidentBytes || d.ExpiresAt.IsZero() || d.LoadedContext != 2048 || d.KVBytesToken == 0) {
		t.Errorf("loaded: %+v", d)
	}
	if !s.ollama() && d.Slots < 1 {
		t.Errorf("no slots: %+v", d)
	}
	if err := b.adapter.Load(b.Context(), b.model, runtime.LoadOptions{Context: 2048}); err != nil {
		t.Errorf("loading what is loaded: %v", err)
	}
	if n := b.fake.Loads(b.model); n != 1 {
		t.Errorf("%d loads", n)
	}
	err := b.adapter.Unload(b.Context(), b.model)
	if s.single() {
		if err == nil {
			t.Error("a single server cannot unload, and said nothing")
		}
		return
	}
	if err != nil {
		t.Fatal(err)
	}
	b.await("it is gone", func() bool { return len(b.fake.Loaded()) == 0 })
	if d := b.deployment(); d.Residency != fleet.OnDisk {
		t.Errorf("after unloading: %v", d.Residency)
	}
	if err := b.adapter.Unload(b.Context(), b.model); err != nil {
		t.Errorf("unloading what is not loaded: %v", err)
	}
}

// conformManagement: pull, copy, delete, create, blobs, where there are any.
func conformManagement(t *testing.T, s Setup) {
	b := s.bench(t, FakeModel{})
	m, ok := b.adapter.(runtime.Manager)
	if !ok {
		t.Skip("this runtime manages no models")
	}
	ctx := b.Context()
	last := runtime.PullProgress{}
	steps := 0
	if err := m.Pull(ctx, "new", func(p runtime.PullProgress) { last = p; steps++ }); err != nil || last.Status != "success" || steps < 3 {
		t.Errorf("pull: %v, %d steps, last %+v", err, steps, last)
	}
	if _, err := m.Show(ctx, "new", false); err != nil {
		t.Errorf("show: %v", err)
	}
	if err := m.Copy(ctx, "new", "newer"); err != nil {
		t.Errorf("copy: %v", err)
	}
	if err := m.Delete(ctx, "newer"); err != nil {
		t.Errorf("delete: %v", err)
	}
	for what, err := range map[string]error{
		"delete": m.Delete(ctx, "newer"),
		"copy":   m.Copy(ctx, "newer", "x"),
	} {
		if f := b.failure(err); f.Code != runtime.CodeModelNotFound {
			t.Errorf("%s of a missing model: %+v", what, f)
		}
	}
	if _, err := m.Show(ctx, "newer", false); b.failure(err).Code != runtime.CodeModelNotFound {
		t.Errorf("show of a missing model: %v", err)
	}
	b.fake.Inject(Fault{Path: "/api/pull", Break: BreakError, After: 1, Times: 1})
	if err := m.Pull(ctx, "third", nil); err == nil {
		t.Error("a pull that failed in its middle ended well")
	}
	b.fake.Inject(Fault{Path: "/api/pull", Break: BreakEnd, After: 1, Times: 1})
	if err := m.Pull(ctx, "third", nil); err == nil {
		t.Error("a pull that just ended ended well")
	}
	for _, digest := range []string{"", "sha256:", "sha256:../../etc/passwd", "sha256:" + strings.Repeat("A", 64), "sha256:" + strings.Repeat("a", 63) + "/", "md5:" + strings.Repeat("a", 64)} {
		before := len(b.fake.Requests())
		if _, err := m.HasBlob(ctx, digest); err == nil {
			t.Errorf("digest %q was asked for", digest)
		}
		if err := m.PutBlob(ctx, digest, strings.NewReader("x")); err == nil {
			t.Errorf("digest %q was put", digest)
		}
		if len(b.fake.Requests()) != before {
			t.Errorf("digest %q reached a URL", digest)
		}
	}
	const hello = "sha256:2cf24dba5fb0a30e26e83b2ac5b9e29e1b161e5c1fa7425e73043362938b9824"
	if has, err := m.HasBlob(ctx, hello); has || err != nil {
		t.Errorf("a blob before it was put: %v, %v", has, err)
	}
	if err := m.PutBlob(ctx, hello, strings.NewReader("hello")); err != nil {
		t.Errorf("put: %v", err)
	}
	if has, err := m.HasBlob(ctx, hello); !has || err != nil {
		t.Errorf("a blob after it was put: %v, %v", has, err)
	}
}
