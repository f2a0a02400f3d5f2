package app

import (
	"context"
	"errors"
	"io"
	"log/slog"
	"reflect"
	"testing"

	"bellwether/app/tray"
	"bellwether/platform/desktop"
	"bellwether/platform/desktop/desktoptest"
)

// T-06: the app answers on localhost without a window, so it must not be napped
// while it runs, icon or none. The bus is not there, so that no icon is drawn.
func TestT06TheAppStaysAwakeFromItsStartToItsEnd(t *testing.T) {
	ctx, stop := context.WithCancel(t.Context())
	serves := make(chan struct{})
	a := bareApp(t, func() (Engine, error) { close(serves); return &fakeEngine{}, nil })
	a.notifier = nil
	var said []string
	a.awake = func(why string) func() {
		said = append(said, why)
		return func() { said = append(said, "released") }
	}
	done := make(chan error)
	go func() { done <- a.withTray(ctx, tray.Place{}, &claim{dir: a.o.Folders.Data}) }()
	<-serves
	stop()
	if err := <-done; err != nil {
		t.Fatal(err)
	}
	if want := []string{"Bellwether answers requests", "released"}; !reflect.DeepEqual(said, want) {
		t.Errorf("the system was told %q, want %q", said, want)
	}
	if a := bareApp(t, nil); reflect.ValueOf(a.awake).Pointer() != reflect.ValueOf(desktop.StayAwake).Pointer() {
		t.Error("what is run asks something else than the system")
	}
}

func TestNotificationsCarryTheIconThatPackagesInstall(t *testing.T) {
	bus := desktoptest.NewBus(t)
	shown := bus.ShowNotifications(t)
	t.Setenv("DBUS_SESSION_BUS_ADDRESS", bus.Address)
	if err := bareApp(t, nil).notifier.Notify("runtime", "ollama is gone", "Start it again: ollama serve"); err != nil {
		t.Fatal(err)
	}
	if got := <-shown; got.App != "Bellwether" || got.Icon != "bellwether" {
		t.Errorf("shown %+v", got)
	}
}

// bareApp is the app as it is run, but for what starts its engine.
func bareApp(t *testing.T, start func() (Engine, error)) *app {
	t.Helper()
	dir := t.TempDir()
	folders, err := desktop.FoldersUnder(dir)
	if err != nil {
		t.Fatal(err)
	}
	return newApp(Options{
		Folders: folders, Version: "1.2.0", Hidden: true, Start: start, Out: io.Discard, Log: slog.New(slog.DiscardHandler),
		Login: desktop.NewLoginItem(desktop.LoginOptions{Config: dir}), Browser: func(string) error { return errors.New("no browser in tests") },
	})
}
