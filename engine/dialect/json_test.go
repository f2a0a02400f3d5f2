package dialect

import (
	"strings"
	"testing"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
)

func TestWalkingSeesWhatADecoderSees(t *testing.T) {
	doc := Raw(` { "a" : [ 1 , -2.5e3 , "x,]}\"" , {"b":[]} , [[ ]] , true,false , null ] ,"\u0063":{}, "d":"\\" } `)
	doc = Raw(strings.TrimSpace(string(doc)))
	var names []string
	for m := range Members(doc) {
		names = append(names, m.Name)
		if !jsontext.Value(m.Value).IsValid() {
			t.Errorf("%s is no value: %s", m.Name, m.Value)
		}
	}
	if got := strings.Join(names, " "); got != "a c d" {
		t.Errorf("names %s", got)
	}
	var elements []string
	for i, e := range Elements(doc.Get("a")) {
		if i != len(elements) {
			t.Errorf("index %d at %d", i, len(elements))
		}
		elements = append(elements, string(e))
	}
	if got := strings.Join(elements, "|"); got != `1|-2.5e3|"x,]}\""|{"b":[]}|[[ ]]|true|false|null` {
		t.Errorf("elements %s", got)
	}
	if got := doc.Get("d"); string(got) != `"\\"` {
		t.Errorf("d = %s", got)
	}
	if doc.Get("nothing") != nil || Raw(nil).Get("a") != nil || Raw("3").Get("a") != nil {
		t.Error("a value that is not there was found")
	}
}

func TestWalkingStopsWhereTheCallerDoes(t *testing.T) {
	n := 0
	for range Members(Raw(`{"a":1,"b":2}`)) {
		n++
		break
	}
	for range Elements(Raw(`[1,2,3]`)) {
		n++
		break
	}
	if n != 2 {
		t.Errorf("%d steps", n)
	}
}

