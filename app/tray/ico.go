package tray

import (
	"bytes"
	"encoding/binary"
	"image"
)

// encodeICO writes an .ico file with an image for each size, at most 256. The
// images are bitmaps, not PNGs: every Windows, and Wine, reads those in an icon
// of any size.
func encodeICO(images []*image.NRGBA) []byte {
	var head, body bytes.Buffer
	little := func(b *bytes.Buffer, v any) { _ = binary.Write(b, binary.LittleEndian, v) } // into memory
	little(&head, []uint16{0, 1, uint16(len(images))})
	offset := 6 + 16*len(images)
	for _, m := range images {
		bits := dib(m)
		side := m.Bounds().Dx()
		little(&head, []uint8{uint8(side), uint8(side), 0, 0}) // 256 is written as 0
		little(&head, []uint16{1, 32})                         // planes, bits a pixel
		little(&head, []uint32{uint32(len(bits)), uint32(offset + body.Len())})
		body.Write(bits)
	}
	return append(head.Bytes(), body.Bytes()...)
}

// dib is an image as icons hold it: a header, the rows from the bottom up in
// blue, green, red, alpha, and a mask, which alpha makes needless but which
// has to be there.
func dib(m *image.NRGBA) []byte {
	w, h := m.Bounds().Dx(), m.Bounds().Dy()
	maskRow := (w + 31) / 32 * 4
	var b bytes.Buffer
	little := func(v any) { _ = binary.Write(&b, binary.LittleEndian, v) }
	little([]uint32{40, uint32(w), uint32(2 * h)}) // the height counts image and mask
	little([]uint16{1, 32})
	little([]uint32{0, uint32(w*h*4 + maskRow*h), 0, 0, 0, 0})
	for y := h - 1; y >= 0; y-- {
		for x := range w {
			c := m.NRGBAAt(x, y)
			b.Write([]byte{c.B, c.G, c.R, c.A})
		}
	}
	for y := h - 1; y >= 0; y-- {
		row := make([]byte, maskRow)
		for x := range w {
			if m.NRGBAAt(x, y).A == 0 {
				row[x/8] |= 0x80 >> (x % 8)
			}
		}
		b.Write(row)
	}
	return b.Bytes()
}
