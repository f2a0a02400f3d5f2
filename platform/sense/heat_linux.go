package sense

import (
	"context"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
)

// processors are the drivers of sensors in processors. Those of disks, boards
// and networks say nothing of how fast a model runs, and reading them can be slow.
var processors = []string{"coretemp", "k10temp", "zenpower", "cpu_thermal", "cpu-thermal", "soc_thermal", "soc-thermal", "amdgpu", "x86_pkg_temp", "TCPU"}

// thermals reads the processors' sensors, and how often the kernel saw them
// slow down.
func (s system) thermals(context.Context) thermals {
	t := noThermals("no sensor of a processor is to be seen here")
	for _, x := range append(s.hwmon(), s.zones()...) {
		if !t.celsius.Known || x.celsius > t.celsius.V {
			t.celsius = known(x.celsius, x.source)
		}
		if x.limit > 0 {
			if h := heatAt(x.celsius, x.limit); !t.heat.Known || worse(h, t.heat.V) {
				t.heat = known(h, x.source)
			}
		}
	}
	if t.celsius.Known && !t.heat.Known {
		t.heat.Reason = "its sensors do not say where their limits are"
	}
	t.slowed = s.slowed()
	return t
}

func worse(a, b Heat) bool {
	order := []Heat{HeatNormal, HeatWarm, HeatHot}
	return slices.Index(order, a) > slices.Index(order, b)
}

// sensor is one temperature of a processor. °C.
type sensor struct {
	celsius, limit float64 // limit 0 = it has none
	source         string
}

func (s system) hwmon() []sensor {
	var out []sensor
	for _, input := range s.glob("sys/class/hwmon/hwmon*/temp*_input") {
		dir, file := filepath.Split(input)
		name := s.read(dir, "name")
		celsius, ok := s.degrees(input)
		if !ok || !slices.Contains(processors, name) {
			continue
		}
		x := sensor{celsius: celsius, source: "hwmon " + name}
		base := dir + strings.TrimSuffix(file, "_input")
		for _, limit := range []string{"_crit", "_max"} {
			if v, ok := s.degrees(base + limit); ok && x.limit == 0 {
				x.limit = v
			}
		}
		out = append(out, x)
	}
	return out
}

// zones are the kernel's thermal zones, which small boards have without hwmon.
func (s system) zones() []sensor {
	var out []sensor
	for _, dir := range s.glob("sys/class/thermal/thermal_zone*") {
		name := s.read(dir, "type")
		celsius, ok := s.degrees(dir + "/temp")
		if !ok || !slices.Contains(processors, name) {
			continue
		}
		x := sensor{celsius: celsius, source: "thermal zone " + name}
		for _, trip := range s.glob(dir + "/trip_point_*_type") {
			kind := s.read(trip)
			if v, ok := s.degrees(strings.TrimSuffix(trip, "_type") + "_temp"); ok && (kind == "hot" || kind == "critical") && (x.limit == 0 || v < x.limit) {
				x.limit = v
			}
		}
		out = append(out, x)
	}
	return out
}

// degrees reads thousandths of °C. What no chip can be is a sensor that says
// nothing: 0, and limits far beyond it.
func (s system) degrees(path string) (float64, bool) {
	n, err := strconv.ParseFloat(s.read(path), 64)
	c := n / 1000
	return c, err == nil && c > 0 && c <= 130
}

// slowed sums up how often the processors slowed down because of heat.
func (s system) slowed() Reading[int64] {
	const source = "thermal_throttle"
	var sum int64
	found := false
	for _, path := range s.glob("sys/devices/system/cpu/cpu[0-9]*/thermal_throttle/core_throttle_count") {
		if n, err := strconv.ParseInt(s.read(path), 10, 64); err == nil {
			sum, found = sum+n, true
		}
	}
	if !found {
		return unknown[int64]("the kernel does not count slow-downs here")
	}
	return known(sum, source)
}

// glob returns what matches below the root, in order, without it.
func (s system) glob(pattern string) []string {
	found, _ := filepath.Glob(filepath.Join(s.root, pattern))
	slices.Sort(found)
	out := make([]string, 0, len(found))
	for _, path := range found {
		if rel, err := filepath.Rel(s.root, path); err == nil {
			out = append(out, rel)
		}
	}
	return out
}
