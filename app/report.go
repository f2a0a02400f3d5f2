package app

import (
	"context"
	"time"

	"bellwether/engine/admin"
	"bellwether/engine/pulse"
)

// How often the engine is told how the icon fares though nothing has changed,
// and how long one telling may take.
const (
	tellEvery = 30 * time.Second
	tellBound = 20 * time.Second
)

// stuckAfter is how long the icon may take no news until what it shows is old.
const stuckAfter = 20 * time.Second

// iconNews is how the icon fares, for whoever runs the engine. Its fields are
// the desk's.
type iconNews struct {
	host   admin.TrayReport // the desktop's part; State "" = not known yet
	waits  time.Time        // since when the tray has not taken what there is to show; zero = it takes it
	stuck  bool             // and that was logged
	told   admin.TrayReport
	toldAt time.Time
	round  pulse.Round
}

// word is what there is to tell.
func (n *iconNews) word(now time.Time) admin.TrayReport {
	if !n.waits.IsZero() && now.Sub(n.waits) >= stuckAfter && n.host.State != admin.TrayUnseen {
		return admin.TrayReport{State: admin.TrayStuck, Text: "The icon has taken no news since " + n.waits.Format("15:04") + ", so what it shows is old.",
			Remedy: "Log out and in again, or quit Bellwether and start it anew."}
	}
	return n.host
}

// due reports whether the engine has to be told.
func (n *iconNews) due(now time.Time) (admin.TrayReport, bool) {
	w := n.word(now)
	return w, w.State != "" && (w != n.told || now.Sub(n.toldAt) >= tellEvery)
}

// tellIcon tells the engine how the icon fares, where that is due.
func (d *desk) tellIcon(now time.Time) {
	word, due := d.icon.due(now)
	if stuck := word.State == admin.TrayStuck; stuck != d.icon.stuck {
		d.icon.stuck = stuck
		if stuck {
			d.a.o.Log.Warn("the icon takes no news; what it shows is old", "since", d.icon.waits.Format(time.RFC3339))
		} else {
			d.a.o.Log.Info("the icon takes news again")
		}
	}
	if !due || !d.linked {
		return
	}
	ticket, ok := d.icon.round.Begin(now)
	if !ok {
		return
	}
	d.work.Go(func() {
		err := d.a.client.post(d.ctx, "/admin/tray", word, nil)
		d.tell(func(d *desk) {
			if !d.icon.round.End(ticket) {
				return
			}
			if err != nil {
				d.a.o.Log.Debug("the engine could not be told how the icon fares", "err", err)
				return
			}
			d.icon.told, d.icon.toldAt = word, now
		})
	})
}

// keepTelling tells the engine one and the same until ctx ends: of a program
// that has no desk.
func (a *app) keepTelling(ctx context.Context, word admin.TrayReport) {
	again := time.NewTicker(tellEvery)
	defer again.Stop()
	soon := time.NewTicker(time.Second)
	defer soon.Stop()
	for {
		if err := a.client.post(ctx, "/admin/tray", word, nil); err == nil {
			soon.Stop() // the engine has begun to answer
		}
		select {
		case <-ctx.Done():
			return
		case <-again.C:
		case <-soon.C:
		}
	}
}
