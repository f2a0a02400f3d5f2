package sense

import (
	"strconv"
	"strings"
)

// vmstatAvailable computes what macOS could still give from vm_stat's text, the
// way Ollama does: total less all pages in use, where purgeable and file-backed
// pages do not count as used. "Free plus inactive" would count dirty pages of
// apps as available. ok is false when a line is missing.
func vmstatAvailable(text string, total int64) (available int64, ok bool) {
	page := int64(0)
	pages := map[string]int64{}
	for line := range strings.Lines(text) {
		if _, rest, found := strings.Cut(line, "page size of "); found {
			number, _, _ := strings.Cut(rest, " ")
			page, _ = strconv.ParseInt(number, 10, 64)
			continue
		}
		key, value, found := strings.Cut(line, ":")
		if !found {
			continue
		}
		if n, err := strconv.ParseInt(strings.Trim(value, " .\n\r"), 10, 64); err == nil {
			pages[strings.Trim(key, ` "`)] = n
		}
	}
	used := int64(0)
	for key, sign := range map[string]int64{
		"Pages active": 1, "Pages inactive": 1, "Pages speculative": 1, "Pages wired down": 1,
		"Pages occupied by compressor": 1, "Pages purgeable": -1, "File-backed pages": -1,
	} {
		n, found := pages[key]
		if !found {
			return 0, false
		}
		used += sign * n
	}
	if page <= 0 {
		return 0, false
	}
	return max(0, total-used*page), true
}
