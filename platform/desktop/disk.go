package desktop

import (
	"context"
	"fmt"

	"github.com/shirou/gopsutil/v3/disk"
)

// Space is how much a disk holds. Bytes.
type Space struct{ Free, Total int64 }

// SpaceAt returns the room on the disk that holds a folder, as far as this
// user may use it.
func SpaceAt(ctx context.Context, folder string) (Space, error) {
	u, err := disk.UsageWithContext(ctx, folder)
	if err != nil {
		return Space{}, fmt.Errorf("look at the disk: %w", err)
	}
	return Space{Free: int64(u.Free), Total: int64(u.Total)}, nil
}
