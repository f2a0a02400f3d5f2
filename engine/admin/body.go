package admin

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"
)

const (
	bodyMost   = 1 << 20              // bytes of a command
	reasonMost = 200                  // runes of a pause's reason
	pauseMost  = 366 * 24 * time.Hour // longest pause with an end
)

// read takes a command's body: one JSON object of fields that v has, or nothing
// at all. False when it was refused.
func read(w http.ResponseWriter, r *http.Request, v any) bool {
	in := json.NewDecoder(http.MaxBytesReader(w, r.Body, bodyMost))
	in.DisallowUnknownFields()
	err := in.Decode(v)
	if errors.Is(err, io.EOF) {
		return true
	}
	if err == nil {
		if _, err = in.Token(); errors.Is(err, io.EOF) {
			return true
		}
		if !isTooLong(err) {
			err = errMoreThanOne
		}
	}
	if isTooLong(err) {
		refuse(w, http.StatusRequestEntityTooLarge, "request_too_large", "The body of a command is at most 1 MiB.", "")
		return false
	}
	refuse(w, http.StatusBadRequest, "invalid_request", "The body is not the JSON this takes: "+bodyTrouble(err)+".", "")
	return false
}

var errMoreThanOne = errors.New("something follows its first value")

func isTooLong(err error) bool {
	var long *http.MaxBytesError
	return errors.As(err, &long)
}

// bodyTrouble says what is wrong, naming the field.
func bodyTrouble(err error) string {
	var kind *json.UnmarshalTypeError
	if errors.As(err, &kind) && kind.Field != "" {
		return fmt.Sprintf("%q cannot be a %s", kind.Field, kind.Value)
	}
	text := strings.TrimPrefix(err.Error(), "json: ")
	if field, ok := strings.CutPrefix(text, "unknown field "); ok {
		return "it has no field " + cropped(field)
	}
	return cropped(text)
}

// pauseWish is the body of POST /admin/pause. Neither time means until resumed.
type pauseWish struct {
	Seconds *float64  `json:"seconds"`
	Until   time.Time `json:"until"`
	Reason  string    `json:"reason"`
}

// end returns when the pause ends, zero = when resumed, and what is wrong with
// the wish, "" = nothing.
func (p *pauseWish) end(now time.Time) (until time.Time, code, wrong string) {
	until = p.Until
	switch {
	case utf8.RuneCountInString(p.Reason) > reasonMost:
		return until, "invalid_reason", fmt.Sprintf("reason is at most %d characters long.", reasonMost)
	case strings.ContainsFunc(p.Reason, isUnprintable):
		return until, "invalid_reason", "reason is one line of text without control characters."
	case p.Seconds != nil && !p.Until.IsZero():
		return until, "invalid_seconds", "seconds and until are two ends of one pause: say one of them."
	case p.Seconds != nil && (*p.Seconds <= 0 || *p.Seconds > pauseMost.Seconds()):
		return until, "invalid_seconds", fmt.Sprintf("seconds is more than 0 and at most %.0f (366 days); without it the pause lasts until it is resumed.", pauseMost.Seconds())
	case p.Seconds != nil:
		return now.Add(time.Duration(*p.Seconds * float64(time.Second))), "", ""
	case !p.Until.IsZero() && (!p.Until.After(now) || p.Until.After(now.Add(pauseMost))):
		return until, "invalid_until", "until is a time to come, within 366 days; without it the pause lasts until it is resumed."
	}
	return until, "", ""
}

// isUnprintable reports whether a character moves what stands around it: a
// control, a line's end, or a change of the reading direction.
func isUnprintable(c rune) bool {
	return unicode.IsControl(c) || c == utf8.RuneError || unicode.In(c, unicode.Zl, unicode.Zp, unicode.Bidi_Control)
}
