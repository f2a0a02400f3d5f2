//go:build !linux && !darwin && !windows

package sense

import "context"

type system struct{}

func thisSystem() system { return system{} }

func (system) memory(context.Context) (total, available Reading[int64]) {
	return unknown[int64](NotAvailable), unknown[int64](NotAvailable)
}

func (system) pressure(_, _ Reading[int64]) Reading[Pressure] {
	return unknown[Pressure](NotAvailable)
}

func (system) cpu(context.Context) (cpuTimes, Reading[float64]) {
	return cpuTimes{}, unknown[float64](NotAvailable)
}

func (system) battery(context.Context) Reading[bool] { return unknown[bool](NotAvailable) }

func (system) cards() []VRAM { return nil }

func (system) thermals(context.Context) thermals { return noThermals(NotAvailable) }
