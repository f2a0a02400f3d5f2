package main

import (
	"reflect"
	"testing"

	"bellwether/engine/runtime/runtimetest"
)

func TestModelFlagReadsNameSizeAndProperties(t *testing.T) {
	got, err := parseModel("qwen3:8b=5.2GB,ctx=32768,caps=completion+tools,params=8B,quant=Q4_K_M,tokens=200,coding=0.9,all=0.2")
	if err != nil {
		t.Fatal(err)
	}
	want := runtimetest.FakeModel{Name: "qwen3:8b", Size: 5_583_457_484, Context: 32768, Parameters: 8_000_000_000,
		Capabilities: []string{"completion", "tools"}, Quant: "Q4_K_M", Tokens: 200, Strength: map[string]float64{"coding": 0.9, "": 0.2}}
	if !reflect.DeepEqual(got, want) {
		t.Errorf("got  %+v\nwant %+v", got, want)
	}
}

func TestModelFlagRefusesWhatItDoesNotKnow(t *testing.T) {
	for _, spec := range []string{"", "=4GB", "m=big", "m,coding=2", "m,math=well", "m,speed=3", "m,ctx=many"} {
		if m, err := parseModel(spec); err == nil {
			t.Errorf("%q: got %+v, want an error", spec, m)
		}
	}
}

func TestSizesAreReadAsTheProductCountsThem(t *testing.T) {
	for text, want := range map[string]bytes{"16GB": 16 << 30, "16GiB": 16 << 30, "512mb": 512 << 20, "1.5G": 3 << 29, "100": 100} {
		var got bytes
		if err := got.UnmarshalText([]byte(text)); err != nil || got != want {
			t.Errorf("%s: got %d %v, want %d", text, got, err, want)
		}
	}
}
