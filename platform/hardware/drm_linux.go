package hardware

import (
	"bufio"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
)

// Makers by PCI vendor id.
const (
	vendorAMD   = "0x1002"
	vendorIntel = "0x8086"
)

// drmGPUs lists AMD's and Intel's cards from sysfs (NVIDIA's come from
// nvidia-smi). apu is true when a graphics unit shares the system's memory and
// is worth running models on: an AMD one that the compute driver knows.
func (l linux) drmGPUs() (gpus []GPU, apu bool) {
	cards, _ := filepath.Glob(filepath.Join(l.root, "sys/class/drm/card[0-9]*"))
	slices.Sort(cards)
	shared := l.kfdShared()
	for _, card := range cards {
		if strings.Contains(filepath.Base(card), "-") {
			continue // a connector: card0-DP-1
		}
		dev := l.rel(card, "device")
		switch l.read(dev, "vendor") {
		case vendorAMD:
			if shared[l.read(dev, "device")] {
				apu = true
				continue
			}
			gpus = append(gpus, l.amd(dev))
		case vendorIntel:
			if g, discrete := l.intel(dev); discrete {
				gpus = append(gpus, g)
			}
		}
	}
	return gpus, apu
}

func (l linux) amd(dev string) GPU {
	g := GPU{ID: l.pciAddress(dev), Name: l.read(dev, "product_name")}
	if g.Name == "" {
		g.Name = l.pciName(vendorAMD, l.read(dev, "device"))
	}
	if n, err := strconv.ParseInt(l.read(dev, "mem_info_vram_total"), 10, 64); err == nil && n > 0 {
		g.VRAM = known(n, "sysfs mem_info_vram_total")
	} else {
		g.VRAM = unknown[int64]("the driver does not report mem_info_vram_total")
	}
	g.Bandwidth = bandwidthOf(cards, g.Name, g.VRAM.V, 0)
	return g
}

// intel reports a card only when it is certainly a discrete one: named Arc (or
// Flex, Max) in the PCI list. Intel's drivers tell its memory to nobody
// unprivileged, so that stays unknown.
func (l linux) intel(dev string) (g GPU, discrete bool) {
	g = GPU{ID: l.pciAddress(dev), Name: l.pciName(vendorIntel, l.read(dev, "device"))}
	if !strings.Contains(g.Name, "[Arc ") && !strings.Contains(g.Name, "Data Center GPU") {
		return g, false
	}
	g.VRAM = unknown[int64]("Intel's driver does not report it")
	g.Bandwidth = bandwidthOf(cards, g.Name, 0, 0)
	return g, true
}

// kfdShared lists the PCI device ids of graphics units that share the CPU's
// memory: the compute driver's node has both CPU cores and SIMDs.
func (l linux) kfdShared() map[string]bool {
	out := map[string]bool{}
	nodes, _ := filepath.Glob(filepath.Join(l.root, "sys/class/kfd/kfd/topology/nodes/*"))
	for _, node := range nodes {
		prop := map[string]int64{}
		for line := range strings.Lines(l.read(l.rel(node, "properties"))) {
			if key, value, ok := strings.Cut(strings.TrimSpace(line), " "); ok {
				prop[key], _ = strconv.ParseInt(value, 10, 64)
			}
		}
		if prop["cpu_cores_count"] > 0 && prop["simd_count"] > 0 {
			out["0x"+strconv.FormatInt(prop["device_id"], 16)] = true
		}
	}
	return out
}

func (l linux) rel(path, name string) string {
	r, err := filepath.Rel(l.root, filepath.Join(path, name))
	if err != nil {
		return path
	}
	return r
}

// pciAddress is the name of the device folder the link leads to (0000:03:00.0).
func (l linux) pciAddress(dev string) string {
	real, err := filepath.EvalSymlinks(filepath.Join(l.root, dev))
	if err != nil {
		return dev
	}
	return filepath.Base(real)
}

// pciName looks the device up in the system's list of PCI ids. Several
// products may share one id; the list then names them all, parted by slashes.
func (l linux) pciName(vendor, device string) string {
	fallback := strings.TrimPrefix(vendor, "0x") + ":" + strings.TrimPrefix(device, "0x")
	for _, path := range []string{"usr/share/misc/pci.ids", "usr/share/hwdata/pci.ids"} {
		f, err := os.Open(filepath.Join(l.root, path))
		if err != nil {
			continue
		}
		name := pciLookup(f, strings.TrimPrefix(vendor, "0x"), strings.TrimPrefix(device, "0x"))
		f.Close()
		if name != "" {
			return name
		}
	}
	return fallback
}

func pciLookup(f *os.File, vendor, device string) string {
	inside := false
	for s := bufio.NewScanner(f); s.Scan(); {
		line := s.Text()
		switch {
		case line == "" || line[0] == '#' || strings.HasPrefix(line, "\t\t"):
		case line[0] != '\t':
			inside = strings.HasPrefix(line, vendor+" ")
		case inside && strings.HasPrefix(line[1:], device+" "):
			return strings.TrimSpace(line[1+len(device):])
		}
	}
	return ""
}
