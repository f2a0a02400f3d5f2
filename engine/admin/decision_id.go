package admin

import (
	"regexp"
	"strings"
)

// What apps are told of a request is its id with a word of their protocol before
// it (chatcmpl-, resp_, the req_ of headers), and behind it the number of an
// item of the answer.
var (
	idWords = []string{"req_", "chatcmpl-", "cmpl-", "resp_", "msg_", "rs_", "fc_", "ctc_", "call_"}
	idItem  = regexp.MustCompile(`^([0-9a-f]{32})(?:_[0-9]+|[0-9a-f]{2,})?$`)
)

// requestOf returns the id of the request that an id seen by an app belongs to,
// the id itself where it has no form of ours.
func requestOf(id string) string {
	id = strings.TrimSpace(id)
	for _, word := range idWords {
		if rest, ok := strings.CutPrefix(id, word); ok {
			id = rest
			break
		}
	}
	if m := idItem.FindStringSubmatch(id); m != nil {
		return m[1]
	}
	return id
}
