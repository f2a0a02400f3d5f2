package measure

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"runtime/debug"
	"runtime/metrics"
	"strings"
	"time"

	"github.com/dop251/goja"
)

// The child's own bounds.
const (
	callDepth   = 1000     // calls within calls
	childStack  = 32 << 20 // bytes of a goroutine, for what recurses inside the engine
	longestText = 16 << 20 // characters that one call may make at once
	memoryLook  = 2 * time.Millisecond
)

// ServeSandbox is the whole program of a sandbox process: it reads one
// question, answers it and returns. It may end the process instead, when the
// code takes too much. Nothing else should run in the process.
func ServeSandbox(in io.Reader, out io.Writer) error {
	debug.SetMaxStack(childStack)
	debug.SetMemoryLimit(sandboxMemory / 2)
	go watchMemory()
	var ask sandboxAsk
	if err := json.NewDecoder(in).Decode(&ask); err != nil {
		return fmt.Errorf("read what to run: %w", err)
	}
	time.AfterFunc(ask.Time+sandboxGrace, func() { os.Exit(exitSandbox) }) // its parent may be gone
	return json.NewEncoder(out).Encode(sandboxSaid{Done: true, Why: ask.run()})
}

// exitSandbox is the exit code of a process that took too much.
const exitSandbox = 70

// watchMemory ends the process when it grows beyond its bound. What is counted
// is what was taken from the system, before it is even touched.
func watchMemory() {
	sample := []metrics.Sample{{Name: "/memory/classes/total:bytes"}}
	for range time.Tick(memoryLook) {
		metrics.Read(sample)
		if sample[0].Value.Uint64() > sandboxMemory {
			os.Exit(exitSandbox)
		}
	}
}

// run says why the code is wrong, "" if it is right. Results are compared
// outside the engine, so nothing the code redefines can make them equal.
func (a *sandboxAsk) run() string {
	vm := goja.New()
	vm.SetMaxCallStackSize(callDepth)
	stop := time.AfterFunc(a.Time, func() { vm.Interrupt(errTooLong) })
	defer stop.Stop()
	furnish(vm)
	if _, err := vm.RunScript("answer.js", a.Source); err != nil {
		return "the code does not run: " + briefly(err)
	}
	f := a.find(vm)
	if f == nil {
		return "it defines no function " + a.Function
	}
	for i, c := range a.Cases {
		if why := call(vm, f, c); why != "" {
			return fmt.Sprintf("case %d: %s", i+1, why)
		}
	}
	return ""
}

var errTooLong = errors.New("it takes too long")

// furnish gives the code what harmless programs expect, and takes away what
// makes huge things in one call, which no watch would be quick enough for.
func furnish(vm *goja.Runtime) {
	nothing := func(goja.FunctionCall) goja.Value { return goja.Undefined() }
	console := vm.NewObject()
	for _, name := range []string{"log", "info", "warn", "error", "debug", "assert", "table"} {
		_ = console.Set(name, nothing)
	}
	_ = vm.Set("console", console)
	module := vm.NewObject()
	exports := vm.NewObject()
	_ = module.Set("exports", exports)
	_ = vm.Set("module", module)
	_ = vm.Set("exports", exports)
	text := vm.Get("String").ToObject(vm).Get("prototype").ToObject(vm)
	limit(vm, text, "repeat", func(this goja.Value, args []goja.Value) int64 {
		return int64(len(this.String())) * number64(args, 0)
	})
	for _, name := range []string{"padStart", "padEnd"} {
		limit(vm, text, name, func(_ goja.Value, args []goja.Value) int64 { return number64(args, 0) })
	}
}

func number64(args []goja.Value, i int) int64 {
	if i >= len(args) {
		return 0
	}
	return args[i].ToInteger()
}

// limit refuses calls that would make more than longestText, as engines do
// beyond their own limits.
func limit(vm *goja.Runtime, of *goja.Object, name string, size func(this goja.Value, args []goja.Value) int64) {
	whole, ok := goja.AssertFunction(of.Get(name))
	if !ok {
		return
	}
	_ = of.DefineDataProperty(name, vm.ToValue(func(c goja.FunctionCall) goja.Value {
		if n := size(c.This, c.Arguments); n > longestText || n < 0 && number64(c.Arguments, 0) > 0 {
			panic(vm.NewGoError(errors.New("invalid string length")))
		}
		v, err := whole(c.This, c.Arguments...)
		if err != nil {
			panic(err)
		}
		return v
	}), goja.FLAG_TRUE, goja.FLAG_FALSE, goja.FLAG_TRUE)
}

// find looks the function up: declared, assigned, or exported.
func (a *sandboxAsk) find(vm *goja.Runtime) goja.Callable {
	for _, where := range []string{a.Function, "module.exports." + a.Function, "module.exports.default", "module.exports"} {
		v, err := vm.RunString("(function(){ try { return " + where + " } catch (e) { return undefined } })()")
		if err != nil || v == nil {
			continue
		}
		if f, ok := goja.AssertFunction(v); ok {
			return f
		}
	}
	return nil
}

// call makes one call with fresh arguments and compares what comes back.
func call(vm *goja.Runtime, f goja.Callable, c Case) (why string) {
	args := make([]goja.Value, len(c.Args))
	for i, a := range c.Args {
		args[i] = toJS(vm, a)
	}
	got, err := f(goja.Undefined(), args...)
	if err != nil {
		return "it fails: " + briefly(err)
	}
	if err := vm.Try(func() { why = differs(vm, c.Want, got, 0) }); err != nil {
		return "its result cannot be read: " + briefly(err)
	}
	return why
}

// toJS makes a plain JavaScript value of a JSON one.
func toJS(vm *goja.Runtime, v any) goja.Value {
	switch v := v.(type) {
	case nil:
		return goja.Null()
	case []any:
		list := make([]any, len(v))
		for i := range v {
			list[i] = toJS(vm, v[i])
		}
		return vm.NewArray(list...)
	case map[string]any:
		o := vm.NewObject()
		for _, name := range sortedNames(v) {
			_ = o.Set(name, toJS(vm, v[name]))
		}
		return o
	case float64:
		if i := int64(v); float64(i) == v {
			return vm.ToValue(i)
		}
		return vm.ToValue(v)
	default:
		return vm.ToValue(v)
	}
}

func briefly(err error) string {
	var over *goja.StackOverflowError
	if errors.As(err, &over) {
		return "too many calls within calls"
	}
	var late *goja.InterruptedError
	if errors.As(err, &late) {
		return errTooLong.Error()
	}
	s, _, _ := strings.Cut(err.Error(), "\n")
	if len(s) > 120 {
		s = strings.ToValidUTF8(s[:120], "") + "..."
	}
	return s
}
