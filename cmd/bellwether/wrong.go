package main

import (
	"errors"
	"fmt"
	"reflect"
	"strings"
	"time"

	"github.com/alecthomas/kong"

	"bellwether/engine/route"
)

// wrongUse says what is wrong with a command line. The parser's own words do,
// but for a command that does not exist: to it that is a surplus word for the
// command that runs without a name.
func wrongUse(err error) error {
	var parse *kong.ParseError
	if !errors.As(err, &parse) || len(parse.Context.Path) == 0 {
		return err
	}
	last := parse.Context.Path[len(parse.Context.Path)-1]
	if last.Command == nil || last.Parent == nil || last.Parent.DefaultCmd != last.Command || len(last.Command.Positional) > 0 {
		return err
	}
	rest := last.Remainder()
	if len(rest) == 0 || strings.HasPrefix(rest[0], "-") {
		return err
	}
	word, best, least := rest[0], "", len(rest[0])/3+2
	for _, command := range last.Parent.Children {
		for _, name := range append([]string{command.Name}, command.Aliases...) {
			if name == word { // it is there; something else is wrong
				return err
			}
			if d := route.EditDistance(word, name); d < least && !command.Hidden {
				best, least = name, d
			}
		}
	}
	path := strings.TrimPrefix(last.Parent.FullPath()+" ", "bellwether ")
	if best == "" {
		return fmt.Errorf("there is no command %q", path+word)
	}
	return fmt.Errorf("there is no command %q; did you mean %s?", path+word, path+best)
}

// mappers read what flags are given, as the parser does by itself, and say more
// of what they want.
func mappers() []kong.Option {
	usual := kong.NewRegistry().RegisterDefaults()
	wants := func(m kong.Mapper) kong.Mapper {
		return kong.MapperFunc(func(ctx *kong.DecodeContext, target reflect.Value) error {
			if ctx.Value.Flag != nil && ctx.Scan.Peek().IsEOL() {
				return fmt.Errorf("it needs a value: --%s=%s", ctx.Value.Name, ctx.Value.Flag.FormatPlaceHolder())
			}
			return m.Decode(ctx, target)
		})
	}
	text, number, table := reflect.TypeFor[string](), reflect.TypeFor[int](), reflect.TypeFor[map[string]string]()
	return []kong.Option{
		kong.KindMapper(reflect.String, wants(usual.ForType(text))),
		kong.KindMapper(reflect.Int, wants(usual.ForType(number))),
		kong.KindMapper(reflect.Map, wants(usual.ForType(table))),
		kong.NamedMapper("path", wants(usual.ForNamedType("path", text))),
		kong.TypeMapper(reflect.TypeFor[time.Duration](), wants(kong.MapperFunc(readSpan))),
	}
}

// readSpan reads a time that something lasts.
func readSpan(ctx *kong.DecodeContext, target reflect.Value) error {
	var text string
	if err := ctx.Scan.PopValueInto("time", &text); err != nil {
		return err
	}
	d, err := time.ParseDuration(text)
	if err != nil {
		return fmt.Errorf("it takes a time like 1h, 30m or 1h30m, not %q", text)
	}
	target.Set(reflect.ValueOf(d))
	return nil
}
