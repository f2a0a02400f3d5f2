package desktop

import (
	"bytes"
	"encoding/xml"
	"errors"
	"io"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"
)

func TestCommandLinesAreTakenApartAsWindowsDoes(t *testing.T) {
	for line, want := range map[string][]string{
		`"C:\Program Files\B\bellwether-app.exe" tray --hidden`: {`C:\Program Files\B\bellwether-app.exe`, "tray", "--hidden"},
		`C:\B\bellwether.exe`:     {`C:\B\bellwether.exe`},
		`a "b\"c" d\e "f\\"`:      {"a", `b"c`, `d\e`, `f\`},
		`  `:                      nil,
		`"" x`:                    {"", "x"},
		`"C:\dir with space\\" y`: {`C:\dir with space\`, "y"},
	} {
		if got := splitCommandLine(line); !slices.Equal(got, want) {
			t.Errorf("%s: %q, want %q", line, got, want)
		}
	}
	rapid.Check(t, func(t *rapid.T) {
		args := rapid.SliceOfN(rapid.StringOfN(rapid.RuneFrom([]rune(`ab \" ü`)), 0, 8, -1), 1, 4).Draw(t, "args")
		if got := splitCommandLine(commandLine(args)); !slices.Equal(got, args) {
			t.Fatalf("%q came back as %q by %s", args, got, commandLine(args))
		}
	})
}

// T-03: what Task Manager keeps besides the entry.
func TestTaskManagersSwitchIsRead(t *testing.T) {
	for _, c := range []struct {
		approved []byte
		off      bool
	}{
		{nil, false}, {[]byte{}, false},
		{[]byte{2, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0}, false}, {[]byte{6, 0, 0, 0}, false},
		{[]byte{3, 0, 0, 0, 0x10, 0x20, 0x30, 0x40, 0x50, 0x60, 0xd8, 1}, true}, {[]byte{7}, true},
	} {
		if got := switchedOff(c.approved); got != c.off {
			t.Errorf("% x: %v", c.approved, got)
		}
	}
}

func TestLaunchAgentsAreXMLWhateverThePath(t *testing.T) {
	command := []string{`/Users/Ann & "Bob"/<Apps>/bellwether`, "tray", "--hidden"}
	list, err := writeAgent(command)
	if err != nil {
		t.Fatal(err)
	}
	d := xml.NewDecoder(bytes.NewReader(list))
	for {
		if _, err := d.Token(); errors.Is(err, io.EOF) {
			break
		} else if err != nil {
			t.Fatalf("%v in\n%s", err, list)
		}
	}
	got, disabled, err := readAgent(list)
	if err != nil || disabled || !slices.Equal(got, command) {
		t.Errorf("%q, %v, %v", got, disabled, err)
	}
	off := bytes.Replace(list, []byte("<key>RunAtLoad</key>"), []byte("<key>Disabled</key><true/><key>RunAtLoad</key>"), 1)
	if _, disabled, _ := readAgent(off); !disabled {
		t.Error("Disabled is not seen")
	}
	if _, _, err := readAgent([]byte("<plist><dict>")); err == nil {
		t.Error("half a list was read")
	}
	if _, err := writeAgent([]string{"/a\x01b"}); err == nil {
		t.Error("a control character was written")
	}
}

func TestAnAgentDisabledInLaunchdIsSeen(t *testing.T) {
	const printed = "disabled services = {\n\t\"com.apple.x\" => disabled\n\t\"io.bellwether.app\" => %s\n}\n"
	for state, want := range map[string]bool{"disabled": true, "enabled": false, "true": true, "false": false} {
		if got := agentDisabled(strings.Replace(printed, "%s", state, 1)); got != want {
			t.Errorf("%s: %v", state, got)
		}
	}
	if agentDisabled("") || agentDisabled(`"io.bellwether.application" => disabled`) {
		t.Error("others' entries count")
	}
}
