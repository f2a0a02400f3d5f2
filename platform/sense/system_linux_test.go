package sense

import (
	"os"
	"path/filepath"
	"testing"
	"time"
)

func lay(t *testing.T, files map[string]string) system {
	t.Helper()
	root := t.TempDir()
	for path, text := range files {
		full := filepath.Join(root, path)
		if err := os.MkdirAll(filepath.Dir(full), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(full, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	return system{root: root}
}

const meminfo = "MemTotal: 32000000 kB\nMemFree: 1000000 kB\nMemAvailable: 20000000 kB\nBuffers: 0 kB\nCached: 0 kB\n"

const (
	machine   = int64(32000000) << 10
	spare     = int64(20000000) << 10
	mib       = int64(1) << 20
	unlimited = "9223372036854771712"
)

func TestContainerLimitCutsMemory(t *testing.T) {
	for _, c := range []struct {
		name             string
		files            map[string]string
		total, available int64
	}{
		{"no groups", map[string]string{}, machine, spare},
		{"version 2, cache is headroom", map[string]string{
			"proc/self/cgroup":             "0::/\n",
			"sys/fs/cgroup/memory.max":     "314572800",
			"sys/fs/cgroup/memory.current": "262144000",
			"sys/fs/cgroup/memory.stat":    "anon 1\ninactive_file 104857600\n",
		}, 300 * mib, 150 * mib},
		{"version 2, the slice above is tighter", map[string]string{
			"proc/self/cgroup": "0::/user.slice/app.scope\n",
			"sys/fs/cgroup/user.slice/app.scope/memory.max": "max",
			"sys/fs/cgroup/user.slice/memory.max":           "max",
			"sys/fs/cgroup/user.slice/memory.high":          "1073741824",
			"sys/fs/cgroup/user.slice/memory.current":       "536870912",
			"sys/fs/cgroup/user.slice/memory.stat":          "inactive_file 0\n",
		}, 1024 * mib, 512 * mib},
		{"max means no limit here", map[string]string{
			"proc/self/cgroup": "0::/\n", "sys/fs/cgroup/memory.max": "max", "sys/fs/cgroup/memory.current": "1",
		}, machine, spare},
		{"version 1", map[string]string{
			"proc/self/cgroup": "4:memory:/docker/abc\n0::/\n",
			"sys/fs/cgroup/memory/docker/abc/memory.limit_in_bytes": "314572800",
			"sys/fs/cgroup/memory/docker/abc/memory.usage_in_bytes": "104857600",
			"sys/fs/cgroup/memory/memory.limit_in_bytes":            unlimited,
		}, 300 * mib, 200 * mib},
		{"version 1, path of the outer system", map[string]string{
			"proc/self/cgroup":                           "4:cpu,memory:/docker/abc\n",
			"sys/fs/cgroup/memory/memory.limit_in_bytes": "314572800",
			"sys/fs/cgroup/memory/memory.usage_in_bytes": "0",
		}, 300 * mib, 300 * mib},
	} {
		c.files["proc/meminfo"] = meminfo
		total, available := lay(t, c.files).memory(t.Context())
		if total.V != c.total || available.V != c.available {
			t.Errorf("%s: %d of %d MiB, want %d of %d", c.name, available.V/mib, total.V/mib, c.available/mib, c.total/mib)
		}
	}
}

func TestPressureIsStallNotFullness(t *testing.T) {
	psi := func(full string) map[string]string {
		return map[string]string{"proc/pressure/memory": "some avg10=90.00 avg60=0.00 avg300=0.00 total=1\nfull avg10=" + full + " avg60=0.00 avg300=0.00 total=1\n"}
	}
	all, scarce := known(machine, ""), known(machine/100, "")
	for _, c := range []struct {
		name  string
		files map[string]string
		avail Reading[int64]
		want  Pressure
	}{
		{"a full machine that does not stall", psi("0.00"), scarce, PressureNormal},
		{"stalls a little", psi("6.10"), all, PressureWarning},
		{"stalls much", psi("20.00"), all, PressureCritical},
		{"without stall information, hardly any available", nil, scarce, PressureCritical},
		{"without stall information, enough", nil, all, PressureNormal},
		{"our container stalls", map[string]string{
			"proc/self/cgroup":              "0::/\n",
			"proc/pressure/memory":          "full avg10=0.00 avg60=0 avg300=0 total=0\n",
			"sys/fs/cgroup/memory.pressure": "full avg10=31.00 avg60=0 avg300=0 total=0\n",
		}, all, PressureCritical},
	} {
		got := lay(t, c.files).pressure(all, c.avail)
		if !got.Known || got.V != c.want {
			t.Errorf("%s: %+v, want %s", c.name, got, c.want)
		}
	}
	if got := lay(t, nil).pressure(unknown[int64](""), unknown[int64]("")); got.Known {
		t.Errorf("nothing readable: %+v, want unknown, never normal", got)
	}
}

func TestBatteryIsTheMachinesOwn(t *testing.T) {
	const at = "sys/class/power_supply/"
	for _, c := range []struct {
		name  string
		files map[string]string
		want  bool
	}{
		{"desktop", nil, false},
		{"laptop unplugged", map[string]string{at + "AC/type": "Mains", at + "AC/online": "0", at + "BAT0/type": "Battery", at + "BAT0/status": "Discharging"}, true},
		{"laptop plugged in", map[string]string{at + "AC/type": "Mains", at + "AC/online": "1", at + "BAT0/type": "Battery", at + "BAT0/status": "Charging"}, false},
		{"plugged in, battery drains at full load", map[string]string{at + "AC/type": "Mains", at + "AC/online": "1", at + "BAT0/type": "Battery", at + "BAT0/status": "Discharging"}, false},
		{"a mouse's battery", map[string]string{at + "hid/type": "Battery", at + "hid/scope": "Device", at + "hid/status": "Discharging"}, false},
	} {
		if got := lay(t, c.files).battery(t.Context()); !got.Known || got.V != c.want {
			t.Errorf("%s: %+v, want %v", c.name, got, c.want)
		}
	}
}

func TestRadeonMemoryIsReadFromSysfs(t *testing.T) {
	got := lay(t, map[string]string{
		"sys/class/drm/card0/device/mem_info_vram_total": "1000", "sys/class/drm/card0/device/mem_info_vram_used": "400",
		"sys/class/drm/card1/device/mem_info_vram_total": "2000",
	}).cards()
	if len(got) != 2 || got[0].Free.V != 600 || got[1].Free.Known || got[1].Total.V != 2000 {
		t.Errorf("cards = %+v", got)
	}
}

func TestLoadIsTheShareSinceTheReadingBefore(t *testing.T) {
	s := lay(t, map[string]string{"proc/stat": "cpu 100 0 0 900 0 0 0 0 0 0\n"})
	r := &Reader{sys: s}
	if got := r.load(t.Context()); got.Known {
		t.Errorf("first reading: %+v, want unknown", got)
	}
	if err := os.WriteFile(filepath.Join(s.root, "proc/stat"), []byte("cpu 175 0 0 925 0 0 0 0 0 0\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	if got := r.load(t.Context()); !got.Known || got.V < 0.74 || got.V > 0.76 {
		t.Errorf("load = %+v, want 0.75", got)
	}
}

func TestHeatIsJudgedByEachSensorsOwnLimit(t *testing.T) {
	const at = "sys/class/hwmon/hwmon"
	for _, c := range []struct {
		name    string
		files   map[string]string
		want    Heat // "" = unknown
		celsius float64
	}{
		{"no sensor", nil, "", 0},
		{"cool", map[string]string{at + "3/name": "coretemp", at + "3/temp1_input": "54000", at + "3/temp1_crit": "100000", at + "3/temp1_max": "84000"}, HeatNormal, 54},
		{"the worst of all cores", map[string]string{at + "3/name": "coretemp", at + "3/temp1_input": "60000", at + "3/temp1_crit": "100000", at + "3/temp2_input": "91000", at + "3/temp2_crit": "100000"}, HeatWarm, 91},
		{"at its limit", map[string]string{at + "0/name": "coretemp", at + "0/temp1_input": "99000", at + "0/temp1_crit": "100000"}, HeatHot, 99},
		{"a hot disk is no hot processor", map[string]string{at + "1/name": "nvme", at + "1/temp1_input": "90000", at + "1/temp1_crit": "85000"}, "", 0},
		{"a limit that no chip has", map[string]string{at + "2/name": "k10temp", at + "2/temp1_input": "66500", at + "2/temp1_crit": "65261850"}, "", 66.5},
		{"a small board", map[string]string{"sys/class/thermal/thermal_zone0/type": "cpu-thermal", "sys/class/thermal/thermal_zone0/temp": "79000",
			"sys/class/thermal/thermal_zone0/trip_point_0_type": "passive", "sys/class/thermal/thermal_zone0/trip_point_0_temp": "60000",
			"sys/class/thermal/thermal_zone0/trip_point_1_type": "critical", "sys/class/thermal/thermal_zone0/trip_point_1_temp": "85000"}, HeatWarm, 79},
	} {
		heat, celsius := (&Reader{sys: lay(t, c.files)}).heat(t.Context(), time.Unix(0, 0))
		if heat.V != c.want || heat.Known != (c.want != "") || celsius.V != c.celsius || celsius.Known != (c.celsius != 0) {
			t.Errorf("%s: %+v at %+v, want %q at %v", c.name, heat, celsius, c.want, c.celsius)
		}
		if !heat.Known && heat.Reason == "" {
			t.Errorf("%s: unknown without a reason", c.name)
		}
	}
}

func TestProcessorThatSlowedDownIsHotForAMinute(t *testing.T) {
	const count = "sys/devices/system/cpu/cpu1/thermal_throttle/core_throttle_count"
	s := lay(t, map[string]string{count: "7"})
	r, now := &Reader{sys: s}, time.Unix(1000, 0)
	step := func(after time.Duration, text string, want Heat) {
		t.Helper()
		if err := os.WriteFile(filepath.Join(s.root, count), []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
		now = now.Add(after)
		if got, _ := r.heat(t.Context(), now); got.V != want {
			t.Errorf("count %s: %+v, want %q", text, got, want)
		}
	}
	step(0, "7", "") // it may have slowed down long ago
	step(5*time.Second, "7", HeatNormal)
	step(5*time.Second, "9", HeatHot)
	step(55*time.Second, "9", HeatHot)
	step(10*time.Second, "9", HeatNormal)
}
