package main

import (
	"context"
	"fmt"
	"os"
	"regexp"
	"strconv"
	"strings"
	"time"
)

// versionFile says which version comes next.
const versionFile = "cmd/bellwether/main.go"

// commitOf names the commit that is packed, and when it was made. Without git,
// as from an archive of the sources, SOURCE_DATE_EPOCH says when, or else it is
// the first second that every format can hold.
func commitOf(ctx context.Context) (commit string, at time.Time) {
	at = epochOf(os.Getenv("SOURCE_DATE_EPOCH"))
	said, err := output(ctx, "git", "log", "-1", "--format=%h %ct")
	if err != nil {
		return "", at
	}
	commit, seconds, _ := strings.Cut(said, " ")
	if os.Getenv("SOURCE_DATE_EPOCH") == "" {
		at = epochOf(seconds)
	}
	return commit, at
}

// epochOf reads seconds since 1970. Zip archives begin in 1980.
func epochOf(seconds string) time.Time {
	if n, err := strconv.ParseInt(seconds, 10, 64); err == nil && n > 0 {
		return time.Unix(n, 0).UTC()
	}
	return time.Date(1980, time.January, 1, 0, 0, 0, 0, time.UTC)
}

// modified reports whether the sources differ from their commit.
func modified(ctx context.Context) bool {
	changed, err := output(ctx, "git", "status", "--porcelain", "--untracked-files=no")
	return err == nil && changed != ""
}

// versionOf is the version of a commit: that of its tag, or the coming one
// with a date, by which packages of two days are newer and older, and the
// commit. Sources that differ from it say so.
func versionOf(tag, coming, commit string, modified bool, at time.Time) string {
	if tag != "" && !modified {
		return strings.TrimPrefix(tag, "v")
	}
	if !strings.Contains(coming, "-") {
		coming += "-dev"
	}
	coming += "." + at.UTC().Format("20060102")
	if commit != "" {
		coming += ".g" + commit // the g keeps digits from being a number, which must not begin with 0
	}
	if modified {
		coming += ".modified"
	}
	return coming
}

var versionLine = regexp.MustCompile(`(?m)^var version = "([^"]+)"$`)

// versionIn is the version that a program's source says.
func versionIn(source string) string {
	if m := versionLine.FindStringSubmatch(source); m != nil {
		return m[1]
	}
	return "0.0.0"
}

var versionForm = regexp.MustCompile(`^(\d+)\.(\d+)\.(\d+)(-[0-9A-Za-z.-]+)?$`)

func checkVersion(v string) error {
	if !versionForm.MatchString(v) {
		return fmt.Errorf("%q is no version: it is written as 1.2.3 or 1.2.3-rc.1", v)
	}
	return nil
}

// windowsVersion is the four numbers that Windows wants; what is before a
// release and the release itself are the same to it.
func windowsVersion(v string) string {
	m := versionForm.FindStringSubmatch(v)
	return m[1] + "." + m[2] + "." + m[3] + ".0"
}
