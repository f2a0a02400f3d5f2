package sense

import "testing"

const vmstat = `Mach Virtual Memory Statistics: (page size of 16384 bytes)
Pages free:                              100000.
Pages active:                            300000.
Pages inactive:                          280000.
Pages speculative:                        20000.
Pages throttled:                              0.
Pages wired down:                        150000.
Pages purgeable:                          10000.
"Translation faults":                 123456789.
Pages copy-on-write:                    1234567.
File-backed pages:                       200000.
Anonymous pages:                         400000.
Pages stored in compressor:              500000.
Pages occupied by compressor:            100000.
`

func TestMacAvailableCountsNoDirtyPages(t *testing.T) {
	total := int64(16) << 30
	got, ok := vmstatAvailable(vmstat, total)
	want := total - (300000+280000+20000+150000+100000-10000-200000)*16384
	if !ok || got != want {
		t.Errorf("available = %d, %v, want %d", got, ok, want)
	}
	if _, ok := vmstatAvailable("Pages free: 3.\n", total); ok {
		t.Error("half an answer was taken for a whole one")
	}
}

func TestSMIReportsEveryCardAndUnknownStaysUnknown(t *testing.T) {
	got := parseSMI("GPU-a, NVIDIA GeForce RTX 3090, 24576, 20000\nGPU-b, NVIDIA GB10, [N/A], [N/A]\n\n")
	if len(got) != 2 || got[0].Free.V != 20000<<20 || got[1].Free.Known || got[1].Total.Known {
		t.Errorf("cards = %+v", got)
	}
}

func TestThisMachineIsRead(t *testing.T) {
	r := NewReader()
	first := r.Read(t.Context())
	if !first.Total.Known || !first.Available.Known || first.Available.V > first.Total.V || first.Available.V <= 0 {
		t.Errorf("memory: %+v of %+v", first.Available, first.Total)
	}
	if first.Meeting.Known || first.Meeting.Reason != NotAvailable {
		t.Errorf("meeting = %+v, want unknown: no source yet", first.Meeting)
	}
	t.Logf("%+v", r.Read(t.Context()))
}

func TestMacSaysItsOwnLevelOfHeat(t *testing.T) {
	for text, want := range map[string]Heat{
		notifyKey + " 0\n": HeatNormal, notifyKey + " 1\n": HeatWarm, notifyKey + " 2\n": HeatHot, notifyKey + " 4\n": HeatHot,
		"": "", notifyKey: "", notifyKey + " warm": "",
	} {
		if got := parseNotify(text); got.V != want || got.Known != (want != "") {
			t.Errorf("%q: %+v, want %q", text, got, want)
		}
	}
}
