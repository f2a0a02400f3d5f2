package desktop

import (
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"
)

func TestExecIsQuotedByTheDesktopEntryRules(t *testing.T) {
	for arg, want := range map[string]string{
		"/usr/bin/bellwether":  "/usr/bin/bellwether",
		"--hidden":             "--hidden",
		"/home/ann/My Apps/b":  `"/home/ann/My Apps/b"`,
		"":                     `""`,
		`a"b`:                  `"a\"b"`,
		"$HOME":                `"\$HOME"`,
		"`id`":                 "\"\\`id\\`\"",
		`back\slash`:           `"back\\slash"`,
		"100%":                 "100%%",
		"ü~é":                  `"ü~é"`,
		"semi;colon&and|or(x)": `"semi;colon&and|or(x)"`,
	} {
		if got := quoteExec(arg); got != want {
			t.Errorf("%q: %s, want %s", arg, got, want)
		}
	}
	text, err := writeEntry(`/opt/a\b $c/bellwether`, []string{"tray"})
	if err != nil || !strings.Contains(text, `Exec="/opt/a\\\\b \\$c/bellwether" tray`+"\n") || !strings.Contains(text, `TryExec=/opt/a\\b $c/bellwether`+"\n") {
		t.Errorf("%v\n%s", err, text)
	}
	for _, program := range []string{"/opt/a=b/bellwether", "/opt/a\nb/bellwether"} {
		if _, err := writeEntry(program, nil); err == nil {
			t.Errorf("%q was written", program)
		}
	}
}

func TestWhatIsWrittenIsReadBackTheSame(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		word := rapid.StringOfN(rapid.RuneFrom([]rune("ab /\\\"'$`%;~ü&*?#()<>|u^f")), 1, 12, -1)
		program := "/" + word.Draw(t, "program")
		args := rapid.SliceOfN(word, 0, 3).Draw(t, "args")
		text, err := writeEntry(program, args)
		if err != nil {
			t.Fatal(err)
		}
		entry := parseEntry(text)
		want := append([]string{program}, args...)
		if got := splitExec(entry["Exec"]); !slices.Equal(got, want) {
			t.Fatalf("%q came back as %q:\n%s", want, got, text)
		}
		if strings.TrimSpace(program) == program && entry["TryExec"] != program {
			t.Fatalf("TryExec %q, want %q", entry["TryExec"], program)
		}
	})
}

func TestTheEntryIsValidByTheSystemsOwnTool(t *testing.T) {
	tool, err := exec.LookPath("desktop-file-validate")
	if err != nil {
		t.Skip("desktop-file-validate is not installed")
	}
	text, err := writeEntry("/opt/My Apps/bellwether", []string{"tray", "--hidden"})
	if err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(t.TempDir(), autostartName)
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	if out, err := exec.Command(tool, path).CombinedOutput(); err != nil || len(out) > 0 {
		t.Errorf("%v: %s", err, out)
	}
}

// T-01, T-03: the switch shows what the desktop will do, whoever decided it.
func TestADesktopsOwnSwitchIsSeen(t *testing.T) {
	program, err := exec.LookPath("sh")
	if err != nil {
		t.Skip(err)
	}
	good := "[Desktop Entry]\nType=Application\nName=Bellwether\nExec=" + program + " tray\n"
	for _, c := range []struct{ text, current, why string }{
		{good, "GNOME", ""},
		{good + "X-GNOME-Autostart-enabled=true\n", "GNOME", ""},
		{good + "Hidden=true\n", "XFCE", "switched off"},
		{good + "X-GNOME-Autostart-enabled=false\n", "ubuntu:GNOME", "switched off"},
		{good + "X-MATE-Autostart-enabled = false\n", "MATE", "switched off"},
		{good + "OnlyShowIn=KDE;LXQt;\n", "XFCE", "other desktops"},
		{good + "OnlyShowIn=KDE;GNOME;\n", "ubuntu:GNOME", ""},
		{good + "NotShowIn=GNOME;\n", "ubuntu:GNOME", "not for this"},
		{good + "TryExec=/nowhere/bellwether\n", "", "/nowhere/bellwether"},
		{"[Desktop Entry]\nExec=/nowhere/bellwether tray\n", "", "/nowhere/bellwether"},
		{"[Desktop Entry]\nName=x\n", "", "starts nothing"},
		{good + "[Desktop Action x]\nHidden=true\n", "", ""},
		{"# Hidden=true\n" + good, "", ""},
	} {
		on, vetoed, why, remedy := judge(parseEntry(c.text), c.current)
		if on != (c.why == "") || vetoed != (c.why == "switched off") || !strings.Contains(why, c.why) || on == (remedy != "") {
			t.Errorf("on %s: %v, %q, %q; want %q, of\n%s", c.current, on, why, remedy, c.why, c.text)
		}
	}
}

func FuzzEntriesOfOthersAreRead(f *testing.F) {
	f.Add("[Desktop Entry]\nExec=\"a b\" %U %% \\\nHidden")
	f.Fuzz(func(t *testing.T, text string) {
		_, _, _, _ = judge(parseEntry(text), "GNOME")
	})
}
