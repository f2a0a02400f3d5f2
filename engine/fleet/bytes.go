package fleet

import (
	"fmt"
	"strings"
)

// KB, MB and GB in bytes. Memory is sold so, and systems' own monitors count it
// so: a pool set to 24 GB is 24 GB wherever the product says it. Every setting,
// scenario and text counts by these; only the speed of memory (GB/s), which
// makers state in powers of ten, does not.
const (
	KB = 1 << 10
	MB = 1 << 20
	GB = 1 << 30
)

// Bytes says a size to people, in the largest unit it fills: 40 MB, 5.2 GB,
// 155 GB; a negative one is said as 0 B. The UI's bytes says it alike (both are
// held to testdata/bytes.json).
func Bytes(n int64) string {
	v, unit := float64(max(0, n)), 0
	units := [...]string{"B", "KB", "MB", "GB", "TB"}
	for v >= 999.5 && unit < len(units)-1 {
		v /= 1024
		unit++
	}
	if v >= 99.95 {
		return fmt.Sprintf("%.0f %s", v, units[unit])
	}
	return strings.TrimSuffix(fmt.Sprintf("%.1f", v), ".0") + " " + units[unit]
}
