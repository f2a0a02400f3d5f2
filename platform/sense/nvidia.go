package sense

import (
	"context"
	"strconv"
	"strings"
	"time"
)

// nvidia asks nvidia-smi for each card's memory. A machine without the tool,
// or whose tool keeps failing, is not asked again for a while: starting it
// every few seconds is not free.
func (r *Reader) nvidia(ctx context.Context) []VRAM {
	r.mu.Lock()
	if r.smiPath == "" && time.Since(r.smiGone) > toolRetry {
		r.smiPath = findTool("nvidia-smi", "/usr/bin/nvidia-smi", "/usr/lib/wsl/lib/nvidia-smi", "/opt/bin/nvidia-smi",
			`C:\Windows\System32\nvidia-smi.exe`, `C:\Program Files\NVIDIA Corporation\NVSMI\nvidia-smi.exe`)
		if r.smiPath == "" {
			r.smiGone = time.Now()
		}
	}
	path := r.smiPath
	r.mu.Unlock()
	if path == "" {
		return nil
	}
	out, err := tool(ctx, path, "--query-gpu=uuid,name,memory.total,memory.free", "--format=csv,noheader,nounits")
	r.mu.Lock()
	defer r.mu.Unlock()
	if err == nil {
		r.smiFails = 0
		return parseSMI(string(out))
	}
	if r.smiFails++; r.smiFails >= 3 {
		r.smiPath, r.smiGone, r.smiFails = "", time.Now(), 0
	}
	return nil
}

// parseSMI reads nvidia-smi's lines: uuid, name, total MiB, free MiB. A card
// that shares the system's memory says "[N/A]" or "[Not Supported]".
func parseSMI(out string) []VRAM {
	var cards []VRAM
	for line := range strings.Lines(out) {
		cell := strings.Split(strings.TrimSpace(line), ",")
		if len(cell) < 4 {
			continue
		}
		cards = append(cards, VRAM{
			ID: strings.TrimSpace(cell[0]), Name: strings.TrimSpace(cell[1]),
			Total: mebibytes(cell[2]), Free: mebibytes(cell[3]),
		})
	}
	return cards
}

func mebibytes(cell string) Reading[int64] {
	n, err := strconv.ParseInt(strings.TrimSpace(cell), 10, 64)
	if err != nil {
		return unknown[int64](Reason("nvidia-smi says " + strings.TrimSpace(cell)))
	}
	return known(n<<20, "nvidia-smi")
}
