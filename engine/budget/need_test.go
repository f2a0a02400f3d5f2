package budget

import (
	"testing"

	"bellwether/engine/fleet"
)

var gpuAndRAM = []fleet.Pool{{Name: "gpu0", Kind: fleet.PoolVRAM}, {Name: "ram", Kind: fleet.PoolRAM}}

func TestNeedIsSplitAsTheRuntimeReports(t *testing.T) {
	rt := &fleet.RuntimeState{Name: "ollama", Pool: "gpu0"}
	d := &fleet.Deployment{ResidentBytes: 10, ResidentVRAM: 6, WeightsBytes: 9}
	n := NeedOf(d, rt, gpuAndRAM)
	gpu, _ := n.in("gpu0")
	ram, _ := n.in("ram")
	if gpu != fleet.Know[int64](6) || ram != fleet.Know[int64](4) || n.Label != Measured {
		t.Errorf("got %+v", n)
	}
	if total, known := n.Total(); total != 10 || !known {
		t.Errorf("total %d %v", total, known)
	}
}

func TestNeedNotYetMeasuredGoesToTheMainPool(t *testing.T) {
	rt := &fleet.RuntimeState{Name: "ollama", Pool: "gpu0"}
	n := NeedOf(&fleet.Deployment{WeightsBytes: 100}, rt, gpuAndRAM)
	if len(n.Shares) != 1 || n.Shares[0] != (Share{"gpu0", fleet.Know[int64](115)}) || n.Label != Estimate {
		t.Errorf("got %+v, want weights x 1.15 on gpu0", n)
	}
	n = NeedOf(&fleet.Deployment{}, rt, gpuAndRAM)
	if len(n.Shares) != 1 || n.Shares[0].Bytes.Known || n.Label != Unknown {
		t.Errorf("got %+v, want an unknown size on gpu0", n)
	}
}

// M-06: unified memory is one pool, counted once.
func TestUnifiedMemoryIsOnePoolCountedOnce(t *testing.T) {
	rt := &fleet.RuntimeState{Name: "ollama", Pool: "unified"}
	d := &fleet.Deployment{ResidentBytes: 10, ResidentVRAM: 6}
	n := NeedOf(d, rt, []fleet.Pool{{Name: "unified", Kind: fleet.PoolUnified}})
	if len(n.Shares) != 1 || n.Shares[0] != (Share{"unified", fleet.Know[int64](10)}) {
		t.Errorf("got %+v", n)
	}
}

func TestResizedKeepsTheSplit(t *testing.T) {
	n := Need{Label: Measured, Shares: []Share{{"gpu0", fleet.Know[int64](60)}, {"ram", fleet.Know[int64](40)}}}
	r := n.Resized(200)
	if r.Shares[0].Bytes.V != 120 || r.Shares[1].Bytes.V != 80 || r.Label != Estimate {
		t.Errorf("got %+v", r)
	}
	if n.Shares[0].Bytes.V != 60 {
		t.Error("the original changed")
	}
	if same := n.Resized(100); same.Label != Measured {
		t.Errorf("the same size is still measured, got %q", same.Label)
	}
	u := Need{Label: Unknown, Shares: []Share{{Pool: "gpu0"}}}.Resized(50)
	if u.Shares[0].Bytes != fleet.Know[int64](50) || u.Label != Estimate {
		t.Errorf("got %+v", u)
	}
}

func TestSumCountsADeploymentOnceAndResidentFirst(t *testing.T) {
	h := func(m string, k fleet.HoldKind, n int64) fleet.Holder {
		return fleet.Holder{Deployment: id(m), Kind: k, Bytes: fleet.Know(n)}
	}
	p := &fleet.Pool{Holders: []fleet.Holder{
		h("a", fleet.HoldAssumed, 8), h("a", fleet.HoldReserved, 9), h("a", fleet.HoldResident, 8),
		h("b", fleet.HoldAssumed, 5), {Deployment: id("c"), Kind: fleet.HoldReserved},
	}}
	got := Sum(p)
	if want := (Totals{Resident: 8, Reserved: 1, Assumed: 5, Unknown: 1}); got != want {
		t.Errorf("got %+v, want %+v", got, want)
	}
	if got.Held() != p.Held() {
		t.Errorf("Held %d, pool says %d", got.Held(), p.Held())
	}
}
