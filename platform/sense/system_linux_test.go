package sense

import (
	"os"
	"path/filepath"
	"testing"
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
