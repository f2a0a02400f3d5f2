package main

import (
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"bellwether/engine/fleet"
)

// A contract outlives the machine's crash: what it is bound to is on disk
// before the first vector is out.
func TestContractOutlivesAKilledEngine(t *testing.T) {
	t.Parallel()
	f := fakeRuntime(t, "ollama", "-m", "words=10MB,caps=embedding,width=8", "-m", "other=10MB,caps=embedding,width=8")
	h := newHome(t, "embeddings:\n  wiki: {members: [words, absent]}\n", map[string]*fake{"ollama": f})
	h.serve(t, anywhere)
	until(t, "the contract answers", func() bool {
		status, _ := post(t, h.address+"/v1/embeddings", `{"model":"wiki","input":"a"}`)
		return status == 200
	})
	h.engine.kill()

	text, err := os.ReadFile(filepath.Join(h.dir, "fleet-policy.json"))
	var doc struct {
		Revision int
		Anchors  map[string]struct{ Identity, Source, From string }
	}
	if err == nil {
		err = json.Unmarshal(text, &doc)
	}
	bound := doc.Anchors["wiki"]
	if err != nil || doc.Revision != 1 || bound.Identity == "" || bound.Source != "bound" || bound.From != "studio/ollama/words:latest" {
		t.Fatalf("%v: %s", err, text)
	}

	// Its member is another model now: the first of the list that is known.
	old, err := os.ReadFile(filepath.Join(h.dir, "config.yaml"))
	if err != nil {
		t.Fatal(err)
	}
	h.settings(t, strings.Replace(string(old), "members: [words", "members: [other", 1))
	h.serve(t, anywhere)
	status, body := post(t, h.address+"/v1/embeddings", `{"model":"wiki","input":"a"}`)
	if status != 503 || !strings.Contains(body, "re-index") || !strings.Contains(body, fleet.ShortIdentity(bound.Identity)) {
		t.Errorf("got %d %s", status, body)
	}
	h.run(t, "models").ends(t, exitDone).says(t, "EMBEDDING CONTRACT", "wiki", fleet.ShortIdentity(bound.Identity), "bound (studio/ollama/words:latest)", "none; 2 out")
	h.run(t, "doctor").ends(t, exitDegraded).says(t, "which no machine has: it answers 503", "No machine has absent", "re-index")
	h.runWith(t, `{"model":"wiki","input":"a"}`, "explain", "--live", "-").says(t, "contract wiki", "other weights: ", "re-index")
}

// Deleting the file does not bind a contract anew, to whatever is there today.
func TestDeletedFleetPolicyBindsNothingAnew(t *testing.T) {
	t.Parallel()
	f := fakeRuntime(t, "ollama", "-m", "words=10MB,caps=embedding,width=8", "-m", "other=10MB,caps=embedding,width=8")
	h := newHome(t, "embeddings:\n  wiki: {members: [words]}\n", map[string]*fake{"ollama": f})
	h.serve(t, anywhere)
	until(t, "the contract answers", func() bool {
		status, _ := post(t, h.address+"/v1/embeddings", `{"model":"wiki","input":"a"}`)
		return status == 200
	})
	h.engine.kill()
	policy := filepath.Join(h.dir, "fleet-policy.json")
	old, err := os.ReadFile(filepath.Join(h.dir, "config.yaml"))
	if err != nil {
		t.Fatal(err)
	}
	bound, err := os.ReadFile(policy)
	if err == nil {
		err = os.Remove(policy)
	}
	if err != nil {
		t.Fatal(err)
	}
	h.settings(t, strings.Replace(string(old), "members: [words", "members: [other", 1))
	h.serve(t, anywhere)
	if status, body := post(t, h.address+"/v1/embeddings", `{"model":"wiki","input":"a"}`); status != 503 || !strings.Contains(body, "re-index") {
		t.Errorf("got %d %s", status, body)
	}
	if again, err := os.ReadFile(policy); err != nil || string(again) != string(bound) {
		t.Errorf("%v: it is now %s", err, again)
	}
	h.run(t, "doctor").says(t, "fleet-policy.json was gone", "wiki to ")
	if !strings.Contains(h.engine.err.String(), "fleet-policy.json was gone") {
		t.Errorf("the log says nothing of it: %s", h.engine.err)
	}

	h.engine.kill()
	if err := errors.Join(os.Remove(policy), os.Mkdir(policy, 0o755)); err != nil {
		t.Fatal(err)
	}
	h.run(t, "serve", anywhere).ends(t, exitFailed).says(t, "fleet-policy.json is a folder", "as the database remembers it").lacks(t, "chmod")
	h.run(t, "doctor").says(t, "BROKEN", "fleet-policy.json is a folder").lacks(t, "chmod")
}
