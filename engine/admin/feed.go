package admin

import (
	"context"
	"log/slog"
	"maps"
	"net/http"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"bellwether/engine/event"
	"bellwether/engine/evidence"
	"bellwether/engine/fleet"
	"bellwether/engine/queue"
	"bellwether/engine/route"
	"bellwether/engine/socket"
)

// Sources are where the feed's state comes from. Its functions are called by
// the feed's loop, and only while somebody watches; they must return at once.
type Sources struct {
	Version   string
	Fleet     func() *fleet.Snapshot
	Changed   <-chan struct{} // of the registry: the snapshot is another one
	Queue     func() queue.Status
	Active    func() []queue.Event
	Events    *event.Hub[queue.Event]
	Policy    func() *route.Policy
	Book      func() *evidence.Book
	Catalogue func() *evidence.Catalogue
	Jobs      func() []JobView
	// Engine is this engine's own state; the feed counts the requests.
	Engine func() EngineView
	// Router is the id of the node that holds the role.
	Router func() string
	// Findings runs the checks; it may take its time, on a goroutine of its own.
	Findings func(ctx context.Context) []FindingView
	// Recent are the latest records, newest first; it may take its time.
	Recent func(ctx context.Context, since time.Time, most int) []*route.Record
	// Past hands over every record kept of requests that came within a time, in
	// any order; it may take its time. nil = there are none.
	Past func(ctx context.Context, since, before time.Time, each func(*route.Record)) error

	Log *slog.Logger
	Now func() time.Time // nil = time.Now
}

// Feed is what the admin UI watches: one picture of the engine, sent to every
// reader as a hello and then as numbered deltas. One goroutine, Run, owns the
// picture and the list of readers; a change is looked up, encoded and compared
// once, whoever many read. While nobody reads it listens to nothing; only the
// sums of the last hour are kept all the time.
type Feed struct {
	src     Sources
	in      chan message  // unbuffered: who tells it something waits for its turn
	done    chan struct{} // closed when Run takes no more messages
	records *event.Hub[*route.Record]
	hour    *hour
	watched atomic.Bool    // whether there is a reader
	serving sync.WaitGroup // readers' goroutines, from joining to leaving
}

// message is something that happened, for the feed's loop.
type message func(w *watch)

// recordsBehind is how many records the loop may fall behind before it reads
// the latest afresh.
const recordsBehind = 1024

// NewFeed returns a feed that Run has to run.
func NewFeed(s Sources) *Feed {
	if s.Now == nil {
		s.Now = time.Now
	}
	if s.Log == nil {
		s.Log = slog.New(slog.DiscardHandler)
	}
	return &Feed{src: s, in: make(chan message), done: make(chan struct{}), records: event.NewHub[*route.Record](recordsBehind), hour: newHour(s.Now())}
}

// Ended tells the feed of a finished request's record, which must not be
// changed any more. It never waits, and costs next to nothing while nobody
// watches.
func (f *Feed) Ended(r *route.Record) {
	f.hour.add(r)
	f.records.Publish(r)
}

// Touched tells the feed that settings, jobs, findings or what else has no
// events of its own may have changed. It never waits long.
func (f *Feed) Touched() {
	if f.watched.Load() {
		f.tell((*watch).touchAll)
	}
}

// Watched reports whether somebody watches now.
func (f *Feed) Watched() bool { return f.watched.Load() }

// Ping has the loop come round; it returns when it has, or has ended.
func (f *Feed) Ping() { f.tell(func(*watch) {}) }

// JobsChanged tells the feed that a job began or ended.
func (f *Feed) JobsChanged() {
	if !f.watched.Load() {
		return
	}
	f.tell(func(w *watch) {
		w.want(taskJobs, quick)
		w.want(taskMeta, quick)
	})
}

// sessionEnded tells the windows of a browser that it may only read from now on.
func (f *Feed) sessionEnded(session digest) {
	if !f.watched.Load() {
		return
	}
	f.tell(func(w *watch) {
		for r := range maps.Clone(w.readers) {
			if r.session == session {
				w.send(r, sessionFrame)
			}
		}
	})
}

// tell hands a message to the loop; false when it has ended.
func (f *Feed) tell(m message) bool {
	select {
	case f.in <- m:
		return true
	case <-f.done:
		return false
	}
}

