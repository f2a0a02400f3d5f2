package hardware

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"testing"
)

// lay writes a system's files below a new root.
func lay(t *testing.T, files map[string]string) string {
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
	return root
}

func says(out string) runner {
	return func(context.Context, string, ...string) ([]byte, error) {
		if out == "" {
			return nil, errors.New("not installed")
		}
		return []byte(out), nil
	}
}

const meminfo = "MemTotal:       65536000 kB\nMemFree:        1 kB\n"

func TestEveryNvidiaCardIsAPart(t *testing.T) {
	l := linux{root: lay(t, map[string]string{"proc/meminfo": meminfo, "proc/cpuinfo": "model name\t: AMD Ryzen 9 7950X\n"}),
		run: says("GPU-aaa, NVIDIA GeForce RTX 3090, 24576\nGPU-bbb, NVIDIA GeForce RTX 3060, 12288\n")}
	f := l.find(t.Context())
	if f.Chip != "AMD Ryzen 9 7950X" || f.Memory.V != 65536000<<10 || f.Unified {
		t.Errorf("facts = %+v", f)
	}
	if len(f.GPUs) != 2 || f.GPUs[0].VRAM.V != 24*gib || f.GPUs[1].Bandwidth.V != 360 || f.GPUs[0].ID != "GPU-aaa" {
		t.Errorf("GPUs = %+v, want both with their memory", f.GPUs)
	}
}

func TestNvidiaWithoutMemoryOfItsOwnIsUnified(t *testing.T) {
	l := linux{root: lay(t, map[string]string{"proc/meminfo": meminfo}),
		run: says("GPU-ccc, NVIDIA GB10, [N/A]\n")}
	f := l.find(t.Context())
	if !f.Unified || len(f.GPUs) != 0 || f.Bandwidth.V != 273 {
		t.Errorf("facts = %+v, want unified at 273 GB/s, never a card of 0 bytes", f)
	}
}

func TestRadeonCardsAndUnitsAreToldApart(t *testing.T) {
	card := map[string]string{
		"proc/meminfo":                                   meminfo,
		"sys/class/drm/card1/device/vendor":              "0x1002\n",
		"sys/class/drm/card1/device/device":              "0x744c\n",
		"sys/class/drm/card1/device/mem_info_vram_total": "25753026560\n",
		"sys/class/drm/card1-DP-1/status":                "connected\n",
		"usr/share/misc/pci.ids":                         "1002  Advanced Micro Devices\n\t744c  Navi 31 [Radeon RX 7900 XT/7900 XTX/7900 GRE/7900M]\n\t\t1002 0e3b  RX 7900\n8086  Intel\n\t744c  wrong vendor\n",
	}
	f := linux{root: lay(t, card), run: says("")}.find(t.Context())
	if len(f.GPUs) != 1 || f.GPUs[0].VRAM.V != 25753026560 || f.GPUs[0].Bandwidth.V != 960 || f.Unified {
		t.Errorf("discrete card: %+v", f)
	}
	unit := map[string]string{
		"proc/meminfo":                                   meminfo,
		"proc/cpuinfo":                                   "model name\t: AMD RYZEN AI MAX+ 395 w/ Radeon 8060S\n",
		"sys/class/drm/card0/device/vendor":              "0x1002\n",
		"sys/class/drm/card0/device/device":              "0x1586\n",
		"sys/class/drm/card0/device/mem_info_vram_total": "536870912\n",
		"sys/class/kfd/kfd/topology/nodes/0/properties":  "cpu_cores_count 32\nsimd_count 80\ndevice_id 5510\n",
	}
	f = linux{root: lay(t, unit), run: says("")}.find(t.Context())
	if !f.Unified || len(f.GPUs) != 0 || overall(f).V != 256 {
		t.Errorf("APU: %+v, want unified memory and no 512 MB card", f)
	}
}

func TestIntelUnitIsNoCardAndArcHasUnknownMemory(t *testing.T) {
	files := map[string]string{
		"proc/meminfo":                      meminfo,
		"sys/class/drm/card0/device/vendor": "0x8086", "sys/class/drm/card0/device/device": "0x4680",
		"sys/class/drm/card1/device/vendor": "0x8086", "sys/class/drm/card1/device/device": "0xe20b",
		"usr/share/hwdata/pci.ids": "8086  Intel Corporation\n\t4680  AlderLake-S GT1\n\te20b  Battlemage G21 [Arc B580]\n",
	}
	f := linux{root: lay(t, files), run: says("")}.find(t.Context())
	if len(f.GPUs) != 1 || f.GPUs[0].VRAM.Known || f.GPUs[0].Bandwidth.V != 456 {
		t.Errorf("GPUs = %+v, want the Arc alone, its memory unknown", f.GPUs)
	}
}

func TestRAMBandwidthNeedsNamedChannels(t *testing.T) {
	dmi := func(locators ...string) string {
		text := ""
		for i, l := range locators {
			n := string(rune('0' + i))
			text += "E:MEMORY_DEVICE_" + n + "_LOCATOR=" + l + "\nE:MEMORY_DEVICE_" + n + "_CONFIGURED_SPEED_MTS=5600\n"
		}
		return text
	}
	for _, c := range []struct {
		name, dmi string
		want      float64
	}{
		{"two channels, four modules", dmi("ChannelA-DIMM0", "ChannelA-DIMM1", "ChannelB-DIMM0", "ChannelB-DIMM1"), 89.6},
		{"one channel", dmi("P0 CHANNEL A"), 44.8},
		{"two sockets number theirs alike", dmi("P0 CHANNEL A", "P1 CHANNEL A"), 89.6},
		{"unnamed", dmi("DIMM_A1", "DIMM_B1"), 0},
		{"nothing readable", "", 0},
	} {
		root := lay(t, map[string]string{"run/udev/data/+dmi:id": c.dmi})
		got := linux{root: root}.ramBandwidth()
		if got.Known != (c.want > 0) || got.V != c.want {
			t.Errorf("%s: %+v, want %v", c.name, got, c.want)
		}
	}
}

func TestThisMachineIsFound(t *testing.T) {
	f := Find(t.Context())
	if f.Cores < 1 || !f.Memory.Known || f.Memory.V < 1<<28 || f.Chip == "" {
		t.Errorf("facts = %+v", f)
	}
	t.Logf("%+v", f)
}
