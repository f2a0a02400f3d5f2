package dialect

import (
	"encoding/json"
	"reflect"
	"testing"
)

func TestPartOfABatchIsTheRequestWithFewerInputs(t *testing.T) {
	for _, proto := range []Protocol{OllamaEmbed, OpenAIEmbeddings} {
		whole := `{"model":"m","input":["a","b\n","ü","d"],"dimensions":8,"odd \"name\"":[1,{"x":null}]}`
		r, p := Parse(proto, []byte(whole))
		if p != nil {
			t.Fatal(p.Text())
		}
		part := r.Part(1, 3)
		var got, want any
		if err := json.Unmarshal(part.Body, &got); err != nil {
			t.Fatalf("%s: %v in %s", proto, err, part.Body)
		}
		_ = json.Unmarshal([]byte(`{"model":"m","input":["b\n","ü"],"dimensions":8,"odd \"name\"":[1,{"x":null}]}`), &want)
		if !reflect.DeepEqual(got, want) {
			t.Errorf("%s: got %s", proto, part.Body)
		}
		again, p := Parse(proto, part.Body)
		if p != nil || !reflect.DeepEqual(again.Embed, part.Embed) {
			t.Errorf("%s: it says %+v and means %+v", proto, again.Embed, part.Embed)
		}
		if string(r.Body) != whole || len(r.Embed.Inputs) != 4 || string(r.Members[1].Value) != `["a","b\n","ü","d"]` {
			t.Errorf("%s: the whole has changed: %s", proto, r.Body)
		}
	}
}
