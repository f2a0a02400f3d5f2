package engine

import (
	"errors"
	"fmt"
	"log/slog"
	"os"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"bellwether/engine/admin"
	"bellwether/engine/dialect"
	"bellwether/engine/route"
	"bellwether/engine/runtime/runtimetest"
)

// Settings that change while it runs count without a restart; a wrong file
// changes nothing and is told with its line.
func TestChangedSettingsCountAtOnceAndWrongOnesChangeNothing(t *testing.T) {
	r := newRig(t, spec{config: quick, fakes: map[string]runtimetest.FakeConfig{
		"ollama": {GPU: 1, KeepAlive: -1, Models: []runtimetest.FakeModel{{Name: "chat:1b"}, {Name: "big:7b"}}}}})
	file := r.conf().file
	original, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	write := func(more string) {
		t.Helper()
		if err := os.WriteFile(file, append([]byte(more+"\n"), original...), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	ask := func(model string) *answer {
		return r.post(t, "/v1/chat/completions", `{"model":"`+model+`","messages":[{"role":"user","content":"hi"}]}`)
	}
	if a := ask("work"); a.Status != 404 {
		t.Fatalf("work is asked for before it is set up: %d %s", a.Status, a.Body)
	}
	before := r.policy.Load().Hash

	write("aliases: {work: {models: [chat:1b]}}\ndeployments: [{match: 'big:*', enabled: false}]")
	r.await(t, "the changed settings to be in force", func() bool { return r.policy.Load().Hash != before })
	if a := ask("work"); a.Status != 200 || a.Header.Get("X-Fleet-Served-Model") != "chat:1b" {
		t.Errorf("work after the change: %d by %s", a.Status, a.Header.Get("X-Fleet-Served-Model"))
	}
	r.await(t, "what the settings declare to be reported", func() bool { return ask("big:7b").Status == 503 })

	good := r.policy.Load().Hash
	write("aliases:\n  work: {models: [chat:1b]}\n  a: {models: [b]}\n  b: {models: [a]}")
	r.await(t, "the wrong file to be noticed", func() bool { return r.reading.Load().err != nil })
	if a := ask("work"); a.Status != 200 || r.policy.Load().Hash != good {
		t.Errorf("a wrong file changed what was in force: %d", a.Status)
	}
	told := fmt.Sprint(r.settingsFindings())
	for _, want := range []string{"config.yaml:3", "aliases.a", "a -> b -> a", "stay in force"} {
		if !strings.Contains(told, want) {
			t.Errorf("doctor does not say %q: %s", want, told)
		}
	}

	write("aliases: {work: {models: [big:7b]}}\nstore: {retention_days: 3}")
	r.await(t, "the corrected file to be in force", func() bool { return r.reading.Load().err == nil && r.policy.Load().Hash != good })
	if told := fmt.Sprint(r.settingsFindings()); !strings.Contains(told, "store.retention_days") {
		t.Errorf("doctor does not say what counts after a restart: %s", told)
	}
	r.await(t, "the model to be enabled again", func() bool { return ask("work").Header.Get("X-Fleet-Served-Model") == "big:7b" })
	if a, _ := r.policy.Load().AliasFor("auto"); a == nil || a.Profile != route.ProfileBalanced {
		t.Error("the built-in aliases are gone")
	}
}

// A mistake in the owner's catalogue is no reason to leave right settings out, nor
// to refuse a change of them, and the other way round.
func TestSettingsAndCatalogueAreTakenOverEachByItself(t *testing.T) {
	r := newRig(t, spec{catalogue: shipped, config: quick, fakes: map[string]runtimetest.FakeConfig{
		"ollama": {Models: []runtimetest.FakeModel{{Name: "chat:1b"}, {Name: "house:1b"}}}}})
	file := r.conf().file
	original, err := os.ReadFile(file)
	must(t, err)
	write := func(path, text string) {
		t.Helper()
		must(t, os.WriteFile(path, []byte(text), 0o600))
	}
	write(r.conf().OwnCatalogue(), "models:\n  - nam: house:1b\n")
	write(file, "aliases: {work: {models: [chat:1b]}}\n"+string(original))
	if err := r.Reload(t.Context()); err != nil {
		t.Errorf("right settings beside a wrong catalogue: %v", err)
	}
	if a, _ := r.policy.Load().AliasFor("work"); a == nil {
		t.Error("right settings beside a wrong catalogue do not count")
	}
	told := fmt.Sprint(r.settingsFindings())
	if !strings.Contains(told, "catalogue.yaml:2: an entry needs a name") || strings.Contains(told, "The settings file is wrong") {
		t.Errorf("doctor says: %s", told)
	}
	if s := (settingsDesk{r.Engine}).Settings(); s.Error != "" {
		t.Errorf("the settings page says of right settings: %s", s.Error)
	}
	if err := (settingsDesk{r.Engine}).Pin(t.Context(), "chat:1b", true); err != nil {
		t.Errorf("pin beside a wrong catalogue: %v", err)
	}

	write(file, "log_levl: info\n"+string(original))
	write(r.conf().OwnCatalogue(), "models:\n  - name: house:1b\n    priors: {any: 0.7 my tests 2026-11}\n")
	if err := r.Reload(t.Context()); err == nil {
		t.Error("wrong settings are taken over")
	}
	r.await(t, "a right catalogue beside wrong settings to count", func() bool { return r.worth("house:1b", "any").Value == 0.7 })
	told = fmt.Sprint(r.settingsFindings())
	if !strings.Contains(told, "log_levl") || strings.Contains(told, "Your catalogue.yaml is wrong") {
		t.Errorf("doctor says: %s", told)
	}
}

// An editor may empty a file before it writes it. That is no wish for defaults;
// to take the last setting out on the settings page is.
func TestAnEmptiedFileLeavesTheLastGoodInForce(t *testing.T) {
	r := newRig(t, spec{catalogue: shipped, config: quick, fakes: map[string]runtimetest.FakeConfig{
		"ollama": {Models: []runtimetest.FakeModel{{Name: "house:1b"}}}}})
	file, own := r.conf().file, r.conf().OwnCatalogue()
	original, err := os.ReadFile(file)
	must(t, err)
	before := r.policy.Load().Hash
	must(t, os.WriteFile(own, []byte("models:\n  - name: house:1b\n    priors: {any: 0.7 my tests 2026-11}\n"), 0o600))
	must(t, r.Reload(t.Context()))
	for name, text := range map[string]string{"nothing": "", "blanks": " \n\n", "comments": "# later\n", "a line of dashes": "---\n"} {
		must(t, os.WriteFile(file, []byte(text), 0o600))
		must(t, os.WriteFile(own, []byte(text), 0o600))
		var emptied *EmptiedError
		if err := r.Reload(t.Context()); !errors.As(err, &emptied) || emptied.File != "config.yaml" {
			t.Errorf("%s: got %v", name, err)
		}
		if r.policy.Load().Hash != before || r.worth("house:1b", "any").Value != 0.7 {
			t.Errorf("%s: what was in force is gone", name)
		}
		told := fmt.Sprint(r.settingsFindings())
		for _, want := range []string{"settings file is empty or gone, and the settings before stay", "catalogue.yaml is empty, and what it said"} {
			if !strings.Contains(told, want) {
				t.Errorf("%s: doctor does not say %q: %s", name, want, told)
			}
		}
	}
	must(t, os.Remove(file)) // though it was named at the start
	if err := r.Reload(t.Context()); !errors.As(err, new(*EmptiedError)) || r.policy.Load().Hash != before {
		t.Errorf("a removed file: got %v", err)
	}
	must(t, os.WriteFile(file, append(original, "\nresponse_model_field: deployment\n"...), 0o600))
	must(t, os.WriteFile(own, []byte("{}"), 0o600)) // which says that nothing is meant
	must(t, r.Reload(t.Context()))
	if told := fmt.Sprint(r.settingsFindings()); strings.Contains(told, "is empty") || r.conf().ResponseModelField != "deployment" {
		t.Errorf("written again: %s, doctor says %s", r.conf().ResponseModelField, told)
	}

	must(t, os.WriteFile(file, []byte("response_model_field: deployment\n"), 0o600))
	must(t, r.Reload(t.Context()))
	desk := settingsDesk{r.Engine}
	out, err := desk.Change(t.Context(), admin.SettingsChange{Revision: desk.Settings().Revision, Changes: map[string]*string{"response_model_field": nil}})
	if err != nil || !out.Saved || len(out.Warnings) > 0 || r.conf().ResponseModelField == "deployment" || r.reading.Load().err != nil {
		t.Errorf("the last setting taken out on the settings page: %+v, %v", out, err)
	}
	must(t, r.Reload(t.Context())) // as the watch does
}

// Whoever has read the settings and changes them writes over nothing that somebody
// else wrote: what is told is of one reading of the file, and a change counts only
// for the file that its values were read from.
func TestAChangeIsOfTheFileThatItsValuesWereReadFrom(t *testing.T) {
	r := newRig(t, spec{config: quick, fakes: map[string]runtimetest.FakeConfig{"ollama": {Models: []runtimetest.FakeModel{{Name: "chat:1b"}}}}})
	file, desk := r.conf().file, settingsDesk{r.Engine}
	original, err := os.ReadFile(file)
	must(t, err)
	save := func(revision, name string) error {
		_, err := desk.Change(t.Context(), admin.SettingsChange{Revision: revision, Changes: changing("aliases", `{"`+name+`":{"models":["chat:1b"]}}`)})
		return err
	}
	refused := func(what string, err error, code string) {
		t.Helper()
		text, _ := os.ReadFile(file)
		if p := new(dialect.Problem); !errors.As(err, &p) || p.Code != code || p.Remedy == "" || strings.Contains(string(text), "mine") {
			t.Errorf("%s: %v, the file has\n%s", what, err, text)
		}
	}
	must(t, os.WriteFile(file, append([]byte("aliases: {hers: {models: [chat:1b]}}\n"), original...), 0o600))
	now := desk.Settings()
	if now.Revision != r.view().SettingsRevision {
		t.Errorf("the feed tells of %s, the page of %s", r.view().SettingsRevision, now.Revision)
	}
	refused("an alias that the page does not show yet", save(now.Revision, "mine"), "revision_moved")
	now = desk.Settings()
	must(t, os.WriteFile(file, append([]byte("# hers\n"), original...), 0o600))
	refused("a comment changed", save(now.Revision, "mine"), "revision_moved")
	now = desk.Settings()
	must(t, os.WriteFile(file, append([]byte("log_levl: info\n"), original...), 0o600))
	refused("the file is wrong", save(now.Revision, "mine"), "settings_wrong")
	now = desk.Settings()
	if !strings.Contains(now.Error, "log_levl") {
		t.Errorf("the page says of the wrong file: %q", now.Error)
	}
	refused("the wrong file was seen", save(now.Revision, "mine"), "settings_wrong")
	must(t, os.WriteFile(file, nil, 0o600))
	refused("an editor has emptied it", save(desk.Settings().Revision, "mine"), "settings_wrong")
	must(t, os.WriteFile(file, original, 0o600))
	refused("it was mended after it was looked at", save(now.Revision, "mine"), "revision_moved")
	if err := save(desk.Settings().Revision, "mine"); err != nil {
		t.Error(err)
	}
}

func TestASlowReloadIsTold(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var said strings.Builder
		log := slog.New(slog.NewTextHandler(&said, nil))
		tellIfSlow(log, slowReload)()
		time.Sleep(time.Minute)
		if said.Len() > 0 {
			t.Errorf("a quick reload is told: %s", said.String())
		}
		end := tellIfSlow(log, slowReload)
		time.Sleep(slowReload)
		synctest.Wait()
		if !strings.Contains(said.String(), "being taken over") {
			t.Errorf("a slow reload says: %s", said.String())
		}
		end()
		if !strings.Contains(said.String(), "took=2s") {
			t.Errorf("at its end: %s", said.String())
		}
	})
}

