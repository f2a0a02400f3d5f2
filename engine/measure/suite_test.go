package measure

import (
	"math"
	"testing"
)

func TestEverySuiteHasItemsOfEachDifficulty(t *testing.T) {
	for _, task := range Tasks {
		items := Suite(task)
		if len(items) < 30 {
			t.Errorf("%s has %d items, want at least 30", task, len(items))
		}
		count := map[Difficulty]int{}
		for _, it := range items {
			count[it.Difficulty]++
		}
		for _, d := range []Difficulty{Easy, Medium, Hard} {
			if share := float64(count[d]) / float64(len(items)); math.Abs(share-1.0/3) > 0.1 {
				t.Errorf("%s: %d of %d items are %s", task, count[d], len(items), d)
			}
		}
	}
}

// refusals are what models say instead of an answer.
var refusals = []string{
	"", "  \n", "I'm sorry, but I can't help with that.", "As a language model I cannot answer this question.",
	"Sure! Here is the answer:", "<think>The user asks", "...", "null", "{}", "[]", "```\n```",
}

// Every item is decided: its reference answer passes, and plausible wrong ones,
// no answer, a refusal and the question itself do not.
func TestEveryItemTellsRightFromWrong(t *testing.T) {
	g := testGrader()
	for _, task := range Tasks {
		t.Run(task, func(t *testing.T) {
			t.Parallel()
			for _, it := range Suite(task) {
				grade := func(answer string) Verdict {
					t.Helper()
					v, err := g.Grade(t.Context(), &it, answer)
					if err != nil {
						t.Fatalf("%s: %v", it.ID, err)
					}
					return v
				}
				right := []string{it.Right, "\n" + it.Right + "\n\n", "<think>Hm, let me see. Answer: 7. {}</think>\n" + it.Right}
				if it.Check.Code != nil {
					right = []string{it.Right, "Here it is:\n```javascript\n" + it.Right + "\n```\nIt runs in linear time."}
				}
				if it.Check.JSON != nil {
					right = append(right, "```json\n"+it.Right+"\n```", "Here you are: "+it.Right)
				}
				for _, a := range right {
					if v := grade(a); !v.Right {
						t.Errorf("%s: a right answer is wrong: %s\n%s", it.ID, v.Why, a)
					}
				}
				if len(it.Wrong) < 2 {
					t.Errorf("%s has %d wrong answers to tell from the right one", it.ID, len(it.Wrong))
				}
				for _, a := range append(append([]string{it.Ask}, it.Wrong...), refusals[:quick(it)]...) {
					if grade(a).Right {
						t.Errorf("%s: a wrong answer is right:\n%s", it.ID, a)
					}
				}
			}
		})
	}
}

// quick says how many refusals are tried: each costs a process for code.
func quick(it Item) int {
	if it.Check.Code != nil {
		return 4
	}
	return len(refusals)
}

// No item gives another's answer away, and none is asked twice.
func TestItemsAreDifferent(t *testing.T) {
	seen := map[string]string{}
	for _, task := range Tasks {
		for _, it := range Suite(task) {
			if other, ok := seen[it.Ask]; ok {
				t.Errorf("%s and %s ask the same", it.ID, other)
			}
			seen[it.Ask] = it.ID
		}
	}
}
