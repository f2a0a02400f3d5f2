package measure

import (
	"context"
	"strings"
	"testing"
	"time"
)

var double = &Code{Function: "f", Cases: []Case{
	{Args: []any{1.0}, Want: 2.0}, {Args: []any{3.0}, Want: 6.0}, {Args: []any{-2.0}, Want: -4.0},
}}

func runs(t *testing.T, c *Code, answer string) Verdict {
	t.Helper()
	g := testGrader()
	g.Sandbox.Time = 500 * time.Millisecond
	v, err := g.Grade(t.Context(), &Item{Check: Check{Code: c}}, answer)
	if err != nil {
		t.Fatal(err)
	}
	return v
}

func TestCodeIsFoundHoweverItIsDressed(t *testing.T) {
	for _, answer := range []string{
		"function f(x) { return 2 * x }",
		"const f = x => x * 2",
		"```js\nfunction f(x) { return x + x }\n```",
		"Like this:\n\n```javascript\nexport function f(x) { return x + x }\n```\nUsage:\n```js\nf(3) // 6\n```",
		"```js\nfunction f(x) { return x }\n```\nThat was wrong, of course. Better:\n```js\nfunction f(x) { return x + x }\n```",
		"```bash\nnode f.js\n```\n```js\nmodule.exports = { f: x => x * 2 }\n```",
		"```\nfunction f(x) { return x + x }\nconsole.log(f(2))\n```",
		"<think>function f(x) { return x }</think>\nfunction f(x) { return x + x }",
		"export default function f(x) { return x + x }",
	} {
		if v := runs(t, double, answer); !v.Right {
			t.Errorf("%s\n is wrong: %s", answer, v.Why)
		}
	}
}

// Nothing that code does can crash or hang us, or pass for right.
func TestHostileCodeIsWrongAndHarmless(t *testing.T) {
	for name, answer := range map[string]string{
		"endless loop":          "while(true){}",
		"endless loop inside":   "function f(x) { for(;;); }",
		"endless promise":       "function f(x) { const g = () => Promise.resolve().then(g); g(); return 2 * x + 1 }",
		"deep recursion":        "function f(x) { return f(x) + 1 }",
		"mutual recursion":      "function g(x) { return f(x) } function f(x) { return g(x) }",
		"recursion in toString": "function f(x) { const o = { toString() { return '' + o } }; return '' + o }",
		"recursion in sort":     "function f(x) { return [2, 1].sort(function c() { return [2, 1].sort(c)[0] })[0] }",
		"deep nesting":          "function f(x) { let a = []; for (let i = 0; i < 1e6; i++) a = [a]; return JSON.stringify(a).length }",
		"deep flat":             "function f(x) { let a = []; for (let i = 0; i < 1e6; i++) a = [a]; return a.flat(Infinity).length }",
		"huge string":           "'x'.repeat(2**30)",
		"huge string by hand":   "let s = 'x'; for (;;) s += s",
		"huge padding":          "'x'.padStart(2**31)",
		"huge join":             "new Array(2**28).join('abc')",
		"huge replace":          "'x'.repeat(1e6).replace(/x/g, 'y'.repeat(1e6))",
		"array bomb":            "const a = []; for (;;) a.push(new Array(1e6).fill(0))",
		"array length":          "const a = new Array(2**32 - 1).fill(0)",
		"typed array":           "const a = []; for (;;) a.push(new Uint8Array(1e8).fill(1))",
		"buffer":                "new ArrayBuffer(2**40)",
		"map bomb":              "const m = new Map(); for (let i = 0; ; i++) m.set({}, 'x'.repeat(1000) + i)",
		"regular expression":    "function f(x) { return /^(a+)+\\1$/.test('a'.repeat(40) + 'b') ? 2 : 1 }",
		"throws":                "throw new Error('no')",
		"throws itself":         "function f(x) { const e = {}; Object.defineProperty(e, 'message', { get() { throw e } }); throw e }",
		"exit":                  "process.exit(0)",
		"require":               "require('fs').writeFileSync('/tmp/x', 'x'); function f(x) { return 2 * x }",
		"print":                 `console.log('{"done":true,"why":""}'); function f(x) { return 0 }`,
		"equal to all by proxy": "function f(x) { return new Proxy(Object(2), { get: () => () => 2 }) }",
		"equal to all by value": "function f(x) { return { valueOf() { return 2 }, toString() { return '2' } } }",
		"boxed":                 "function f(x) { return new Number(2 * x) }",
		"text":                  "function f(x) { return String(2 * x) }",
		"prototypes":            "Object.prototype.toString = () => '2'; Number.prototype.valueOf = () => 2; Array.isArray = () => true; JSON.stringify = () => '2'; Object.is = () => true; function f(x) { return [2] }",
		"redefines undefined":   "var undefined = 2; function f(x) {}",
		"getter":                "Object.defineProperty(globalThis, 'f', { get() { throw 1 } })",
		"reads the arguments":   "function f(x) { return f.caller || arguments.callee.caller || 0 }",
		"no function":           "const f = 7",
		"syntax":                "function f(x { return 2 * x }",
		"eval":                  "function f(x) { return eval('x') }",
		"async":                 "async function f(x) { return 2 * x }",
		"generator":             "function* f(x) { return 2 * x }",
	} {
		t.Run(strings.ReplaceAll(name, " ", "_"), func(t *testing.T) {
			t.Parallel()
			began := time.Now()
			if v := runs(t, double, answer+"\n// f"); v.Right || v.Why == "" { // what never names f is not even run
				t.Errorf("passes: %+v", v)
			}
			if took := time.Since(began); took > sandboxGrace+5*time.Second {
				t.Errorf("took %v", took)
			}
		})
	}
}

