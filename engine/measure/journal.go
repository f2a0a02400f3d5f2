package measure

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"sync"
	"time"
)

// Outcome is how an item went.
type Outcome struct {
	Right  bool      `json:"right"`
	Cut    bool      `json:"cut,omitempty"` // by its output limit
	Took   float64   `json:"took"`          // seconds
	TTFT   float64   `json:"ttft,omitempty"`
	Input  int       `json:"input,omitempty"` // tokens, as the runtime counted
	Output int       `json:"output,omitempty"`
	Rate   float64   `json:"rate,omitempty"` // output tokens a second, 0 = unknown
	At     time.Time `json:"at"`
}

// keepUnfinished is how long the answers of a run that was broken off count.
const keepUnfinished = 7 * 24 * time.Hour

// Journal remembers the answered items of runs that have not ended, so that the
// next run goes on there, whatever ended the last one: a line is written for
// each item when it is answered. No question or answer is in it.
type Journal struct {
	path string
	mu   sync.Mutex // guards what follows
	file *os.File
	done map[journalKey]Outcome
}

type journalKey struct {
	Make  string `json:"make"`
	Suite string `json:"suite"`
	Item  string `json:"item"`
}

type journalLine struct {
	journalKey
	*Outcome
	Ended bool `json:"ended,omitempty"` // the make's run has ended: forget its items
}

// OpenJournal reads the journal at path and makes it anew without what no
// longer counts. A last line that was cut by the end of its writer is dropped.
func OpenJournal(path string, now time.Time) (*Journal, error) {
	j := &Journal{path: path, done: map[journalKey]Outcome{}}
	text, err := os.ReadFile(path)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, fmt.Errorf("read the journal of evals: %w", err)
	}
	lines := bufio.NewScanner(bytes.NewReader(text))
	for lines.Scan() {
		var l journalLine
		switch {
		case json.Unmarshal(lines.Bytes(), &l) != nil:
		case l.Ended:
			j.drop(l.Make)
		case l.Outcome != nil && now.Sub(l.At) < keepUnfinished:
			j.done[l.journalKey] = *l.Outcome
		}
	}
	if err := j.rewrite(); err != nil {
		return nil, fmt.Errorf("write the journal of evals: %w", err)
	}
	return j, nil
}

// Close ends writing.
func (j *Journal) Close() error {
	j.mu.Lock()
	defer j.mu.Unlock()
	return j.file.Close()
}

// Done returns how an item of an unfinished run went.
func (j *Journal) Done(t *Target, item *Item) (Outcome, bool) {
	j.mu.Lock()
	defer j.mu.Unlock()
	o, ok := j.done[keyOf(t, item)]
	return o, ok
}

// Has reports whether an item was answered by an unfinished run.
func (j *Journal) Has(t *Target, task, item string) bool {
	j.mu.Lock()
	defer j.mu.Unlock()
	_, ok := j.done[journalKey{t.fingerprint(), SuiteName(task), item}]
	return ok
}

// Record remembers an answered item.
func (j *Journal) Record(t *Target, item *Item, o Outcome) error {
	j.mu.Lock()
	defer j.mu.Unlock()
	k := keyOf(t, item)
	j.done[k] = o
	return j.write(journalLine{journalKey: k, Outcome: &o})
}

// End forgets a target's items: its run has ended, and the next begins anew.
func (j *Journal) End(t *Target) error {
	j.mu.Lock()
	defer j.mu.Unlock()
	j.drop(t.fingerprint())
	return j.write(journalLine{journalKey: journalKey{Make: t.fingerprint()}, Ended: true})
}

func keyOf(t *Target, item *Item) journalKey {
	return journalKey{t.fingerprint(), SuiteName(item.Task), item.ID}
}

func (j *Journal) drop(made string) {
	for k := range j.done {
		if k.Make == made {
			delete(j.done, k)
		}
	}
}

func (j *Journal) write(l journalLine) error {
	b, err := json.Marshal(l)
	if err != nil {
		return err
	}
	_, err = j.file.Write(append(b, '\n'))
	return err
}

// rewrite replaces the file by what counts, and opens it for more.
func (j *Journal) rewrite() error {
	f, err := os.OpenFile(j.path+".new", os.O_CREATE|os.O_TRUNC|os.O_WRONLY, 0o600)
	if err != nil {
		return err
	}
	j.file = f
	for k, o := range j.done {
		if err := j.write(journalLine{journalKey: k, Outcome: &o}); err != nil {
			return errors.Join(err, f.Close())
		}
	}
	if err := f.Close(); err != nil {
		return err
	}
	if err := os.Rename(j.path+".new", j.path); err != nil {
		return err
	}
	j.file, err = os.OpenFile(j.path, os.O_APPEND|os.O_WRONLY, 0o600)
	return err
}