// Run is the feed until ctx ends; then every reader is closed, and it returns
// when their goroutines have ended.
func (f *Feed) Run(ctx context.Context) error {
	w := newWatch(f, ctx)
	w.work.Go(w.seedHour)
	defer func() {
		w.rest()
		close(f.done)
		for r := range w.readers {
			r.conn.Cut(socket.GoingAway, "the engine stops", nil)
		}
		f.serving.Wait()
		w.work.Wait()
	}()
	for {
		select {
		case <-ctx.Done():
			return nil
		case m := <-f.in:
			m(w)
		case <-f.src.Changed:
			w.onFleet()
		case e, open := <-w.events():
			w.onEvent(&e, open)
		case r, open := <-w.ends():
			w.onRecord(r, open)
		case <-w.timer.C:
			w.onTime()
		}
	}
}

// reader is one window.
type reader struct {
	conn    *socket.Conn
	session digest // of its browser when it came, zero = none
}

// ServeHTTP is /admin/ws: a reader from its upgrade to its end.
func (f *Feed) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	conn, err := socket.Upgrade(w, r, socket.Options{Refuse: func(w http.ResponseWriter, _ *http.Request, status int, reason string) {
		refuse(w, status, "no_socket", "This address speaks websocket with pages of its own: "+reason+".", "Open /ui/ at this address.")
	}})
	if err != nil {
		return
	}
	me := &reader{conn, sessionOf(r)}
	if !f.tell(func(w *watch) { w.join(me) }) {
		conn.Cut(socket.GoingAway, "the engine stops", nil)
		_ = conn.Serve(context.Background(), ignore)
		return
	}
	defer f.serving.Done()
	_ = conn.Serve(context.Background(), func(text []byte) error { // the feed cuts it when it ends
		if !isHello(text) {
			return errNotSpoken
		}
		f.tell(func(w *watch) { w.hello(me) })
		return nil
	})
	f.tell(func(w *watch) { w.leave(me) })
}

// watch is the feed's state, of Run's goroutine.
type watch struct {
	f       *Feed
	ctx     context.Context // of the work it starts
	work    sync.WaitGroup
	readers map[*reader]struct{}
	seq     uint64

	shelf *shelf
	rows  *rows
	apps  map[string]bool         // whose view is out of date, besides those the hour knows of
	sub   *event.Sub[queue.Event] // nil while nobody watches
	over  *event.Sub[*route.Record]

	timer *time.Timer
	until time.Time        // it watches on, also without a reader
	due   [tasks]time.Time // zero = not
	last  [tasks]time.Time // when it was done last

	nodes    map[string]*seenNode
	loads    map[string]load // by node
	active   map[string]int  // by app
	counts   struct{ active, held int }
	checking bool
	again    bool // something changed while it was checked
}

func newWatch(f *Feed, ctx context.Context) *watch {
	w := &watch{f: f, ctx: ctx, readers: map[*reader]struct{}{}, timer: time.NewTimer(time.Hour)}
	w.timer.Stop()
	return w
}

func (w *watch) events() <-chan queue.Event {
	if w.sub == nil {
		return nil
	}
	return w.sub.C
}

func (w *watch) ends() <-chan *route.Record {
	if w.over == nil {
		return nil
	}
	return w.over.C
}

// join takes a reader in and tells it everything.
func (w *watch) join(r *reader) {
	w.f.serving.Add(1)
	if w.sub != nil {
		w.flush() // what the others have not been told yet; it may cut the last of them
	}
	if w.sub == nil {
		w.begin()
	}
	w.readers[r] = struct{}{}
	w.hello(r)
}

func (w *watch) leave(r *reader) {
	if _, here := w.readers[r]; !here {
		return
	}
	delete(w.readers, r)
	if len(w.readers) > 0 {
		return
	}
	if w.expects() {
		w.arm()
		return
	}
	w.rest()
}

// expects reports whether a page is on its way to being a reader.
func (w *watch) expects() bool { return w.f.src.Now().Before(w.until) }

// hello sends all of the state as of the last delta.
func (w *watch) hello(r *reader) {
	if _, here := w.readers[r]; !here {
		return // cut meanwhile
	}
	w.send(r, w.all())
}

