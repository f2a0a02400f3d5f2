package hardware

import (
	"fmt"
	"regexp"
	"strconv"
	"strings"
)

var channelName = regexp.MustCompile(`(?i)channel[ _-]?([a-z0-9]+)`)

// ramBandwidth computes the RAM's nominal bandwidth from what udev decoded of
// the firmware's tables (they themselves are root's): transfers per second x 8
// bytes x channels. Boards that do not name their channels stay unknown: to
// guess two would be off by up to six on servers.
func (l linux) ramBandwidth() Reading[float64] {
	speed := map[string]float64{}
	channel := map[string]string{}
	for line := range strings.Lines(l.read("run/udev/data/+dmi:id")) {
		key, value, ok := strings.Cut(strings.TrimPrefix(strings.TrimSpace(line), "E:"), "=")
		rest, isMemory := strings.CutPrefix(key, "MEMORY_DEVICE_")
		n, field, numbered := strings.Cut(rest, "_")
		if !ok || !isMemory || !numbered {
			continue
		}
		switch field {
		case "CONFIGURED_SPEED_MTS":
			speed[n], _ = strconv.ParseFloat(value, 64)
		case "BANK_LOCATOR", "LOCATOR":
			if m := channelName.FindStringSubmatch(value); m != nil {
				channel[n] = value[:strings.Index(value, m[0])] + strings.ToUpper(m[1]) // sockets number theirs alike
			}
		}
	}
	used := map[string]bool{}
	slowest := 0.0
	for n, mts := range speed {
		if mts <= 0 {
			continue // an empty socket
		}
		if channel[n] == "" {
			return unknown[float64]("the board does not name its memory channels")
		}
		used[channel[n]] = true
		if slowest == 0 || mts < slowest {
			slowest = mts
		}
	}
	if len(used) == 0 {
		return unknown[float64]("memory speed not readable without root")
	}
	return known(slowest*8*float64(len(used))/1000, fmt.Sprintf("computed:smbios %d channels at %.0f MT/s", len(used), slowest))
}
