package sense

import (
	"context"
	"strconv"
	"strings"
	"time"
)

// Heat is how near the processors are to slowing themselves down.
type Heat string

// Levels of heat.
const (
	HeatNormal Heat = "normal"
	HeatWarm   Heat = "warm" // near the limit
	HeatHot    Heat = "hot"  // at the limit, or slowed down within the last minute
)

const (
	// warmBelow and hotBelow are how many degrees below its own limit a sensor
	// counts as warm and hot.
	warmBelow = 12.0
	hotBelow  = 2.0
	// throttledFor is how long a slow-down shows: one lasts milliseconds, and
	// comes again as long as its cause does.
	throttledFor = time.Minute
)

// thermals are what a system tells of heat. Where it counts slow-downs but has
// no level of its own, the Reader makes one of the counts.
type thermals struct {
	heat    Reading[Heat]
	celsius Reading[float64] // of the hottest processor
	// slowed is how often processors have slowed down since boot; unknown where
	// nobody counts.
	slowed Reading[int64]
}

func noThermals(why Reason) thermals {
	return thermals{unknown[Heat](why), unknown[float64](why), unknown[int64](why)}
}

// heat is the level, and the temperature of the hottest processor, °C.
func (r *Reader) heat(ctx context.Context, now time.Time) (Reading[Heat], Reading[float64]) {
	t := r.sys.thermals(ctx)
	if !t.slowed.Known {
		return t.heat, t.celsius
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	before := r.slowed
	r.slowed = t.slowed
	if before.Known && t.slowed.V > before.V {
		r.slowedAt = now
	}
	switch {
	case !r.slowedAt.IsZero() && now.Sub(r.slowedAt) < throttledFor:
		return known(HeatHot, t.slowed.Source), t.celsius
	case t.heat.Known:
		return t.heat, t.celsius
	case !before.Known:
		return unknown[Heat]("the first reading has none to compare with"), t.celsius
	}
	return known(HeatNormal, t.slowed.Source), t.celsius
}

// heatAt is the level at a temperature, by the sensor's own limit. °C.
func heatAt(celsius, limit float64) Heat {
	switch {
	case celsius >= limit-hotBelow:
		return HeatHot
	case celsius >= limit-warmBelow:
		return HeatWarm
	}
	return HeatNormal
}

const notifyKey = "com.apple.system.thermalpressurelevel"

// parseNotify reads notifyutil's answer about a Mac's own level: the key, then
// 0 nominal, 1 moderate, 2 heavy, 3 trapping, 4 sleeping.
func parseNotify(out string) Reading[Heat] {
	_, number, _ := strings.Cut(strings.TrimSpace(out), " ")
	level, err := strconv.Atoi(strings.TrimSpace(number))
	switch {
	case err != nil || level < 0:
		return unknown[Heat]("notifyutil's answer was not understood")
	case level == 0:
		return known(HeatNormal, "notify "+notifyKey)
	case level == 1:
		return known(HeatWarm, "notify "+notifyKey)
	}
	return known(HeatHot, "notify "+notifyKey)
}