// Keys and limits of the door change without a restart too.
func TestChangedDoorRulesCountAtOnce(t *testing.T) {
	r := newRig(t, spec{config: quick, fakes: map[string]runtimetest.FakeConfig{"ollama": {Models: []runtimetest.FakeModel{{Name: "chat:1b"}}}}})
	file := r.conf().file
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	body := `{"model":"chat:1b","messages":[{"role":"user","content":"` + strings.Repeat("long ", 500) + `"}]}`
	if a := r.post(t, "/v1/chat/completions", body); a.Status != 200 {
		t.Fatalf("before: %d %s", a.Status, a.Body)
	}
	changed := strings.Replace(string(text), "security: {max_body_mb: 1}", "security: {max_body_mb: 0.001}\nresponse_model_field: deployment", 1)
	if err := os.WriteFile(file, []byte(changed), 0o600); err != nil {
		t.Fatal(err)
	}
	r.await(t, "the smaller limit", func() bool { return r.post(t, "/v1/chat/completions", body).Status == 413 })
	short := r.post(t, "/v1/chat/completions", `{"model":"Chat:1B","messages":[{"role":"user","content":"hi"}]}`)
	if short.ok(t).str("model") != "chat:1b" {
		t.Errorf("model says %s, want the deployment's", short.json(t).str("model"))
	}
}
