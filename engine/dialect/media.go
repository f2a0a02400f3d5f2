package dialect

import (
	"bytes"
	"encoding/base64"
	"strconv"
	"strings"
	"unicode/utf8"
)

// Images, audio and files, as every protocol carries them. What they are is
// told by their bytes: runtimes look at nothing else, and what is not checked
// here fails there with words that help nobody.

// CodeContent is the code of content that no model here can be given.
const CodeContent = "unsupported_content"

// unreadable refuses content that no runtime takes. Without it the model would
// answer another question than was asked.
func unreadable(what string) *fault {
	return &fault{what: what + ", which models here do not read", remedy: "Send its text, or its pages as images.", code: CodeContent}
}

// image reads an image from its base64.
func image(b64 []byte) (Part, *fault) {
	data, f := checkBase64(b64)
	if f != nil {
		return Part{}, f
	}
	mime := ImageType(data)
	if mime == "" {
		return Part{}, &fault{what: "the data is none of the images that models read", remedy: "Send a PNG, JPEG, WebP, GIF or BMP.", code: CodeContent}
	}
	return Part{Kind: PartImage, MIME: mime, Data: data}, nil
}

// imageAddress reads an image from a data URL, or keeps the address of one.
func imageAddress(t Text) (Part, *fault) {
	_, data, isData := dataURL(t)
	if isData && data != nil {
		return image(data)
	}
	if s := t.String(); hasScheme(s, "https://") || hasScheme(s, "http://") {
		return Part{Kind: PartImage, URL: s}, nil
	}
	return Part{}, &fault{what: "expected an image as a data URL in base64 (data:image/png;base64,...), or its https address"}
}

func hasScheme(s, scheme string) bool {
	return len(s) > len(scheme) && strings.EqualFold(s[:len(scheme)], scheme)
}

// imagePart reads image_url: a URL, or {url}.
func imagePart(v Raw) (Part, *fault) {
	url, inside := v, v.Kind() == '{'
	if inside {
		url = v.Get("url")
	}
	var p Part
	f := wrong("an image's URL", url)
	switch url.Kind() {
	case '"':
		p, f = imageAddress(Text(url))
	case 'n', 0xff:
		f = &fault{what: "the image has no URL", remedy: "Send it as a data URL in base64; files of the vendor's store are not here."}
	}
	if inside {
		f = f.in("url")
	}
	return p, f.in("image_url")
}

// imageSource reads Anthropic's source of an image: in the request, or at an
// address.
func imageSource(v Raw) (p Part, f *fault) {
	switch data, url := v.Get("data"), v.Get("url"); {
	case v.Kind() != '{':
		return p, wrong("an object", v)
	case data.Kind() == '"':
		p, f = image(plainBytes(Text(data)))
		return p, f.in("data")
	case url.Kind() == '"':
		p, f = imageAddress(Text(url))
		return p, f.in("url")
	case !data.None():
		return p, wrong("a string in base64", data).in("data")
	case !url.None():
		return p, wrong("a string", url).in("url")
	}
	return p, &fault{what: "the image has neither data nor url", remedy: "Send it in base64; files of the vendor's store are not here."}
}

// ollamaImage reads one of images: base64, in which audio travels too.
func ollamaImage(v Raw) (Part, *fault) {
	if v.Kind() != '"' {
		return Part{}, wrong("a string in base64", v)
	}
	data := plainBytes(Text(v))
	if bytes.HasPrefix(data, []byte("data:")) {
		return Part{}, &fault{what: "illegal base64 data at input byte 4", remedy: "Send the image's base64 without the data: prefix."}
	}
	if mime := sniff(data); strings.HasPrefix(mime, "audio/") {
		data, f := checkBase64(data)
		return Part{Kind: PartAudio, MIME: mime, Data: data}, f
	}
	return image(data)
}

// audioPart reads input_audio {data, format}. Not every kind of audio says what
// it is; what says that it is an image is none.
func audioPart(v Raw) (Part, *fault) {
	if v.Kind() != '{' {
		return Part{}, wrong("an object", v).in("input_audio")
	}
	data := v.Get("data")
	if data.Kind() != '"' {
		return Part{}, wrong("a string in base64", data).in("data").in("input_audio")
	}
	p := Part{Kind: PartAudio, MIME: "audio/wav", Data: plainBytes(Text(data))}
	if format := textMember(v, "format"); format != "" {
		p.MIME = "audio/" + format
	}
	if mime, d, ok := dataURL(Text(data)); ok && d != nil {
		p.MIME, p.Data = mime, d
	}
	var f *fault
	if p.Data, f = checkBase64(p.Data); f != nil {
		return p, f.in("data").in("input_audio")
	}
	switch kind := sniff(p.Data); {
	case strings.HasPrefix(kind, "audio/"):
		p.MIME = kind
	case kind != "":
		f = (&fault{what: "the data is no audio but " + kind, remedy: "Send WAV or MP3."}).in("data").in("input_audio")
	}
	return p, f
}

