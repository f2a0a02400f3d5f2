// Package picture fetches the images that requests give by address, where the
// owner allows it (security.remote_images).
//
// Whoever may send a request makes this machine open connections by it. So it
// dials what is on the public internet and nothing else: every address is
// judged when it is dialled, after its name was looked up, on redirects too. A
// name that is looked up twice, or anew for every call, gains nothing by it.
// It reads so many bytes for so long, keeps nothing, and writes no log; its
// errors name no address. It runs on the caller's goroutine.
package picture

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/netip"
	"net/url"
	"syscall"
	"time"
)

// What one image may take.
const (
	MaxBytes     = 20 << 20
	patience     = 10 * time.Second // from its name to its last byte
	maxRedirects = 3
)

// Reasons for which there is no image. They say nothing of what was found.
var (
	ErrAddress   = errors.New("its address is not on the public internet")
	ErrURL       = errors.New("its address is no http or https URL")
	ErrTooLarge  = fmt.Errorf("it is larger than %d MB", MaxBytes>>20)
	ErrTime      = fmt.Errorf("it did not arrive within %d s", int(patience.Seconds()))
	ErrRedirects = fmt.Errorf("its address leads on more than %d times", maxRedirects)
	ErrUnreached = errors.New("its address could not be reached")
)

// StatusError is the answer of a server that did not send the image.
type StatusError int

func (e StatusError) Error() string { return fmt.Sprintf("its server answered %d", int(e)) }

// Fetcher fetches images. It is safe for concurrent use.
type Fetcher struct {
	client  *http.Client
	allowed func(netip.AddrPort) bool
}

// New returns a Fetcher that reaches the public internet only.
func New() *Fetcher {
	f := &Fetcher{allowed: func(a netip.AddrPort) bool { return Public(a.Addr()) && !onLink(a.Addr()) }}
	dialer := &net.Dialer{Timeout: patience, Control: f.control}
	f.client = &http.Client{
		CheckRedirect: func(r *http.Request, via []*http.Request) error {
			if len(via) > maxRedirects {
				return ErrRedirects
			}
			r.Header.Del("Referer") // an address may hold its owner's signature
			return tidy(r.URL)
		},
		// No proxy: it would dial in our place and judge nothing. No connection is
		// used twice: it was judged for one name.
		Transport: &http.Transport{DialContext: dialer.DialContext, DisableKeepAlives: true, DisableCompression: true, MaxResponseHeaderBytes: 64 << 10},
	}
	return f
}

// control judges an address as it is about to be dialled.
func (f *Fetcher) control(_, address string, _ syscall.RawConn) error {
	if a, err := netip.ParseAddrPort(address); err != nil || !f.allowed(a) {
		return ErrAddress
	}
	return nil
}

// tidy refuses what is not on the web. A name and password are not sent.
func tidy(u *url.URL) error {
	if u.Scheme != "https" && u.Scheme != "http" || u.Hostname() == "" {
		return ErrURL
	}
	u.User = nil
	return nil
}

// Fetch returns the bytes at an address, whatever they are: judging them is the
// caller's. The error is one of this package's, or ctx's.
func (f *Fetcher) Fetch(ctx context.Context, address string) ([]byte, error) {
	u, err := url.Parse(address)
	if err != nil || tidy(u) != nil {
		return nil, ErrURL
	}
	in, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	r, err := http.NewRequestWithContext(in, http.MethodGet, u.String(), nil)
	if err != nil {
		return nil, ErrURL
	}
	r.Header.Set("Accept", "image/*")
	r.Header.Set("User-Agent", "Bellwether")
	data, err := f.read(r)
	switch {
	case err == nil:
		return data, nil
	case ctx.Err() != nil:
		return nil, ctx.Err()
	case in.Err() != nil:
		return nil, ErrTime
	}
	return nil, withoutAddress(err)
}

func (f *Fetcher) read(r *http.Request) ([]byte, error) {
	a, err := f.client.Do(r)
	if err != nil {
		return nil, err
	}
	defer func() { _ = a.Body.Close() }()
	if a.StatusCode != http.StatusOK {
		return nil, StatusError(a.StatusCode)
	}
	if a.ContentLength > MaxBytes {
		return nil, ErrTooLarge
	}
	data, err := io.ReadAll(io.LimitReader(a.Body, MaxBytes+1))
	if err == nil && len(data) > MaxBytes {
		err = ErrTooLarge
	}
	return data, err
}

// withoutAddress keeps of an error what may be told: those of net and net/http
// name the address, and what answered there.
func withoutAddress(err error) error {
	for _, known := range []error{ErrAddress, ErrURL, ErrTooLarge, ErrRedirects} {
		if errors.Is(err, known) {
			return known
		}
	}
	var status StatusError
	if errors.As(err, &status) {
		return status
	}
	return ErrUnreached
}
