package hardware

import (
	"context"
	"strings"

	"github.com/shirou/gopsutil/v3/mem"
	"golang.org/x/sys/windows/registry"
)

func find(ctx context.Context) Facts {
	f := Facts{
		Chip:     registryString(`HARDWARE\DESCRIPTION\System\CentralProcessor\0`, "ProcessorNameString"),
		Memory:   unknown[int64]("GlobalMemoryStatusEx failed"),
		GPULimit: unknown[int64]("not available here"),
	}
	if m, err := mem.VirtualMemoryWithContext(ctx); err == nil {
		f.Memory = known(int64(m.Total), "GlobalMemoryStatusEx")
	}
	nvidia, shared := nvidiaGPUs(ctx, run)
	for _, g := range nvidia {
		if g.VRAM.Known {
			f.GPUs = append(f.GPUs, g)
		}
	}
	others, apu := adapters()
	f.GPUs = append(f.GPUs, others...)
	f.Unified = (shared || apu) && len(f.GPUs) == 0
	return f
}

// displayClass is the registry's list of display adapters. Its memory sizes
// are 64-bit and right for discrete cards, unlike WMI's.
const displayClass = `SYSTEM\CurrentControlSet\Control\Class\{4d36e968-e325-11ce-bfc1-08002be10318}`

// adapters lists AMD's and Intel's discrete cards (NVIDIA's come from
// nvidia-smi); apu is true for an AMD graphics unit made for large models in
// system memory.
func adapters() (gpus []GPU, apu bool) {
	class, err := registry.OpenKey(registry.LOCAL_MACHINE, displayClass, registry.ENUMERATE_SUB_KEYS)
	if err != nil {
		return nil, false
	}
	defer class.Close()
	names, _ := class.ReadSubKeyNames(-1)
	for _, n := range names {
		k, err := registry.OpenKey(class, n, registry.QUERY_VALUE)
		if err != nil {
			continue
		}
		name, _, _ := k.GetStringValue("DriverDesc")
		bytes, _, err := k.GetIntegerValue("HardwareInformation.qwMemorySize")
		k.Close()
		switch {
		case strings.Contains(name, "8060S") || strings.Contains(name, "8050S"):
			apu = true
		case strings.Contains(name, "Radeon RX") || strings.Contains(name, "Radeon PRO") ||
			strings.Contains(name, "Radeon AI PRO") || strings.Contains(name, "Arc(TM) A") || strings.Contains(name, "Arc(TM) B"):
			g := GPU{Name: name, ID: "adapter " + n, VRAM: unknown[int64]("the driver does not report it")}
			if err == nil && bytes > 0 {
				g.VRAM = known(int64(bytes), "registry qwMemorySize")
			}
			g.Bandwidth = bandwidthOf(cards, name, g.VRAM.V, 0)
			gpus = append(gpus, g)
		}
	}
	return gpus, apu
}

func registryString(path, name string) string {
	k, err := registry.OpenKey(registry.LOCAL_MACHINE, path, registry.QUERY_VALUE)
	if err != nil {
		return ""
	}
	defer k.Close()
	s, _, _ := k.GetStringValue(name)
	return strings.TrimSpace(s)
}
