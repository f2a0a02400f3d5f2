package runtimetest

import (
	"context"
	"time"
)

// pacer spaces the tokens of one answer and springs its faults.
type pacer struct {
	s      *speech
	ctx    context.Context
	dead   <-chan struct{}
	t      trouble
	decode float64 // tokens/s, 0 = unpaced
	start  time.Time
	timer  *time.Timer
	spare  time.Duration // time lost in holds, which later tokens do not make up
}

// busy reports whether the steps of an answer take time or break it.
func (p *pacer) busy() bool {
	return p.decode > 0 || p.t.tokenDelay > 0 || len(p.t.breaks) > 0 || p.s.endless
}

// step waits for token i and breaks the answer there if a fault says so. What
// it returns besides an error is an oddity to write before the token.
func (p *pacer) step(i int, l *lease) (odd Break, err error) {
	for _, f := range p.t.breaks {
		if f.After != i {
			continue
		}
		if err := p.spring(f, l); err != nil {
			return "", err
		}
		if f.Break == BreakGarbage || f.Break == BreakHugeLine {
			odd = f.Break
		}
	}
	due := p.start.Add(p.spare + time.Duration(i+1)*p.t.tokenDelay)
	if p.decode > 0 {
		due = due.Add(time.Duration(float64(i+1) / p.decode * float64(time.Second)))
	}
	if i >= p.s.length() { // the end token comes with the last one
		due = p.start
	}
	return odd, p.until(due)
}

// spring does what the fault says.
func (p *pacer) spring(f *Fault, l *lease) error {
	switch f.Break {
	case BreakCut:
		return errCut
	case BreakCutMid:
		return errCutMid
	case BreakRunner:
		p.s.f.breakRunner(l.rn)
		return errRunner
	case BreakEnd:
		return errNoEnd
	case BreakError:
		return errInFrame
	case BreakUnload:
		p.s.f.forceOut(l.rn)
	case BreakHang:
		return p.silence(nil)
	case BreakHold:
		began := time.Now()
		err := p.silence(p.t.gate)
		p.spare += time.Since(began)
		return err
	}
	return nil
}

// silence waits for the gate; nil never opens.
func (p *pacer) silence(gate <-chan struct{}) error {
	p.s.e.held.Store(true)
	p.s.f.bell.ring()
	defer p.s.e.held.Store(false)
	select {
	case <-gate:
		return nil
	case <-p.ctx.Done():
		return p.ctx.Err()
	case <-p.dead:
		return errRunner
	}
}

// until waits for due, or returns why not.
func (p *pacer) until(due time.Time) error {
	wait := time.Duration(0)
	if p.decode > 0 || p.t.tokenDelay > 0 || due.After(p.start) {
		wait = time.Until(due)
	}
	if wait <= 0 {
		select {
		case <-p.ctx.Done():
			return p.ctx.Err()
		case <-p.dead:
			return errRunner
		default:
			return nil
		}
	}
	if p.timer == nil {
		p.timer = time.NewTimer(wait)
	} else {
		p.timer.Reset(wait)
	}
	select {
	case <-p.timer.C:
		return nil
	case <-p.ctx.Done():
		return p.ctx.Err()
	case <-p.dead:
		return errRunner
	}
}

func (p *pacer) stop() {
	if p.timer != nil {
		p.timer.Stop()
	}
}
