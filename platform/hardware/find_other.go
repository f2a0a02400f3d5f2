//go:build !linux && !darwin && !windows

package hardware

import (
	"context"
	"runtime"
)

func find(context.Context) Facts {
	return Facts{
		Chip:      runtime.GOARCH,
		Memory:    unknown[int64]("not available here"),
		GPULimit:  unknown[int64]("not available here"),
		Bandwidth: unknown[float64]("not available here"),
	}
}
