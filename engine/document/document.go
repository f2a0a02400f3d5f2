// Package document reads the YAML that people write for this program: settings,
// catalogues, suites. YAML allows several documents in one text, separated by
// lines of three dashes, of which a reader that wants one silently takes the
// first. Here a text is one document, or it is an error with its line.
//
// It knows nothing of what a document means.
package document

import (
	"bytes"
	"errors"
	"fmt"
	"io"

	"go.yaml.in/yaml/v3"
)

// Error is what makes a text no document.
type Error struct {
	Line    int    // from 1; 0 = not known
	Text    string // of the line, in quotes, without what may be a key; "" = it says nothing
	Problem string
}

func (e *Error) Error() string {
	if e.Line == 0 {
		return e.Problem
	}
	return fmt.Sprintf("line %d: %s", e.Line, e.said())
}

// In names the file that the error is in, as file:line: text: problem.
func (e *Error) In(file string) string {
	if e.Line == 0 {
		return file + ": " + e.Problem
	}
	return fmt.Sprintf("%s:%d: %s", file, e.Line, e.said())
}

func (e *Error) said() string {
	if e.Text == "" {
		return e.Problem
	}
	return e.Text + ": " + e.Problem
}

// Read returns the root of the one document in a text, nil when nothing but
// comments is there. Documents that hold nothing do not count, wherever they
// stand, so that a line of dashes at the begin or the end does no harm. Its
// error is always an *Error.
func Read(text []byte) (*yaml.Node, error) {
	in := yaml.NewDecoder(bytes.NewReader(text))
	var root *yaml.Node
	for {
		var doc yaml.Node
		switch err := in.Decode(&doc); {
		case errors.Is(err, io.EOF):
			return root, nil
		case err != nil:
			return nil, unreadable(text, err)
		}
		found := doc.Content[0]
		switch {
		case root == nil || empty(root):
			root = found
		case !empty(found):
			return nil, &Error{Line: found.Line, Problem: fmt.Sprintf("a second document begins here, after a line ---, and only one is read: "+
				"put what it says into the first (which begins in line %d), or delete it", root.Line)}
		}
	}
}

func empty(root *yaml.Node) bool { return root.Tag == "!!null" }
