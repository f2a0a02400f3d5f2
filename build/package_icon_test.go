package main

import (
	"bytes"
	"encoding/binary"
	"image/color"
	"image/png"
	"os"
	"strings"
	"testing"
)

// The window carries its picture as a file, for it is built without this program.
func TestTheWindowsIconIsTheDrawing(t *testing.T) {
	if err := toModuleRoot(); err != nil {
		t.Fatal(err)
	}
	kept, err := png.Decode(bytes.NewReader(must(os.ReadFile("cmd/bellwether-window/icon.png"))))
	if err != nil {
		t.Fatal(err)
	}
	want := must(icon(kept.Bounds().Dx()))
	if kept.Bounds() != want.Bounds() {
		t.Fatalf("it is %v", kept.Bounds())
	}
	for y := range want.Bounds().Dy() {
		for x := range want.Bounds().Dx() {
			r, g, b, a := kept.At(x, y).RGBA()
			r2, g2, b2, a2 := want.At(x, y).RGBA()
			for _, d := range [][2]uint32{{r, r2}, {g, g2}, {b, b2}, {a, a2}} {
				if max(d[0], d[1])-min(d[0], d[1]) > 8<<8 { // processors round differently
					t.Fatalf("it differs at %d, %d: draw it anew, %d pixels wide, with iconPNG", x, y, want.Bounds().Dx())
				}
			}
		}
	}
}

func TestIconIsPaintedAtEverySize(t *testing.T) {
	for _, size := range []int{16, 32, 48, 256} {
		text, err := iconPNG(size)
		if err != nil {
			t.Fatal(err)
		}
		m, err := png.Decode(bytes.NewReader(text))
		if err != nil {
			t.Fatal(err)
		}
		if got := m.Bounds().Dx(); got != size || m.Bounds().Dy() != size {
			t.Errorf("icon of %d pixels: got %v", size, m.Bounds())
		}
		seen := map[color.Color]int{}
		for y := range size {
			for x := range size {
				seen[m.At(x, y)]++
			}
		}
		ground, bell := color.NRGBA{0x14, 0x55, 0x5b, 255}, color.NRGBA{0xf0, 0xc3, 0x6b, 255}
		if seen[ground] < size*size/5 || seen[bell] < size*size/40 {
			t.Errorf("icon of %d pixels: %d of the ground, %d of the bell", size, seen[ground], seen[bell])
		}
		if _, _, _, a := m.At(0, 0).RGBA(); a > 0x9000 {
			t.Errorf("icon of %d pixels: its corner is not round", size)
		}
	}
}

func TestDrawingBeyondTheKnownPartOfSVGIsAnError(t *testing.T) {
	for _, svg := range []string{
		`<svg viewBox="0 0 8 8"><path fill="#000000" d="M1 1 A2 2 0 0 1 3 3"/></svg>`,
		`<svg viewBox="0 0 8 8"><path fill="#000000" d="M1 1 C1 2 3"/></svg>`,
		`<svg viewBox="0 0 8 8"><path fill="red" d="M1 1 Z"/></svg>`,
		`<svg viewBox="a square"><path fill="#000000" d="M1 1 Z"/></svg>`,
	} {
		d, err := parseDrawing([]byte(svg))
		if err == nil {
			_, err = d.paint(8)
		}
		if err == nil {
			t.Errorf("no error for %s", svg)
		}
	}
}

// Every picture is found by following the lengths, as macOS does.
func TestIcnsHoldsEverySize(t *testing.T) {
	file, err := icns()
	if err != nil {
		t.Fatal(err)
	}
	if string(file[:4]) != "icns" || int(binary.BigEndian.Uint32(file[4:])) != len(file) {
		t.Fatalf("its head is % x for %d bytes", file[:8], len(file))
	}
	var kinds []string
	for rest := file[8:]; len(rest) > 0; {
		length := int(binary.BigEndian.Uint32(rest[4:]))
		m, err := png.DecodeConfig(bytes.NewReader(rest[8:length]))
		if err != nil {
			t.Fatalf("%s: %v", rest[:4], err)
		}
		if k := icnsKinds[len(kinds)]; m.Width != k.side {
			t.Errorf("%s is %d pixels wide, want %d", rest[:4], m.Width, k.side)
		}
		kinds = append(kinds, string(rest[:4]))
		rest = rest[length:]
	}
	if got := strings.Join(kinds, " "); len(kinds) != len(icnsKinds) {
		t.Errorf("kinds: %s", got)
	}
}