// filePart reads a file of OpenAI's: {file_data, filename}, of which only text
// can be passed on.
func filePart(v Raw) (Part, *fault) {
	data := v.Get("file_data")
	if data.Kind() != '"' {
		return Part{}, unreadable("a file that is not in the request")
	}
	b64 := plainBytes(Text(data))
	if _, d, ok := dataURL(Text(data)); ok && d != nil {
		b64 = d
	}
	t, f := fileText(b64)
	if name := v.Get("filename"); name.Kind() == '"' {
		t = Join("\n\n", append(heading(Text(name)), t)...)
	}
	return Part{Text: t}, f.in("file_data")
}

// fileText reads a file that is text, whatever it is called.
func fileText(b64 []byte) (Text, *fault) {
	b64, f := checkBase64(b64)
	if f != nil {
		return nil, f
	}
	data := make([]byte, base64.StdEncoding.DecodedLen(len(b64)))
	n, _ := base64.StdEncoding.Decode(data, b64)
	data = data[:n]
	switch {
	case bytes.HasPrefix(data, []byte("%PDF-")):
		return nil, unreadable("a PDF")
	case !utf8.Valid(data) || bytes.IndexByte(data, 0) >= 0:
		return nil, unreadable("a file that is no text")
	}
	return Quote(string(data)), nil
}

// checkBase64 refuses what is no base64, as Ollama reads it: of the standard
// alphabet, padded. Line breaks, which it reads over, are taken out.
func checkBase64(in []byte) ([]byte, *fault) {
	if bytes.IndexByte(in, '\n') >= 0 || bytes.IndexByte(in, '\r') >= 0 {
		in = bytes.Join(bytes.FieldsFunc(in, func(c rune) bool { return c == '\n' || c == '\r' }), nil)
	}
	if len(in) == 0 {
		return nil, &fault{what: "there is no data", remedy: "Send its bytes in base64."}
	}
	end := len(in)
	for end > len(in)-2 && end > 0 && in[end-1] == '=' {
		end--
	}
	wrong := len(in)
	for i, c := range in[:end] {
		if !inBase64[c] {
			wrong = i
			break
		}
	}
	if wrong == len(in) && len(in)%4 == 0 {
		return in, nil
	}
	return nil, &fault{what: "illegal base64 data at input byte " + strconv.Itoa(wrong), remedy: "Send standard base64, padded with =."}
}

var inBase64 = func() (in [256]bool) {
	for _, c := range "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/" {
		in[c] = true
	}
	return in
}()

// dataURL takes a data: URL apart without copying its payload. data is nil
// when it is not in base64.
func dataURL(t Text) (mime string, data []byte, isData bool) {
	in := plainBytes(t)
	if len(in) < 5 || !bytes.EqualFold(in[:5], []byte("data:")) {
		return "", nil, false
	}
	head, data, ok := bytes.Cut(in[5:], []byte(","))
	if !ok {
		return "", nil, true
	}
	mime, params, _ := strings.Cut(string(head), ";")
	if params != "base64" && !strings.HasSuffix(params, ";base64") {
		return mime, nil, true
	}
	return strings.ToLower(mime), data, true
}

// plainBytes is the decoded text, in place where it holds no escape. Base64
// may hold one: some encoders write / as \/.
func plainBytes(t Text) []byte {
	in := t.inner()
	if bytes.IndexByte(in, '\\') < 0 {
		return in
	}
	return []byte(t.String())
}

// ImageType tells the media type of an image's base64 from its first bytes, ""
// for what is no image that models read.
func ImageType(b64 []byte) string {
	if mime := sniff(b64); strings.HasPrefix(mime, "image/") {
		return mime
	}
	return ""
}

// magic are the first bytes of media.
var magic = [...]struct{ prefix, mime string }{
	{"\x89PNG\r\n\x1a\n", "image/png"}, {"\xff\xd8\xff", "image/jpeg"}, {"GIF8", "image/gif"},
	{"ID3", "audio/mpeg"}, {"fLaC", "audio/flac"}, {"OggS", "audio/ogg"},
}

// sniff tells the media type of base64 data from its first bytes; "" when
// they say nothing.
func sniff(b64 []byte) string {
	var head [12]byte
	n, _ := base64.StdEncoding.Decode(head[:], b64[:min(len(b64), 16)]) // what comes before an error is enough
	b := head[:n]
	for _, m := range magic {
		if bytes.HasPrefix(b, []byte(m.prefix)) {
			return m.mime
		}
	}
	switch {
	case n < len(head):
	case string(b[:4]) == "RIFF" && string(b[8:]) == "WEBP":
		return "image/webp"
	case string(b[:4]) == "RIFF" && string(b[8:]) == "WAVE":
		return "audio/wav"
	case string(b[:2]) == "BM" && string(b[6:10]) == "\x00\x00\x00\x00": // what it reserves
		return "image/bmp"
	case b[0] == 0xff && b[1]&0xe0 == 0xe0: // an MPEG frame
		return "audio/mpeg"
	}
	return ""
}
