package route

import (
	"bytes"
	"encoding/base64"
	"encoding/binary"

	"bellwether/engine/dialect"
)

// Tokens an image costs, by size class. Local vision models differ widely
// (256 fixed to one token per 28x28 pixels); these lie between them.
const (
	smallImage   = 320  // up to 448 x 448
	mediumImage  = 1120 // up to 1024 x 1024, and images whose size cannot be read
	largeImage   = 2560 // up to 2048 x 2048
	hugeImage    = 4096
	smallPixels  = 448 * 448
	mediumPixels = 1024 * 1024
	largePixels  = 2048 * 2048
)

// headerBytes is how much of an image is decoded to find its size: a JPEG may
// carry a preview and a colour profile before its frame header.
const headerBytes = 96 << 10

func imageTokens(parts []dialect.Part) (tokens int) {
	for i := range parts {
		if p := &parts[i]; p.Kind == dialect.PartImage {
			tokens += imageCost(p.Data)
		}
	}
	return tokens
}

func imageCost(b64 []byte) int {
	w, h, ok := imageSize(b64)
	switch pixels := w * h; {
	case !ok:
		return mediumImage
	case pixels <= smallPixels:
		return smallImage
	case pixels <= mediumPixels:
		return mediumImage
	case pixels <= largePixels:
		return largeImage
	default:
		return hugeImage
	}
}

// imageSize reads width and height from the first bytes of a base64 image; ok
// is false when they cannot be read.
func imageSize(b64 []byte) (w, h int, ok bool) {
	n := min(len(b64), base64.StdEncoding.EncodedLen(headerBytes)) &^ 3
	if n == 0 {
		return 0, 0, false
	}
	head := make([]byte, base64.StdEncoding.DecodedLen(n))
	got, _ := base64.StdEncoding.Decode(head, b64[:n]) // what was decoded before an error is enough
	head = head[:got]
	switch {
	case bytes.HasPrefix(head, []byte("\x89PNG\r\n\x1a\n")):
		return pngSize(head)
	case bytes.HasPrefix(head, []byte("\xff\xd8")):
		return jpegSize(head)
	case len(head) >= 12 && string(head[:4]) == "RIFF" && string(head[8:12]) == "WEBP":
		return webpSize(head)
	case bytes.HasPrefix(head, []byte("GIF8")) && len(head) >= 10:
		return int(binary.LittleEndian.Uint16(head[6:])), int(binary.LittleEndian.Uint16(head[8:])), true
	default:
		return 0, 0, false
	}
}

func pngSize(b []byte) (w, h int, ok bool) {
	if len(b) < 24 || string(b[12:16]) != "IHDR" {
		return 0, 0, false
	}
	return int(binary.BigEndian.Uint32(b[16:])), int(binary.BigEndian.Uint32(b[20:])), true
}

// jpegSize walks the segments to the frame header (SOF0 to SOF15, except the
// three markers in that range which are tables).
func jpegSize(b []byte) (w, h int, ok bool) {
	for i := 2; i+9 <= len(b); {
		if b[i] != 0xff {
			return 0, 0, false
		}
		marker := b[i+1]
		if marker == 0xff { // fill byte
			i++
			continue
		}
		length := int(binary.BigEndian.Uint16(b[i+2:]))
		if marker >= 0xc0 && marker <= 0xcf && marker != 0xc4 && marker != 0xc8 && marker != 0xcc {
			return int(binary.BigEndian.Uint16(b[i+7:])), int(binary.BigEndian.Uint16(b[i+5:])), true
		}
		if length < 2 {
			return 0, 0, false
		}
		i += 2 + length
	}
	return 0, 0, false
}

func webpSize(b []byte) (w, h int, ok bool) {
	if len(b) < 30 {
		return 0, 0, false
	}
	switch string(b[12:16]) {
	case "VP8 ": // lossy
		return int(binary.LittleEndian.Uint16(b[26:])) & 0x3fff, int(binary.LittleEndian.Uint16(b[28:])) & 0x3fff, true
	case "VP8L": // lossless: 14 bits each, less one
		v := binary.LittleEndian.Uint32(b[21:])
		return int(v&0x3fff) + 1, int(v>>14&0x3fff) + 1, true
	case "VP8X": // extended: 24 bits each, less one
		return int(b[24]) | int(b[25])<<8 | int(b[26])<<16 + 1, int(b[27]) | int(b[28])<<8 | int(b[29])<<16 + 1, true
	default:
		return 0, 0, false
	}
}
