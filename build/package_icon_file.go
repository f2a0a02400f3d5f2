package main

import (
	"bytes"
	"encoding/binary"
	"image/png"
)

// iconPNG is the icon as a PNG.
func iconPNG(size int) ([]byte, error) {
	m, err := icon(size)
	if err != nil {
		return nil, err
	}
	var b bytes.Buffer
	err = png.Encode(&b, m)
	return b.Bytes(), err
}

// icnsKinds are the kinds of picture in macOS' icon file that hold PNGs, and
// their sides in pixels. Sizes for screens of twice the density come as kinds
// of their own.
var icnsKinds = []struct {
	kind string
	side int
}{
	{"icp4", 16}, {"icp5", 32}, {"ic07", 128}, {"ic08", 256}, {"ic09", 512},
	{"ic11", 32}, {"ic12", 64}, {"ic13", 256}, {"ic14", 512}, {"ic10", 1024},
}

// icns is the icon as macOS has it in an app: a head and a length, then each
// picture with its kind and length.
func icns() ([]byte, error) {
	var body bytes.Buffer
	for _, k := range icnsKinds {
		text, err := iconPNG(k.side)
		if err != nil {
			return nil, err
		}
		body.WriteString(k.kind)
		_ = binary.Write(&body, binary.BigEndian, uint32(8+len(text))) // into memory
		body.Write(text)
	}
	file := binary.BigEndian.AppendUint32([]byte("icns"), uint32(8+body.Len()))
	return append(file, body.Bytes()...), nil
}

// icoSizes are what Windows asks for in lists, menus and on the desktop.
var icoSizes = []int{16, 24, 32, 48, 256}

// ico is the icon as Windows has it in programs: a directory of pictures, which
// are PNGs as every Windows since Vista reads them.
func ico() ([]byte, error) {
	var head, body bytes.Buffer
	little := func(v any) { _ = binary.Write(&head, binary.LittleEndian, v) } // into memory
	little([]uint16{0, 1, uint16(len(icoSizes))})
	for _, size := range icoSizes {
		text, err := iconPNG(size)
		if err != nil {
			return nil, err
		}
		little([]uint8{uint8(size), uint8(size), 0, 0}) // 256 is written as 0
		little([]uint16{1, 32})                         // planes, bits a pixel
		little([]uint32{uint32(len(text)), uint32(6 + 16*len(icoSizes) + body.Len())})
		body.Write(text)
	}
	return append(head.Bytes(), body.Bytes()...), nil
}
