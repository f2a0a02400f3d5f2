package tray

import (
	"image"
	"image/color"
	"math"
)

// palette is what an icon is painted with. ink is the mark on the bell, edge
// the line around it that keeps it apart from the bar; bodies are by Sign.
type palette struct {
	edge, ink, badge, digits color.NRGBA
	body                     [5]color.NRGBA
}

var (
	none  = color.NRGBA{}
	black = color.NRGBA{A: 255}
	white = color.NRGBA{255, 255, 255, 255}
	night = color.NRGBA{28, 32, 38, 255}

	colours = [5]color.NRGBA{
		SignStarting: {140, 148, 158, 255}, SignServing: {46, 160, 84, 255}, SignPaused: {230, 150, 20, 255},
		SignRouter: {58, 120, 230, 255}, SignTrouble: {214, 54, 48, 255},
	}

	// onAnything is for bars whose colour nobody tells: a thin light line within
	// a dark one is seen on both.
	onAnything = palette{edge: color.NRGBA{255, 255, 255, 230}, ink: white, badge: night, digits: white, body: colours}
	onLight    = palette{edge: night, ink: white, badge: night, digits: white, body: colours}
	onDark     = palette{edge: white, ink: white, badge: white, digits: night, body: colours}
	// template has one colour; marks are holes.
	template = palette{edge: none, ink: none, body: [5]color.NRGBA{black, black, black, black, black}}
)

// samples is how many points of a pixel are looked at along each side.
const samples = 4

// draw paints the icon, size pixels wide and high.
func (i Icon) draw(size int, p palette) *image.NRGBA {
	m := image.NewNRGBA(image.Rect(0, 0, size, size))
	text := i.badge()
	for y := range size {
		for x := range size {
			var sum [4]float64 // red, green, blue weighed by alpha; alpha
			for s := range samples * samples {
				u := (float64(x) + (float64(s%samples)+0.5)/samples) / float64(size)
				v := (float64(y) + (float64(s/samples)+0.5)/samples) / float64(size)
				c := i.at(u, v, text, &p)
				a := float64(c.A)
				sum[0] += float64(c.R) * a
				sum[1] += float64(c.G) * a
				sum[2] += float64(c.B) * a
				sum[3] += a
			}
			if a := sum[3]; a > 0 {
				m.SetNRGBA(x, y, color.NRGBA{byte(sum[0]/a + 0.5), byte(sum[1]/a + 0.5), byte(sum[2]/a + 0.5), byte(a/(samples*samples) + 0.5)})
			}
		}
	}
	return m
}

// at is the colour of a point; u and v go from 0 to 1, v downwards. What is
// painted last comes first.
func (i Icon) at(u, v float64, text string, p *palette) color.NRGBA {
	if text != "" {
		if on, in := badgeAt(u, v, text); on {
			return p.digits
		} else if in {
			return p.badge
		}
	}
	body := p.body[i.Sign]
	const line = 0.045
	switch i.Sign {
	case SignStarting:
		if !bell(u, v) {
			return edgeAt(u, v, line, p.edge)
		}
		if within(u, v, 0.085) {
			return none
		}
	case SignPaused:
		if stripe(u, v, 0.40) || stripe(u, v, 0.60) {
			return p.ink
		}
	case SignTrouble:
		if math.Abs(u-0.5) < 0.05 && v > 0.20 && v < 0.47 || math.Hypot(u-0.5, v-0.58) < 0.06 {
			return p.ink
		}
	case SignRouter:
		if ringing(u, v) {
			return body
		}
	}
	if bell(u, v) {
		return body
	}
	return edgeAt(u, v, line, p.edge)
}

// bell is the shape of them all: knob, round shoulders, a brim, and the clapper
// apart from it, below. (Joined, and in green, it would be a tree.)
func bell(u, v float64) bool {
	x := math.Abs(u - 0.5)
	switch {
	case math.Hypot(x, v-0.09) < 0.065:
		return true
	case v > 0.83: // the lower half of a disc
		return math.Hypot(x, v-0.83) < 0.125
	case v < 0.10 || v > 0.76:
		return false
	case v < 0.38:
		d := (0.38 - v) / 0.28
		return x < 0.27*math.Pow(1-d*d*d, 1/3.0)
	case v < 0.58:
		return x < 0.27+(v-0.38)*0.08
	case v < 0.70:
		d := (v - 0.58) / 0.12
		return x < 0.286+0.10*d*d
	default:
		return x < 0.40
	}
}

// within reports that a point lies inside the bell by a margin.
func within(u, v, margin float64) bool {
	for k := range 12 {
		a := float64(k) * math.Pi / 6
		if !bell(u+margin*math.Cos(a), v+margin*math.Sin(a)) {
			return false
		}
	}
	return true
}

// edgeAt is the line around the bell.
func edgeAt(u, v, width float64, c color.NRGBA) color.NRGBA {
	for k := range 12 {
		a := float64(k) * math.Pi / 6
		if bell(u+width*math.Cos(a), v+width*math.Sin(a)) {
			return c
		}
	}
	return none
}

// stripe is one of the two bars of a pause.
func stripe(u, v, x float64) bool { return math.Abs(u-x) < 0.055 && v > 0.26 && v < 0.62 }

// ringing are two arcs on each side of the bell.
func ringing(u, v float64) bool {
	x, y := math.Abs(u-0.5), v-0.36
	if math.Abs(y) > 0.9*x {
		return false
	}
	r := math.Hypot(x, y)
	return r > 0.33 && r < 0.385 || r > 0.44 && r < 0.495
}

// Digits, three points wide and five high, the top row in the highest bits.
var digits = map[rune]uint16{
	'0': 0b111_101_101_101_111, '1': 0b010_110_010_010_111, '2': 0b111_001_111_100_111, '3': 0b111_001_111_001_111,
	'4': 0b101_101_111_001_001, '5': 0b111_100_111_001_111, '6': 0b111_100_111_101_111, '7': 0b111_001_010_010_010,
	'8': 0b111_101_111_101_111, '9': 0b111_101_111_001_111, '+': 0b000_010_111_010_000,
}

// badgeAt tells whether a point is on a digit, and whether it is in the badge,
// which stands in the lower right corner.
func badgeAt(u, v float64, text string) (on, in bool) {
	const dot, pad = 0.08, 0.05
	width := float64(4*len(text)-1)*dot + 2*pad
	left, top := 1-width, 1-5*dot-2*pad
	if u < left || v < top {
		return false, false
	}
	col, row := int((u-left-pad)/dot), int((v-top-pad)/dot)
	if u < left+pad || v < top+pad || row > 4 || col%4 == 3 || col/4 >= len(text) {
		return false, true
	}
	bits := digits[rune(text[col/4])]
	return bits>>(14-3*row-col%4)&1 == 1, true
}
