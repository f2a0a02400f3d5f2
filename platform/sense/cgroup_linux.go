package sense

import (
	"math"
	"path"
	"strconv"
	"strings"
)

// noLimit is above any real one: version 1 writes "no limit" as the largest
// page-aligned number.
const noLimit = int64(1) << 60

// groupLimit is the tightest memory limit among our control group and its
// ancestors, and the least headroom any of them leaves. ok is false when none
// limits. Inactive page cache is headroom: the kernel gives it back before it
// refuses (counting it as used makes full containers refuse every model).
func (s system) groupLimit() (limit, left int64, ok bool) {
	limit, left = math.MaxInt64, math.MaxInt64
	take := func(most, used, cache int64) {
		if most <= 0 || most >= noLimit {
			return
		}
		limit = min(limit, most)
		left = min(left, max(0, most-max(0, used-cache)))
		ok = true
	}
	two, one := s.groups()
	for dir := range ancestors(two) {
		at := path.Join("sys/fs/cgroup", dir)
		used, cache := s.number(at, "memory.current"), s.statistic(at, "inactive_file")
		take(s.number(at, "memory.max"), used, cache)
		take(s.number(at, "memory.high"), used, cache)
	}
	for dir := range ancestors(one) {
		at := path.Join("sys/fs/cgroup/memory", dir)
		take(s.number(at, "memory.limit_in_bytes"), s.number(at, "memory.usage_in_bytes"), s.statistic(at, "total_inactive_file"))
	}
	return limit, left, ok
}

// groups returns our place in the hierarchy of version 2 and in version 1's
// memory hierarchy; "" where we are in none.
func (s system) groups() (two, one string) {
	for line := range strings.Lines(s.read("proc/self/cgroup")) {
		part := strings.SplitN(strings.TrimSpace(line), ":", 3)
		if len(part) != 3 {
			continue
		}
		if part[0] == "0" && part[1] == "" {
			two = part[2]
		}
		for name := range strings.SplitSeq(part[1], ",") {
			if name == "memory" {
				one = part[2]
			}
		}
	}
	return two, one
}

// groupPath2 is a file of our own version 2 group, relative to the root.
func (s system) groupPath2(file string) string {
	two, _ := s.groups()
	return path.Join("sys/fs/cgroup", two, file)
}

// ancestors yields a group's path and all above it, the mount's root last. In
// a container the outer part of the path may not exist; its files then read as
// absent.
func ancestors(group string) func(func(string) bool) {
	return func(yield func(string) bool) {
		if group == "" {
			return
		}
		for dir := path.Clean("/" + group); ; dir = path.Dir(dir) {
			if !yield(dir) || dir == "/" {
				return
			}
		}
	}
}

// number reads a file holding one number; absent, "max" and nonsense are -1.
func (s system) number(dir, file string) int64 {
	n, err := strconv.ParseInt(s.read(dir, file), 10, 64)
	if err != nil {
		return -1
	}
	return n
}

func (s system) statistic(dir, key string) int64 {
	for line := range strings.Lines(s.read(dir, "memory.stat")) {
		if rest, ok := strings.CutPrefix(line, key+" "); ok {
			n, _ := strconv.ParseInt(strings.TrimSpace(rest), 10, 64)
			return n
		}
	}
	return 0
}
