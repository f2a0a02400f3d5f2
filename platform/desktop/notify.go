package desktop

// Notifier shows notifications of the system's own kind.
type Notifier struct{ app, icon string }

// NewNotifier makes one that speaks in the name of an app; icon is the path of
// a PNG, "" = none.
func NewNotifier(app, icon string) *Notifier { return &Notifier{app, icon} }

// Notify shows a notification. kind says what it is about (runtime, records,
// port, approval, trouble); a newer one of a kind may replace the older.
func (n *Notifier) Notify(kind, title, text string) error { return ErrNotAvailable }
