package measure

import (
	"errors"
	"fmt"
	"regexp"
	"strings"
)

// Code is a JavaScript function and what it must return.
type Code struct {
	Function string `yaml:"function"`
	Cases    []Case `yaml:"cases"`
}

// Case is one call: its arguments, and what comes back. Both are JSON values.
type Case struct {
	Args []any `yaml:"args" json:"args"`
	Want any   `yaml:"want" json:"want"`
}

var identifier = regexp.MustCompile(`^[A-Za-z_$][\w$]*$`)

func (c *Code) valid() error {
	switch {
	case !identifier.MatchString(c.Function):
		return fmt.Errorf("%q is no function's name", c.Function)
	case len(c.Cases) < 3:
		return errors.New("fewer than three cases can be guessed")
	}
	return nil
}

var exported = regexp.MustCompile(`(?m)^(\s*)export\s+(?:default\s+)?(async\s+function|function|class|const|let|var)\b`)

// source finds the program in an answer: the fenced blocks that name the
// function, else the whole text. Later blocks come later, so that a corrected
// version replaces the first.
func (c *Code) source(answer string) string {
	defined := c.definition()
	var parts []string
	for _, b := range fenced(answer) {
		switch b.lang {
		case "json", "text", "txt", "bash", "sh", "shell", "console", "output", "html":
			continue
		}
		if strings.Contains(b.text, c.Function) && (len(parts) == 0 || defined.MatchString(b.text)) {
			parts = append(parts, b.text)
		}
	}
	if n := len(parts); n > 0 {
		return exported.ReplaceAllString(parts[n-1], "$1$2")
	}
	return exported.ReplaceAllString(answer, "$1$2")
}

// definition is what defines the function, as opposed to calls it.
func (c *Code) definition() *regexp.Regexp {
	name := regexp.QuoteMeta(c.Function)
	return regexp.MustCompile(`(function\s*\*?\s*` + name + `\b|\b` + name + `\s*=[^=])`)
}