func TestResultsAreComparedDeeply(t *testing.T) {
	c := &Code{Function: "f", Cases: []Case{{Args: []any{map[string]any{"a": []any{1.0, nil}}}, Want: map[string]any{"a": []any{1.0, nil}, "b": true}}}}
	for answer, want := range map[string]bool{
		"f = o => ({ ...o, b: true })":                                true,
		"f = o => Object.assign(Object.create(null), o, { b: true })": true,
		"f = o => ({ ...o, b: 1 })":                                   false,
		"f = o => ({ ...o, b: true, c: undefined })":                  false,
		"f = o => ({ a: { 0: 1, 1: null, length: 2 }, b: true })":     false,
		"f = o => ({ a: [1, undefined], b: true })":                   false,
		"f = o => ({ get a() { throw 1 }, b: true })":                 false,
		"f = o => new Map([['a', [1, null]], ['b', true]])":           false,
		"f = o => { const r = { b: true }; r.a = r; return r }":       false,
	} {
		if v := runs(t, c, answer); v.Right != want {
			t.Errorf("%s: right %v (%s)", answer, v.Right, v.Why)
		}
	}
}

func TestEachCallGetsArgumentsOfItsOwn(t *testing.T) {
	c := &Code{Function: "f", Cases: []Case{
		{Args: []any{[]any{3.0, 1.0}}, Want: 1.0}, {Args: []any{[]any{3.0, 1.0}}, Want: 1.0},
	}}
	if v := runs(t, c, "function f(l) { return l.pop() }"); !v.Right {
		t.Error(v.Why)
	}
}

func TestSandboxThatCannotStartSaysNothingOfTheAnswer(t *testing.T) {
	for _, s := range []Sandbox{{}, {Command: []string{"/nowhere/bellwether"}}} {
		g := Grader{Sandbox: s}
		if v, err := g.Grade(t.Context(), &Item{Check: Check{Code: double}}, "const f = x => x * 2"); err == nil {
			t.Errorf("judged as %+v without a sandbox", v)
		}
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if v, err := testGrader().Grade(ctx, &Item{Check: Check{Code: double}}, "while(true){} f()"); err == nil {
		t.Errorf("judged as %+v after it was given up", v)
	}
}
