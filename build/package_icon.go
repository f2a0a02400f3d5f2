package main

import (
	"encoding/xml"
	"fmt"
	"image"
	"image/color"
	"image/draw"
	"os"
	"strconv"
	"strings"

	"golang.org/x/image/vector"
)

// drawing is one of assets/icons: outlines on a square, painted one over the
// other. It is the small part of SVG that is enough for an icon.
type drawing struct {
	side   float32
	shapes []shape
}

type shape struct {
	fill color.NRGBA
	path []string // commands M, L, C, Z and their numbers
}

// iconSources are the drawings: one with little in it for small sizes, and the
// whole.
const (
	iconDrawing      = "assets/icons/bellwether.svg"
	smallIconDrawing = "assets/icons/bellwether-small.svg"
	smallIcon        = 32 // pixels, up to which the small drawing is used
)

// icon paints the product's icon, size pixels wide and high.
func icon(size int) (*image.RGBA, error) {
	path := iconDrawing
	if size <= smallIcon {
		path = smallIconDrawing
	}
	text, err := os.ReadFile(path)
	if err != nil {
		return nil, err
	}
	d, err := parseDrawing(text)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	return d.paint(size)
}

// parseDrawing reads an SVG file.
func parseDrawing(text []byte) (*drawing, error) {
	var svg struct {
		ViewBox string `xml:"viewBox,attr"`
		Paths   []struct {
			Fill string `xml:"fill,attr"`
			D    string `xml:"d,attr"`
		} `xml:"path"`
	}
	if err := xml.Unmarshal(text, &svg); err != nil {
		return nil, err
	}
	d := &drawing{}
	if n, err := fmt.Sscanf(svg.ViewBox, "0 0 %g %g", &d.side, &d.side); n != 2 {
		return nil, fmt.Errorf("the view box is to be a square at 0 0: %w", err)
	}
	for _, p := range svg.Paths {
		s := shape{path: strings.Fields(separated.Replace(p.D))}
		s.fill.A = 255
		if n, err := fmt.Sscanf(p.Fill, "#%02x%02x%02x", &s.fill.R, &s.fill.G, &s.fill.B); n != 3 {
			return nil, fmt.Errorf("a fill is written #rrggbb, not %q: %w", p.Fill, err)
		}
		d.shapes = append(d.shapes, s)
	}
	return d, nil
}

var separated = strings.NewReplacer(",", " ", "M", " M ", "L", " L ", "C", " C ", "Z", " Z ")

// paint draws it, size pixels wide and high; in RGBA, which the rasteriser is
// quick with.
func (d *drawing) paint(size int) (*image.RGBA, error) {
	m := image.NewRGBA(image.Rect(0, 0, size, size))
	scale := float32(size) / d.side
	for _, s := range d.shapes {
		z := vector.NewRasterizer(size, size)
		if err := s.trace(z, scale); err != nil {
			return nil, err
		}
		z.DrawOp = draw.Over
		z.Draw(m, m.Bounds(), image.NewUniform(color.RGBAModel.Convert(s.fill)), image.Point{})
	}
	return m, nil
}

// trace follows the outline. A command is followed by its numbers; each is
// written out, none repeats by itself.
func (s *shape) trace(z *vector.Rasterizer, scale float32) error {
	rest := s.path
	for len(rest) > 0 {
		command := rest[0]
		count := map[string]int{"M": 2, "L": 2, "C": 6}[command]
		if count == 0 && command != "Z" || len(rest) < 1+count {
			return fmt.Errorf("a path is made of M, L, C and Z with all their numbers, not %q", strings.Join(rest, " "))
		}
		var n [6]float32
		for i, word := range rest[1 : 1+count] {
			v, err := strconv.ParseFloat(word, 32)
			if err != nil {
				return fmt.Errorf("a path's number: %w", err)
			}
			n[i] = float32(v) * scale
		}
		switch command {
		case "M":
			z.MoveTo(n[0], n[1])
		case "L":
			z.LineTo(n[0], n[1])
		case "C":
			z.CubeTo(n[0], n[1], n[2], n[3], n[4], n[5])
		case "Z":
			z.ClosePath()
		}
		rest = rest[1+count:]
	}
	return nil
}
