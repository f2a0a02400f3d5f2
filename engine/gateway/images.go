package gateway

import (
	"context"
	"encoding/base64"
	"errors"
	"fmt"
	"net/http"
	"sync/atomic"

	"golang.org/x/sync/errgroup"

	"bellwether/engine/dialect"
)

// imagesAtOnce is how many images of one request are fetched at a time.
const imagesAtOnce = 4

var (
	errNoImage   = errors.New("it is none of the images that models read (PNG, JPEG, WebP, GIF, BMP)")
	errAllImages = errors.New("the images are together larger than a request may be")
)

// fetchImages puts the images in the place of their addresses, where the owner
// allows it (security.remote_images). Elsewhere the addresses stay, and routing
// refuses them with that remedy. It waits, and before the request stands in any
// queue: what an image costs is told from its size.
func (x *exchange) fetchImages(ctx context.Context) *dialect.Problem {
	if x.g.Images == nil || x.proto == dialect.AnthropicCount || !x.req.RemoteImages() || !x.g.Policy().RemoteImages {
		return nil
	}
	parts := map[string][]*dialect.Part{} // by address: a conversation may show one image often
	var order []string
	for p := range x.req.MediaParts() {
		if p.URL != "" {
			if parts[p.URL] == nil {
				order = append(order, p.URL)
			}
			parts[p.URL] = append(parts[p.URL], p)
		}
	}
	room := atomic.Int64{}
	room.Store(x.g.live.Load().MaxBody)
	group, ctx := errgroup.WithContext(ctx)
	group.SetLimit(imagesAtOnce)
	for i, address := range order {
		group.Go(func() error {
			data, mime, err := x.fetchImage(ctx, address)
			if err == nil && room.Add(-int64(len(data))) < 0 {
				err = errAllImages
			}
			if err != nil {
				return notFetched(i, len(order), err)
			}
			for _, p := range parts[address] {
				p.Data, p.MIME, p.URL = data, mime, ""
			}
			return nil
		})
	}
	var p *dialect.Problem
	if err := group.Wait(); errors.As(err, &p) {
		return p
	}
	x.req.Dropped = append(x.req.Dropped, fmt.Sprintf("images fetched from their addresses: %d", len(order)))
	return nil
}

func (x *exchange) fetchImage(ctx context.Context, address string) (b64 []byte, mime string, err error) {
	data, err := x.g.Images(ctx, address)
	if err != nil {
		return nil, "", err
	}
	b64 = base64.StdEncoding.AppendEncode(make([]byte, 0, base64.StdEncoding.EncodedLen(len(data))), data)
	if mime = dialect.ImageType(b64); mime == "" {
		return nil, "", errNoImage
	}
	return b64, mime, nil
}

// notFetched says which image is missing and why, without its address: what a
// client is told stands in records and logs.
func notFetched(i, of int, err error) *dialect.Problem {
	which, no := "The image", false
	if of > 1 {
		which = fmt.Sprintf("Image %d of %d", i+1, of)
	}
	return &dialect.Problem{Status: http.StatusBadRequest, Code: "remote_image", Retry: &no,
		Message: which + " that is given by an address could not be had: " + err.Error() + ".",
		Remedy:  "Send the image itself as base64 data."}
}
