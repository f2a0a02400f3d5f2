package tray

import (
	"bytes"
	"fmt"
	"image"
	"image/color"
	"image/png"
)

// Icon is what the icon in the bar says.
type Icon struct {
	Sign  Sign
	Count int // running requests, shown from 1 on
}

// Sign is a state of the icon. Each has a shape of its own beside its colour:
// some people do not see the colours, and macOS shows none.
type Sign int

// The signs.
const (
	SignStarting Sign = iota // an empty bell, grey
	SignServing              // a bell, green
	SignPaused               // a bell with two bars, amber
	SignRouter               // a bell that rings, blue
	SignTrouble              // a bell with an exclamation mark, red
)

func (s Sign) String() string {
	return [...]string{"starting", "serving", "paused", "router", "trouble"}[s]
}

// iconSize is the side of the icons of Linux and macOS in pixels: twice what
// most bars show, for screens of twice the density. Bars scale it.
const iconSize = 44

// icoSizes are what Windows asks for at 100, 200 and 300 percent.
var icoSizes = []int{16, 32, 48}

// PNG is the icon in colour.
func (i Icon) PNG() []byte { return encodePNG(exact(i.draw(iconSize, onAnything))) }

// exact is a picture from which the tray's library for Linux gets the colours
// as they were drawn. That one takes the low byte of each colour times its
// alpha, in 16 bits, which in usual pictures is noise along every soft edge. So
// each value here has the product in its high byte, as is right, and the colour
// itself in its low one.
func exact(m *image.NRGBA) *image.NRGBA64 {
	out := image.NewNRGBA64(m.Bounds())
	for y := range m.Bounds().Dy() {
		for x := range m.Bounds().Dx() {
			c := m.NRGBAAt(x, y)
			alpha := uint32(c.A) * 0x101
			part := func(v uint8) uint16 {
				if c.A == 0 {
					return 0
				}
				product := uint32(v) * uint32(c.A) / 0xff << 8
				if product|uint32(v) > alpha {
					product -= 0x100
				}
				return uint16(((product|uint32(v))*0xffff + alpha - 1) / alpha)
			}
			out.SetNRGBA64(x, y, color.NRGBA64{part(c.R), part(c.G), part(c.B), uint16(alpha)})
		}
	}
	return out
}

// Template is the icon as macOS wants it: black where it is to be drawn, in the
// colour of the bar. The count stands beside it as text there.
func (i Icon) Template() []byte { return encodePNG(Icon{Sign: i.Sign}.draw(iconSize, template)) }

// ICO is the icon for Windows, for a light or a dark task bar.
func (i Icon) ICO(light bool) []byte {
	on := onDark
	if light {
		on = onLight
	}
	var images []*image.NRGBA
	for _, size := range icoSizes {
		images = append(images, i.draw(size, on))
	}
	return encodeICO(images)
}

// badge is what the count is written as: two digits at most, for there is no
// room for more. The tooltip has the number.
func (i Icon) badge() string {
	switch {
	case i.Count <= 0:
		return ""
	case i.Count > 99:
		return "+"
	}
	return fmt.Sprint(i.Count)
}

func encodePNG(m image.Image) []byte {
	var b bytes.Buffer
	if err := png.Encode(&b, m); err != nil {
		panic(err) // into memory, of an image of ours
	}
	return b.Bytes()
}
