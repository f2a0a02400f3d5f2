package engine

import (
	"context"
	"sync"
	"time"

	"bellwether/engine/agent"
	"bellwether/engine/fleet"
	"bellwether/platform/desktop"
)

// shelfTime is how long it is believed where runtimes keep their models: asking
// the system takes its time, and folders move rarely.
const shelfTime = time.Minute

// shelf is a folder of models, and the room on its disk.
type shelf struct {
	agent.Shelf
	space desktop.Space
}

// shelves knows where the runtimes of this machine keep their models. Its mutex
// guards what follows.
type shelves struct {
	mu    sync.Mutex
	known []agent.Shelf
	asked time.Time
}

// look returns the folders whose disks tell their room.
func (s *shelves) look(ctx context.Context, now time.Time, ask func(context.Context) []agent.Shelf) (out []shelf) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if now.Sub(s.asked) >= shelfTime || len(s.known) == 0 {
		s.known, s.asked = ask(ctx), now
	}
	for _, k := range s.known {
		if space, err := desktop.SpaceAt(ctx, k.Folder); err == nil {
			out = append(out, shelf{k, space})
		}
	}
	return out
}

// checkShelves tells how much room there is for models. That a disk is full is
// told once: by checkDisk, if the data folder is on it too.
func checkShelves(s *scene) (out []check) {
	for _, f := range s.shelves {
		id, title, free := "disk."+f.Runtime, "Disk of "+f.Runtime+"'s models", fleet.Bytes(f.space.Free)
		const text = "The disk of %s's models (%s) has %s left."
		switch {
		case s.spaceErr == nil && sameDisk(s.space, f.space):
			out = append(out, found(id, isOK, title, "", text, f.Runtime, f.Folder, free))
		case f.space.Free < spaceNone:
			out = append(out, found(id, isBroken, title, "Make room there, or delete models that nobody asks for: none can be pulled.", text, f.Runtime, f.Folder, free))
		case f.space.Free < spaceLow:
			out = append(out, found(id, isWarning, title, "Make room there, or delete models that nobody asks for.", text, f.Runtime, f.Folder, free))
		default:
			out = append(out, found(id, isOK, title, "", text, f.Runtime, f.Folder, free))
		}
	}
	return out
}

// sameDisk takes two looks, one right after the other, for looks at one disk.
func sameDisk(a, b desktop.Space) bool {
	const between = 64 << 20
	d := a.Free - b.Free
	return a.Total == b.Total && d < between && d > -between
}
