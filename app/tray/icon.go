package tray

import (
	"bytes"
	"fmt"
	"image"
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
func (i Icon) PNG() []byte { return encodePNG(i.draw(iconSize, onAnything)) }

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
