package desktop

import (
	"bytes"
	"encoding/xml"
	"errors"
	"fmt"
	"io"
	"strings"
)

// The pieces of the LaunchAgent that are plain text, so that they are tested
// everywhere.

// agentLabel names the LaunchAgent.
const agentLabel = "io.bellwether.app"

// writeAgent makes the property list of an agent that starts a program in the
// user's graphical session, once a login.
func writeAgent(command []string) ([]byte, error) {
	var b bytes.Buffer
	text := func(s string) {
		b.WriteString("<string>")
		_ = xml.EscapeText(&b, []byte(s)) // a buffer takes everything
		b.WriteString("</string>\n")
	}
	for _, s := range command {
		if strings.ContainsFunc(s, func(r rune) bool { return r < ' ' || r == '\ufffd' }) {
			return nil, &LoginError{"its path or an option holds characters that no property list can", "choose a path without"}
		}
	}
	b.WriteString(xml.Header)
	b.WriteString(`<!DOCTYPE plist PUBLIC "-//Apple//DTD PLIST 1.0//EN" "http://www.apple.com/DTDs/PropertyList-1.0.dtd">` + "\n<plist version=\"1.0\">\n<dict>\n")
	b.WriteString("<key>Label</key>\n")
	text(agentLabel)
	b.WriteString("<key>ProgramArguments</key>\n<array>\n")
	for _, s := range command {
		text(s)
	}
	b.WriteString("</array>\n<key>RunAtLoad</key>\n<true/>\n<key>LimitLoadToSessionType</key>\n<string>Aqua</string>\n<key>ProcessType</key>\n<string>Interactive</string>\n</dict>\n</plist>\n")
	return b.Bytes(), nil
}

// readAgent reads an agent's command, and whether its list says that it is
// disabled.
func readAgent(list []byte) (command []string, disabled bool, err error) {
	d := xml.NewDecoder(bytes.NewReader(list))
	d.Strict = true
	key, inArguments := "", false
	for {
		tok, err := d.Token()
		if errors.Is(err, io.EOF) {
			return command, disabled, nil
		}
		if err != nil {
			return nil, false, fmt.Errorf("read the LaunchAgent: %w", err)
		}
		switch t := tok.(type) {
		case xml.StartElement:
			switch t.Name.Local {
			case "key":
				if err := d.DecodeElement(&key, &t); err != nil {
					return nil, false, fmt.Errorf("read the LaunchAgent: %w", err)
				}
			case "array":
				inArguments = key == "ProgramArguments"
			case "string":
				var s string
				if err := d.DecodeElement(&s, &t); err != nil {
					return nil, false, fmt.Errorf("read the LaunchAgent: %w", err)
				}
				if inArguments {
					command = append(command, s)
				}
			case "true":
				disabled = disabled || key == "Disabled"
			}
		case xml.EndElement:
			if t.Name.Local == "array" {
				inArguments = false
			}
		}
	}
}

// agentDisabled reads what `launchctl print-disabled gui/UID` says of us: older
// systems write true for disabled, newer ones the word.
func agentDisabled(printed string) bool {
	for line := range strings.Lines(printed) {
		name, state, ok := strings.Cut(line, "=>")
		if ok && strings.Trim(strings.TrimSpace(name), `"`) == agentLabel {
			state = strings.TrimSpace(state)
			return state == "disabled" || state == "true"
		}
	}
	return false
}
