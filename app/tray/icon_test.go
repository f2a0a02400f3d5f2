package tray

import (
	"bytes"
	"encoding/binary"
	"image"
	"image/color"
	"image/png"
	"testing"
)

var signs = []Sign{SignStarting, SignServing, SignPaused, SignRouter, SignTrouble}

// T-08 and people who see no colours: each state has a shape of its own, at the
// sizes that bars show, and as macOS shows it, in one colour.
func TestStatesDifferByShapeNotOnlyByColour(t *testing.T) {
	for _, size := range []int{16, 22, 44} {
		for i, a := range signs {
			for _, b := range signs[i+1:] {
				one, two := Icon{Sign: a}.draw(size, template), Icon{Sign: b}.draw(size, template)
				if d := differing(one, two); d < size*size/64 {
					t.Errorf("%v and %v differ in %d of %d points at %d", a, b, d, size*size, size)
				}
			}
		}
	}
}

// differing counts the points that are clearly of one shape only.
func differing(a, b *image.NRGBA) (n int) {
	for i := 3; i < len(a.Pix); i += 4 {
		if d := int(a.Pix[i]) - int(b.Pix[i]); d > 96 || d < -96 {
			n++
		}
	}
	return n
}

func TestTheIconIsSeenOnAnyBar(t *testing.T) {
	for _, sign := range signs {
		m := Icon{Sign: sign}.draw(44, onAnything)
		for name, bar := range map[string]color.NRGBA{"white": white, "black": black, "grey": {128, 128, 128, 255}} {
			seen := 0
			for y := range 44 {
				for x := range 44 {
					if c := m.NRGBAAt(x, y); c.A > 200 && contrast(c, bar) > 60 {
						seen++
					}
				}
			}
			if seen < 60 {
				t.Errorf("%v on %s: %d points stand out", sign, name, seen)
			}
		}
	}
}

func contrast(a, b color.NRGBA) int {
	d := func(x, y byte) int { return max(int(x)-int(y), int(y)-int(x)) }
	return max(d(a.R, b.R), d(a.G, b.G), d(a.B, b.B))
}

func TestTheCountIsOnTheIcon(t *testing.T) {
	bare := Icon{Sign: SignServing}.draw(44, onAnything)
	var before *image.NRGBA
	for _, n := range []int{1, 7, 12, 99, 100} {
		m := Icon{Sign: SignServing, Count: n}.draw(44, onAnything)
		corner := 0
		for y := 22; y < 44; y++ {
			for x := 22; x < 44; x++ {
				if m.NRGBAAt(x, y) != bare.NRGBAAt(x, y) {
					corner++
				}
			}
		}
		if corner < 100 {
			t.Errorf("%d: %d points of the corner changed", n, corner)
		}
		if before != nil && bytes.Equal(before.Pix, m.Pix) {
			t.Errorf("%d looks like the one before", n)
		}
		before = m
	}
	if got, want := (Icon{Count: 500}).badge(), "+"; got != want {
		t.Errorf("badge %q", got)
	}
}

func TestTheTemplateIsBlackAndAlphaOnly(t *testing.T) {
	for _, sign := range signs {
		m, err := png.Decode(bytes.NewReader(Icon{Sign: sign, Count: 3}.Template()))
		if err != nil || m.Bounds() != image.Rect(0, 0, iconSize, iconSize) {
			t.Fatal(err, m.Bounds())
		}
		for y := range iconSize {
			for x := range iconSize {
				if r, g, b, _ := m.At(x, y).RGBA(); r|g|b != 0 {
					t.Fatalf("%v: a colour at %d,%d", sign, x, y)
				}
			}
		}
	}
}

// The library for Linux takes low bytes of products; the panel still gets what
// was drawn, and whoever reads the picture as it should be, nearly so.
func TestThePanelGetsTheColoursAsDrawn(t *testing.T) {
	icon := Icon{Sign: SignRouter, Count: 7}
	drawn := icon.draw(iconSize, onAnything)
	read, err := png.Decode(bytes.NewReader(icon.PNG()))
	if err != nil {
		t.Fatal(err)
	}
	for y := range iconSize {
		for x := range iconSize {
			want := drawn.NRGBAAt(x, y)
			r, g, b, a := read.At(x, y).RGBA()
			if got := (color.NRGBA{byte(r), byte(g), byte(b), byte(a)}); want.A > 0 && got != want {
				t.Fatalf("point %d,%d: %v, drawn %v", x, y, got, want)
			}
			usual := color.NRGBAModel.Convert(read.At(x, y)).(color.NRGBA)
			if want.A > 64 && contrast(usual, want) > 4 {
				t.Fatalf("point %d,%d is read as %v, drawn %v", x, y, usual, want)
			}
		}
	}
}

// What Windows reads: the folder of images, and each as it was drawn.
func TestTheICOHoldsEverySizeForLightAndDark(t *testing.T) {
	dark, light := Icon{Sign: SignPaused, Count: 12}.ICO(false), Icon{Sign: SignPaused, Count: 12}.ICO(true)
	if bytes.Equal(dark, light) {
		t.Error("one icon for light and dark bars")
	}
	if n := binary.LittleEndian.Uint16(dark[4:]); dark[2] != 1 || int(n) != len(icoSizes) {
		t.Fatalf("kind %d, %d images", dark[2], n)
	}
	for i, size := range icoSizes {
		entry := dark[6+16*i:]
		length, offset := binary.LittleEndian.Uint32(entry[8:]), binary.LittleEndian.Uint32(entry[12:])
		if int(entry[0]) != size || int(offset+length) > len(dark) {
			t.Fatalf("image %d: %d wide, %d bytes from %d of %d", i, entry[0], length, offset, len(dark))
		}
		bits := dark[offset : offset+length]
		if h := binary.LittleEndian.Uint32(bits[8:]); h != uint32(2*size) {
			t.Errorf("height %d", h)
		}
		want := Icon{Sign: SignPaused, Count: 12}.draw(size, onDark)
		for y := range size {
			for x := range size {
				p := bits[40+4*((size-1-y)*size+x):]
				if got := (color.NRGBA{p[2], p[1], p[0], p[3]}); got != want.NRGBAAt(x, y) {
					t.Fatalf("%d: point %d,%d is %v, drawn %v", size, x, y, got, want.NRGBAAt(x, y))
				}
			}
		}
	}
}
