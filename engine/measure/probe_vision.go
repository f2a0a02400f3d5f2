package measure

import (
	"bytes"
	"context"
	"encoding/base64"
	"image"
	"image/color"
	"image/png"
	"slices"
	"strings"

	"bellwether/engine/dialect"
)

// paint is a colour that nobody mistakes for another.
type paint struct {
	name string
	rgb  color.NRGBA
}

var paints = []paint{
	{"red", color.NRGBA{0xE0, 0x10, 0x10, 0xFF}}, {"blue", color.NRGBA{0x10, 0x20, 0xE0, 0xFF}},
	{"green", color.NRGBA{0x10, 0xB0, 0x20, 0xFF}}, {"yellow", color.NRGBA{0xF8, 0xE0, 0x10, 0xFF}},
}

// vision: the colours of two pictures, each all of one. Naming other colours
// twice is what a model does that does not see; naming none says nothing.
func (p *Probe) vision(ctx context.Context) outcome {
	right, wrong := 0, 0
	for _, c := range paints[:2] {
		r := steady(say("Which colour fills this picture? Answer with one word: red, blue, green or yellow."), &p.Target.Deployment, shortAnswer)
		r.Messages[0].Parts = append(r.Messages[0].Parts, dialect.Part{Kind: dialect.PartImage, MIME: "image/png", Data: plain(c.rgb)})
		a, o := p.ask(ctx, r)
		if a == nil {
			return o
		}
		switch said := coloursIn(a.Reply.Text.String()); {
		case len(said) == 1 && said[0] == c.name:
			right++
		case len(said) == 1:
			wrong++
		}
	}
	switch {
	case right == 2:
		return yes("it named the colours of two pictures")
	case wrong == 2 || right == 1 && wrong == 1:
		return no("it named wrong colours of plain pictures: it does not see them")
	default:
		return unclear("it did not name the colour of two plain pictures")
	}
}

func coloursIn(text string) (out []string) {
	for _, w := range strings.Fields(plainWords(text)) {
		if slices.ContainsFunc(paints, func(p paint) bool { return p.name == w }) && !slices.Contains(out, w) {
			out = append(out, w)
		}
	}
	return out
}

// plain is a picture of one colour as base64 of a PNG: large enough for every
// model's smallest tile.
func plain(c color.NRGBA) []byte {
	const side = 224
	img := image.NewPaletted(image.Rect(0, 0, side, side), color.Palette{c})
	var b bytes.Buffer
	_ = png.Encode(&b, img)
	return []byte(base64.StdEncoding.EncodeToString(b.Bytes()))
}
