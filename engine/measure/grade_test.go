package measure

import "testing"

func judged(t *testing.T, c Check, answer string) Verdict {
	t.Helper()
	v, err := testGrader().Grade(t.Context(), &Item{Check: c}, answer)
	if err != nil {
		t.Fatal(err)
	}
	return v
}

func TestNumbersAreReadInEveryForm(t *testing.T) {
	for answer, want := range map[string]string{
		"42":                                      "42",
		"The answer is 42.":                       "42",
		"Answer: **42**":                          "42",
		"answer: 42 apples":                       "42",
		"**Final answer:** 1,234,567":             "1234567",
		"Answer: 1 234 567":                       "1234567",
		"Answer: $2.95":                           "2.95",
		"Answer: 5/18":                            "5/18",
		"Answer: 10/36":                           "5/18",
		`So \(\boxed{\frac{420}{29}}\)`:           "420/29",
		`Therefore $\boxed{14{,}732}$.`:           "14732",
		"Answer: -7":                              "-7",
		"Answer: −7":                              "-7",
		"6 * 7 = 42\n\nAnswer: 6 * 7 = 42":        "42",
		"First 12 * 7 = 84.\nSo 84 - 29 = 55":     "55",
		"Answer: 42.0":                            "42",
		"The answer to the question is 42":        "42",
		"Answer:\n42":                             "42",
		"Of the 50 lamps, 43 are on.\nAnswer: 43": "43",
		"<think>Answer: 1</think>Answer: 2":       "2",
		"Answer: 47 (4 + 7 = 11)":                 "47",
		"Answer: 12, because 3 * 12 = 36":         "12",
		"Answer: x = 12":                          "12",
		"Answer: 84 - 29 = 55":                    "55",
		"Answer: 36 %":                            "36",
		"Let me check. Answer: 41. No, wait.\n\nAnswer: 42": "42",
	} {
		if v := judged(t, Check{Number: want}, answer); !v.Right {
			t.Errorf("%q is not taken for %s: %s", answer, want, v.Why)
		}
	}
}

func TestNumbersThatAreNotSaidAreWrong(t *testing.T) {
	for _, answer := range []string{
		"Answer: 41", "Answer: 42 or 43", "Answer: 43 (not 42)", "Answer: unknown", "Answer: NUMBER\n42?\n",
		"42 is my favourite number.\nAnswer: 7", "Answer: 420", "Answer: 4.2", "Answer: -42", "forty-two",
		"<think>Answer: 42</think>", "<think>Answer: 42",
	} {
		if judged(t, Check{Number: "42"}, answer).Right {
			t.Errorf("%q passes for 42", answer)
		}
	}
}

func TestWordsAreReadInEveryForm(t *testing.T) {
	names := Check{Word: &Word{Is: "Ilse", Options: []string{"Mara", "Tom"}}}
	for answer, want := range map[string]bool{
		"Ilse": true, "Answer: ilse": true, "**Answer:** Ilse.": true, "The youngest of the three is Ilse.": true,
		"Mara is older than Tom, Tom than Ilse.\nAnswer: Ilse": true, `Answer: "Ilse"`: true,
		"Answer: Tom": false, "Answer: Ilse or Tom": false, "Answer: not Ilse": false, "Answer: Ilsebill": false,
		"Ilse, Mara, Tom": false, "Ilse\nAnswer: Mara": false,
	} {
		if v := judged(t, names, answer); v.Right != want {
			t.Errorf("%q: right %v (%s)", answer, v.Right, v.Why)
		}
	}
}

func TestReasonsBehindYesAndNoDoNotMatter(t *testing.T) {
	for answer, want := range map[string]string{
		"Answer: no, it did not rain": "no", "Answer: No.": "no", "Answer: yes, since no singer is a cook": "yes",
		"Some painters are not cooks.\n**Answer:** Yes": "yes", "Answer: yes (some painters are not cooks)": "yes",
	} {
		for _, is := range []string{"yes", "no"} {
			other := map[string]string{"yes": "no", "no": "yes"}[is]
			if v := judged(t, Check{Word: &Word{Is: is, Options: []string{other}}}, answer); v.Right != (is == want) {
				t.Errorf("%q passes for %s: %v (%s)", answer, is, v.Right, v.Why)
			}
		}
	}
}

func TestJSONIsComparedByContentOnly(t *testing.T) {
	c := Check{JSON: &JSONValue{Want: map[string]any{"n": 2.0, "s": "Ada King", "l": []any{"a", "b"}, "o": map[string]any{"x": nil}}, Sets: []string{"l"}}}
	for answer, want := range map[string]bool{
		`{"n":2,"s":"Ada King","l":["a","b"],"o":{"x":null}}`:                                  true,
		"```json\n{\"s\":\"ada  king\",\"n\":2.0,\"l\":[\"b\",\"a\"],\"o\":{\"x\":null}}\n```": true,
		`Sure: {"n":2,"s":"Ada King","l":["a","b"],"o":{"x":null}} as asked.`:                  true,
		`{"n":"2","s":"Ada King","l":["a","b"],"o":{"x":null}}`:                                false,
		`{"n":2,"s":"Ada","l":["a","b"],"o":{"x":null}}`:                                       false,
		`{"n":2,"s":"Ada King","l":["a","a"],"o":{"x":null}}`:                                  false,
		`{"n":2,"s":"Ada King","l":["a","b"],"o":{"x":0}}`:                                     false,
		`{"n":2,"s":"Ada King","l":["a","b"],"o":{"x":null},"more":1}`:                         false,
		`{"n":2,"s":"Ada King","l":["a","b"]}`:                                                 false,
		`{"n":2,"s":"Ada King","l":["a","b"],"o":{"x":null}`:                                   false,
		`{"n":1} {"n":2,"s":"Ada King","l":["a","b"],"o":{"x":null}}`:                          false,
	} {
		if v := judged(t, c, answer); v.Right != want {
			t.Errorf("%s: right %v (%s)", answer, v.Right, v.Why)
		}
	}
}
