package engine

import (
	"fmt"
	"slices"
	"strings"
)

// NoticeKinds are what its owner may be notified of, and switch off one by one:
//
//	runtime  a runtime that served is gone
//	records  the disk is full, or decision records are lost
//	port     the address for apps is another one than usual
//	pull     a request waits for a model that its owner may fetch
//	trouble  anything else that is broken, or a click that could not be carried out
var NoticeKinds = []string{"runtime", "records", "port", "pull", "trouble"}

// Notifies reports whether its owner wants to be notified of a kind: unless
// the setting notifications says otherwise, of each.
func (c *Config) Notifies(kind string) bool {
	on, said := c.Notifications[kind]
	return on || !said
}

// validNoticeKind checks a name in the setting notifications.
func validNoticeKind(kind string) error {
	if slices.Contains(NoticeKinds, kind) {
		return nil
	}
	return fmt.Errorf("there is no notification %q: it is one of %s", kind, strings.Join(NoticeKinds, ", "))
}