// all is the state as of the last delta, as a hello.
func (w *watch) all() []byte {
	return w.shelf.hello(w.f.src.Version, w.f.src.Now(), w.seq, w.rows.all(w.shelf))
}

var (
	resync       = []byte(`{"type":"resync"}`)
	sessionFrame = []byte(`{"type":"session"}`)
)

// send gives a reader a frame. One that has fallen behind is told so and cut;
// it comes again and is told everything.
func (w *watch) send(r *reader, frame []byte) {
	if r.conn.Send(frame) {
		return
	}
	r.conn.Cut(socket.TryAgainLater, "this window reads too slowly", resync)
	w.leave(r)
}

// begin starts to watch, for the first reader.
func (w *watch) begin() {
	w.f.watched.Store(true)
	w.shelf, w.apps = newShelf(), w.f.hour.names(w.f.src.Now())
	w.nodes, w.loads, w.active = map[string]*seenNode{}, map[string]load{}, map[string]int{}
	w.rows = newRows(w.nameOf)
	w.sub, w.over = w.f.src.Events.Subscribe(), w.f.records.Subscribe()
	now := w.f.src.Now()
	w.seed(now)
	for t := range tasks {
		w.last[t], w.due[t] = time.Time{}, time.Time{}
		w.do(t, now)
	}
	w.flush()
	w.arm()
}

// seed takes the latest decisions and what is under way.
func (w *watch) seed(now time.Time) {
	for _, rec := range slices.Backward(w.f.src.Recent(w.ctx, now.Add(-7*24*time.Hour), rowsKept)) {
		w.rows.onRecord(rec)
	}
	for _, e := range w.f.src.Active() {
		w.rows.onEvent(&e)
	}
	w.rows.changed(w.shelf) // the hello has them
}

// seedHour takes the requests of the last hour that ended before this start.
func (w *watch) seedHour() {
	if err := w.f.hour.seed(w.ctx, w.f.src.Past); err != nil && w.ctx.Err() == nil {
		w.f.src.Log.Warn("the requests before this start are missing in the last hour's sums", "err", err)
	}
	w.f.tell(func(w *watch) {
		if w.sub != nil {
			w.want(taskApps, quick)
			w.want(taskMeta, quick)
		}
	})
}

// rest stops watching: nobody reads any more.
func (w *watch) rest() {
	w.f.watched.Store(false)
	w.timer.Stop()
	if w.sub != nil {
		w.sub.Close()
		w.over.Close()
	}
	w.sub, w.over, w.shelf, w.rows, w.apps, w.nodes = nil, nil, nil, nil, nil, nil
}

// flush sends what has changed, as one delta to all.
func (w *watch) flush() {
	frame := w.shelf.delta(w.seq+1, w.rows.changed(w.shelf))
	if frame == nil {
		return
	}
	w.seq++
	for r := range maps.Clone(w.readers) {
		w.send(r, frame)
	}
}

func (w *watch) nameOf(node string) string {
	if n := w.f.src.Fleet().Node(node); n != nil {
		return n.Name
	}
	return node
}

// onEvent follows a request. Cut off for falling behind, it looks afresh.
func (w *watch) onEvent(e *queue.Event, open bool) {
	if !open {
		w.sub = w.f.src.Events.Subscribe()
		for _, e := range w.f.src.Active() {
			w.rows.onEvent(&e)
		}
	} else {
		w.rows.onEvent(e)
	}
	w.want(taskRows, quick)
	w.want(taskQueues, quick)
}

// onRecord ends a request. Cut off for falling behind, it reads the latest
// records afresh; since more may have ended than those, readers are told to ask
// for everything.
func (w *watch) onRecord(rec *route.Record, open bool) {
	if !open {
		w.over = w.f.records.Subscribe()
		for _, rec := range slices.Backward(w.f.src.Recent(w.ctx, w.f.src.Now().Add(-time.Minute), rowsKept)) {
			w.rows.onRecord(rec)
		}
	} else {
		w.rows.onRecord(rec)
	}
	w.want(taskRows, quick)
	w.want(taskApps, slow)
	if !open {
		for r := range maps.Clone(w.readers) {
			w.send(r, resync)
		}
	}
}
