package task

import (
	"slices"
	"strings"
	"testing"
)

// meant returns the names of the notions of a sentence.
func meant(text string) (names []string) {
	var f Features
	f.Extract(&Input{User: []byte(text), Turns: 1})
	for i, name := range notionNames {
		if (f.notions.all|f.notions.body)&(1<<i) != 0 {
			names = append(names, name)
		}
	}
	return names
}

func TestSistersInOtherLanguagesMeanTheSame(t *testing.T) {
	for _, c := range []struct{ notion, texts string }{
		{"who", "Who came?|Wer kam?|Qui est venu ?|¿Quién vino?|Кто пришел?|कौन आया?|谁来了？|誰が来た？|누가 왔어?|من جاء؟"},
		{"kin", "Her mother|Ihre Mutter|Sa mère|Su madre|Ее мать|उसकी मां|她的母亲|彼女の母親|그녀의 어머니|هي والدة سلمى"},
		{"translate", "Translate it|Übersetze das|Traduis ça|Traduce esto|Переведи это|अनुवाद करो|翻译一下|翻訳して|번역해줘|ترجم هذا"},
		{"infer", "The conclusion follows|Die Prämisse gilt|La prémisse est là|La premisa vale|Какой вывод?|निष्कर्ष क्या है?|结论是什么|結論は何か|결론은?|ما الاستنتاج؟"},
	} {
		for _, text := range strings.Split(c.texts, "|") {
			if got := meant(text); !slices.Contains(got, c.notion) {
				t.Errorf("%q means %v, want %s among them", text, got, c.notion)
			}
		}
	}
}

func TestWordsGluedOntoOthersKeepTheirMeaning(t *testing.T) {
	for text, want := range map[string]string{"الترجمة": "translate", "المثلث": "compute", "요약해주세요": "summarize", "거짓말쟁이는": "truth"} {
		if got := meant(text); !slices.Contains(got, want) {
			t.Errorf("%q means %v, want %s among them", text, got, want)
		}
	}
}

func TestWhatSystemTextsMeanIsNotAsked(t *testing.T) {
	var f Features
	f.Extract(&Input{User: []byte("Hm."), System: []byte("Translate everything."), Earlier: []byte("Who lies?"), Turns: 2})
	if f.notions.all|f.notions.body != 0 {
		t.Errorf("notions %b of texts that are not the user's turn", f.notions.all|f.notions.body)
	}
}

// A long search for a word that is in no notion costs every request.
func TestTheTableOfNotionsIsHalfEmpty(t *testing.T) {
	n := 0
	for i := range notionTable {
		if notionTable[i].hash != 0 {
			n++
		}
	}
	if n > notionSlots/2 {
		t.Errorf("%d words in %d slots", n, notionSlots)
	}
	if len(notionNames) > 32 {
		t.Errorf("%d notions do not fit", len(notionNames))
	}
}