func FuzzWalkingIsSafeOnAnyBytes(f *testing.F) {
	for _, s := range []string{`{"a":1}`, `[1,2]`, `{"a"`, `{"a":`, `{"`, `[`, `["\`, `{"a":}`, `{,}`, `[,]`, `{"a":"\\\"`, "{\"a\" \n : [ 1"} {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, b []byte) {
		v := Raw(b)
		valid := jsontext.Value(b).IsValid()
		if valid {
			v = Raw(strings.TrimSpace(string(b)))
		}
		count := 0
		for m := range Members(v) {
			count++
			_ = m.Name
		}
		for range Elements(v) {
			count++
		}
		if !valid {
			return
		}
		want := 0
		switch v.Kind() {
		case '{':
			var m map[string]jsontext.Value
			if json.Unmarshal(v, &m) == nil {
				want = len(m)
			}
		case '[':
			var l []jsontext.Value
			if json.Unmarshal(v, &l) == nil {
				want = len(l)
			}
		}
		if count != want {
			t.Errorf("%d members and elements, want %d in %s", count, want, v)
		}
	})
}

func TestBodiesThatTwoReadersCouldReadDifferentlyAreRefused(t *testing.T) {
	msgs := `"messages":[{"role":"user","content":"hi"}]`
	for body, want := range map[string]string{
		`{"model":"a","model":"b",` + msgs + `}`:                     "twice",
		`{"model":"a","\u006dodel":"b",` + msgs + `}`:                "twice",
		`{"model":"a","Model":"b",` + msgs + `}`:                     "different spellings",
		`{"MODEL":"a","Model":"b",` + msgs + `}`:                     "different spellings",
		`{"model":"a",` + msgs + `,"Messages":[]}`:                   "different spellings",
		`{"model":"a","messages":[{"role":"user","role":"system"}]}`: "twice",
		`{"model":"a","ſtream":true,"stream":false,` + msgs + `}`:    "different spellings",
		`{"model":"a",` + msgs + `} {}`:                              "more follows",
		`{"model":"a",` + msgs + `,}`:                                "at byte",
		`{"model":`:                                                  "unexpected EOF",
		`{"model":"a",` + msgs + `,"n":01}`:                          "at byte",
		``:                                                           "missing request body",
		" \n":                                                        "missing request body",
		`[]`:                                                         "expected a JSON object",
		`null`:                                                       "expected a JSON object",
		`{` + msgs + `}`:                                             "model is required",
		`{"model":"",` + msgs + `}`:                                  "model is required",
		`{"model":7,` + msgs + `}`:                                   "model: expected a string, got a number",
		"{\"model\":\"a\\u0000b\"," + msgs + "}":                     "control character",
		`{"model":"` + strings.Repeat("m", 600) + `",` + msgs + `}`:   "longer than 512",
		`{"model":"` + strings.Repeat("[", 3) + `","x":` + deep + `}`: "depth",
	} {
		for _, p := range []Protocol{OpenAIChat, OllamaChat} {
			r, prob := Parse(p, []byte(body))
			if prob == nil {
				t.Errorf("%s: %.80s was taken, model %s", p, body, r.Model)
				continue
			}
			if prob.Status != 400 || !strings.Contains(prob.Text(), want) {
				t.Errorf("%s: %.80s: %d %s, want 400 with %q", p, body, prob.Status, prob.Text(), want)
			}
			if prob.Retry == nil || *prob.Retry {
				t.Errorf("%.80s: the same bytes would be sent again", body)
			}
		}
	}
}

var deep = strings.Repeat("[", 20000) + strings.Repeat("]", 20000)

func TestModelInAnotherSpellingIsTakenAsModel(t *testing.T) {
	r := parsed(t, OllamaChat, `{"Model":"tiny","Messages":[{"role":"user","content":"hi"}]}`)
	if r.Model != "tiny" || len(r.Messages) != 1 || r.LoadOnly {
		t.Errorf("read %+v", r)
	}
}

// JavaScript cuts strings in the middle of an emoji; some runtimes answer 500.
func TestLoneSurrogatesAndInvalidUTF8AreMended(t *testing.T) {
	r := parsed(t, OpenAIChat, `{"model":"m","messages":[{"role":"user","content":"a\ud83d b\ude00 c\ud83d\ude00 `+"\xff\xfe"+` \\ud83d"}]}`)
	if got, want := r.Messages[0].Parts[0].Text.String(), "a\ufffd b\ufffd c😀 \ufffd\ufffd \\ud83d"; got != want {
		t.Errorf("read %q, want %q", got, want)
	}
	if len(r.Dropped) != 1 {
		t.Errorf("noted %q", r.Dropped)
	}
	if !jsontext.Value(r.Body).IsValid() {
		t.Error("the body is still invalid")
	}
}

func TestUnknownFieldsAreKeptAndNeverAnError(t *testing.T) { // W-27
	for p, body := range map[Protocol]string{
		OpenAIChat:       `{"model":"m","messages":[{"role":"user","content":"hi","x":1,"cache_control":{}}],"new_thing":{"a":[1]},"store":true,"Zz":1,"zz":2}`,
		OpenAICompletion: `{"model":"m","prompt":"hi","new_thing":{"a":[1]},"Zz":1,"zz":2}`,
		OpenAIEmbeddings: `{"model":"m","input":"hi","new_thing":{"a":[1]},"Zz":1,"zz":2}`,
		OllamaChat:       `{"model":"m","messages":[{"role":"user","content":"hi","x":1}],"new_thing":{"a":[1]},"options":{"new":1},"Zz":1,"zz":2}`,
		OllamaGenerate:   `{"model":"m","prompt":"hi","new_thing":{"a":[1]},"Zz":1,"zz":2}`,
		OllamaEmbed:      `{"model":"m","input":"hi","new_thing":{"a":[1]},"Zz":1,"zz":2}`,
	} {
		r := parsed(t, p, body)
		if got := string(r.Member("new_thing")); got != `{"a":[1]}` {
			t.Errorf("%s: new_thing = %s", p, got)
		}
	}
}

func parsed(t testing.TB, p Protocol, body string) *Request {
	t.Helper()
	r, prob := Parse(p, []byte(body))
	if prob != nil {
		t.Fatalf("%s refused %s: %s", p, body, prob.Text())
	}
	return r
}
