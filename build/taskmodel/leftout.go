package taskmodel

import (
	"bytes"
	_ "embed"
	"fmt"
	"strings"
)

// What weights answered that did not know the row, nor another made of the same
// text: row and answer on a line, written by each training.
//
//go:embed leftout.txt
var leftOutFile string

// EncodeLeftOut makes the file of such answers.
func EncodeLeftOut(answers map[string]string) []byte {
	var b bytes.Buffer
	for _, id := range sortedKeys(answers) {
		fmt.Fprintf(&b, "%s\t%s\n", id, answers[id])
	}
	return b.Bytes()
}

// LeftOut returns those answers by row. Rows whose structure shows their task
// have none.
func LeftOut() map[string]string {
	answers := map[string]string{}
	for line := range strings.Lines(leftOutFile) {
		if id, answer, ok := strings.Cut(strings.TrimSpace(line), "\t"); ok {
			answers[id] = answer
		}
	}
	return answers
}
