package taskmodel

import (
	"bufio"
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"bellwether/engine/task"
)

// letters name labels in the hand-labelled strings below; anything else is
// left out because more than one task would be right.
var letters = map[byte]task.Task{
	'h': task.Chat, 'c': task.Coding, 'm': task.Math, 'r': task.Reasoning, 's': task.Summarization,
	't': task.Translation, 'e': task.Extraction, 'w': task.Creative, 'd': task.Structured,
}

// source reads one set from its folder under DIR, named owner+repository.
type source struct {
	repo string
	read func(dir string) ([]Row, error)
}

// sources are the open sets; weights.md has their versions and licences.
var sources = []source{
	{"yizhongw+self-instruct", readSelfInstruct},
	{"IlyaGusev+rulm", func(dir string) ([]Row, error) {
		return readSeeds(filepath.Join(dir, "self_instruct/data/ru_alpaca_seed_tasks.jsonl"), "seed-ru", "ru")
	}},
	{"LianjiaTech+BELLE", func(dir string) ([]Row, error) {
		return readSeeds(filepath.Join(dir, "data/1.5M/zh_seed_tasks.json"), "seed-zh", "zh")
	}},
	{"google-research+FLAN", readFlan},
	{"openai+grade-school-math", readGSM},
	{"arkilpatel+SVAMP", readSVAMP},
	{"deepmind+AQuA", readAQuA},
	{"teknium1+GPTeacher", readGPTeacher},
	{"LAION-AI+Open-Assistant", readAssistant},
	{"bofenghuang+vigogne", readAssistantFrench},
	{"TurkuNLP+oasst-fi", readAssistantMore},
	{"microsoft+MathOctopus", readMSVAMP},
	{"PlexPt+awesome-chatgpt-prompts-zh", readRoles},
	{"FreedomIntelligence+AceGPT", readExams},
	{"deepmind+xquad", readXQuAD},
	{"yahoojapan+JGLUE", readJGLUE},
	{"KLUE-benchmark+KLUE", readKLUE},
	{"cambridgeltl+xcopa", readXCOPA},
}

// lines decodes a file of one JSON value a line.
func lines[T any](path string) ([]T, error) {
	b, err := os.ReadFile(path)
	if err != nil {
		return nil, err
	}
	var out []T
	sc := bufio.NewScanner(bytes.NewReader(b))
	sc.Buffer(nil, 16<<20)
	for sc.Scan() {
		var v T
		if json.Unmarshal(sc.Bytes(), &v) == nil {
			out = append(out, v)
		}
	}
	return out, sc.Err()
}

func document[T any](path string) (v T, err error) {
	b, err := os.ReadFile(path)
	if err != nil {
		return v, err
	}
	return v, json.Unmarshal(b, &v)
}

type seed struct {
	ID          string `json:"id"`
	Instruction string `json:"instruction"`
	Instances   []struct {
		Input string `json:"input"`
	} `json:"instances"`
}

func (s *seed) text() string {
	if len(s.Instances) > 0 && s.Instances[0].Input != "" {
		return s.Instruction + "\n" + s.Instances[0].Input
	}
	return s.Instruction
}

// seedLabels are of seed_task_0 ..., userLabels of user_oriented_task_0 ...,
// labelled by hand.
const (
	seedLabels = "hxxxshhhwhhhhxxrhhwhwxmhhmehcwhchxhmhchehcxxxmhwhwcxhxhwwwmwhxswshxehchhchwswxxwhhhmwew" +
		"xhwhxhwxhwxxhwthhhhxhxmmhxxxxhthwxxxwwhxhxwhhxhxxmscccchhmhhhxxxxxxxrxxcehxeexxxxxeexxxh"
	userLabels = "xxxxxwxwwwhxccxexxxmxxxxwwhxxwxxwxhhhhxxcxxhhhhhxxxxwwwwwwwwwwwwxxxwwhhhwwwwxccwxxhhhhxhhhxxxcxhcxsxtxehhhhhhhhhxxxhhhhhhxxxxx" +
		"hxhhhhhxrhhhhhmmmmmxxxxmxxxxwxxxxssxexxxxwxxxhhxxxehcexsxxxxwxxxcxxxxcxxxxxxsxwcwwxxcwexxxxxxxxhxwxxxcxxwcxhxxxhxhxhccxhxehwxh"
)

func readSeeds(path, name, lang string) ([]Row, error) {
	seeds, err := lines[seed](path)
	var rows []Row
	for i := range seeds {
		var n int
		labels := seedLabels
		if _, err := fmt.Sscanf(seeds[i].ID, "seed_task_%d", &n); err != nil {
			if _, err := fmt.Sscanf(seeds[i].ID, "user_oriented_task_%d", &n); err != nil {
				continue
			}
			labels = userLabels
		}
		if n < len(labels) {
			if label, ok := letters[labels[n]]; ok {
				rows = append(rows, row(name, lang, label, seeds[i].text()))
			}
		}
	}
	return rows, err
}

// p3 labels the templates of the P3 collection by the beginning of their
// names; the longest fitting one counts, - leaves out.
var p3 = map[string]byte{
	"adversarial_qa": 'e', "adversarial_qa_dbert_generate": '-', "adversarial_qa_dbidaf_generate": '-', "adversarial_qa_droberta_generate": '-',
	"cnn_dailymail": 's', "cnn_dailymail_3_0_0_generate_story": 'w', "cnn_dailymail_3_0_0_spice_up_story": 'w',
	"commonsense_qa": 'r', "commonsense_qa_answer_given_question_without": '-', "cosmos_qa": 'r', "duorc_ParaphraseRC": 'e', "duorc_SelfRC": 'e',
	"duorc_ParaphraseRC_build_story": 'w', "duorc_SelfRC_build_story": 'w', "duorc_ParaphraseRC_title": 's', "duorc_SelfRC_title": 's',
	"duorc_ParaphraseRC_generate": '-', "duorc_SelfRC_generate": '-', "gigaword": 's', "gigaword_reverse": 'w', "gigaword_write_an_article": 'w',
	"gigaword_write_its_sentence": 's', "kilt_tasks": 'h', "kilt_tasks_hotpotqa_combining_facts": '-', "multi_news": 's', "multi_news_expand": 'w', "qasc": 'r',
	"quarel": 'r', "quartz": 'r', "ropes": 'r', "quoref": 'e', "quoref_Guess_Title": 's', "sciq_Direct_Question": 'e',
	"sciq_Direct_Question_Closed_Book_": 'h', "sciq_Multiple_Choice_Closed_Book_": 'h', "social_i_qa": 'r', "wiki_bio_comprehension": 'e', "wiki_bio_key_content": 'e',
	"wiki_qa_Direct_Answer": 'h', "wiki_qa_found_on_google": '-', "wiqa": 'r', "xsum": 's',
}

// perTemplate is how many rows of each template are taken.
const perTemplate = 16

func readSelfInstruct(dir string) ([]Row, error) {
	rows, err := readSeeds(filepath.Join(dir, "data/seed_tasks.jsonl"), "seed-en", "en")
	if err != nil {
		return nil, err
	}
	user, err := readSeeds(filepath.Join(dir, "human_eval/user_oriented_instructions.jsonl"), "user-oriented", "en")
	if err != nil {
		return nil, err
	}
	rows = append(rows, user...)
	asked, err := askedQuestions(filepath.Join(dir, "data/finetuning/t0_train_50k/data_per_template"))
	if err != nil {
		return nil, err
	}
	rows = append(rows, asked...)
	files, err := filepath.Glob(filepath.Join(dir, "data/finetuning/t0_train_50k/data_per_template/*.jsonl"))
	for _, f := range files {
		label, ok := p3Label(strings.TrimSuffix(filepath.Base(f), ".jsonl"))
		if !ok {
			continue
		}
		prompts, err := lines[struct{ Prompt string }](f)
		if err != nil {
			return nil, err
		}
		for i, p := range prompts {
			if i < perTemplate {
				rows = append(rows, row("p3", "en", label, p.Prompt))
			}
		}
	}
	return rows, err
}

// askedQuestions takes the questions that people asked out of templates that
// ask something about them.
func askedQuestions(dir string) (rows []Row, err error) {
	seen := map[string]bool{}
	for _, set := range []struct{ file, name string }{
		{"glue_qqp_duplicate_or_not", "qqp"}, {"trec_trec1", "trec"}, {"kilt_tasks_hotpotqa_straighforward_qa", "hotpotqa"}, {"wiki_qa_Is_This_True_", "wiki_qa"},
	} {
		prompts, err := lines[struct{ Prompt string }](filepath.Join(dir, set.file+".jsonl"))
		if err != nil {
			return nil, err
		}
		for _, p := range prompts {
			for i, q := range strings.Split(p.Prompt, "\n") {
				q = strings.ReplaceAll(strings.TrimSpace(strings.TrimPrefix(q, "Question: ")), "??", "?")
				if i < 2 && strings.HasSuffix(q, "?") && !seen[q] && !strings.HasPrefix(q, "Is this asking") && !strings.HasPrefix(q, "Would ") {
					seen[q] = true
					rows = append(rows, row(set.name, "en", task.Chat, q))
				}
			}
		}
	}
	return rows, nil
}

func p3Label(name string) (task.Task, bool) {
	for n := len(name); n > 0; n-- {
		if c, ok := p3[name[:n]]; ok {
			label, ok := letters[c]
			return label, ok
		}
	}
	return 0, false
}

// tsv reads the prompts of FLAN's chain-of-thought sets.
func tsv(path, name string, label task.Task, most int) ([]Row, error) {
	b, err := os.ReadFile(path)
	var rows []Row
	for line := range strings.Lines(string(b)) {
		q, _, _ := strings.Cut(line, "\t")
		if len(rows) < most && q != "" {
			rows = append(rows, row(name, "en", label, strings.ReplaceAll(q, `\n`, "\n")))
		}
	}
	return rows, err
}

func readFlan(dir string) (rows []Row, err error) {
	for _, set := range []struct {
		name  string
		label task.Task
		most  int
	}{{"aqua", task.Math, 400}, {"ecqa", task.Reasoning, 500}, {"qasc", task.Reasoning, 200}, {"sensemaking", task.Reasoning, 400}} {
		more, err := tsv(filepath.Join(dir, "flan/v2/cot_data", set.name+"_train.tsv"), "flan-"+set.name, set.label, set.most)
		if err != nil {
			return nil, err
		}
		rows = append(rows, more...)
	}
	return rows, nil
}

func readGSM(dir string) (rows []Row, err error) {
	all, err := lines[struct{ Question string }](filepath.Join(dir, "grade_school_math/data/train.jsonl"))
	for i, q := range all {
		if i%4 == 0 {
			rows = append(rows, row("gsm8k-train", "en", task.Math, q.Question))
		}
	}
	return rows, err
}

func readSVAMP(dir string) (rows []Row, err error) {
	all, err := document[[]struct{ Body, Question string }](filepath.Join(dir, "SVAMP.json"))
	for _, q := range all {
		rows = append(rows, row("svamp", "en", task.Math, q.Body+". "+q.Question))
	}
	return rows, err
}

func readAQuA(dir string) (rows []Row, err error) {
	for _, f := range []string{"dev.json", "test.json"} {
		all, err := lines[struct {
			Question string
			Options  []string
		}](filepath.Join(dir, f))
		if err != nil {
			return nil, err
		}
		for i, q := range all {
			text := q.Question
			if i%3 == 0 {
				text += "\n" + strings.Join(q.Options, "\n")
			}
			rows = append(rows, row("aqua", "en", task.Math, text))
		}
	}
	return rows, nil
}

func readGPTeacher(dir string) (rows []Row, err error) {
	type pair struct{ Instruction, Input string }
	for _, set := range []struct {
		path, name string
		label      task.Task
	}{{"Codegen/codegen-instruct.json", "gpteacher-code", task.Coding}, {"Roleplay/roleplay-simple-deduped-roleplay-instruct.json", "gpteacher-roleplay", task.Creative}} {
		all, err := document[[]pair](filepath.Join(dir, set.path))
		if err != nil {
			return nil, err
		}
		for i, p := range all {
			if i%2 == 1 || len(rows) > 2400 {
				continue
			}
			if i%4 == 0 && p.Input != "" {
				p.Instruction += "\n" + p.Input
			}
			rows = append(rows, row(set.name, "en", set.label, p.Instruction))
		}
	}
	return rows, nil
}

func sortedKeys[V any](m map[string]V) []string {
	var keys []string
	for k := range m {
		keys = append(keys, k)
	}
	slices.Sort(keys)
	return keys
}

// assistantLabels are of the prompts from the 98th on, labelled by hand.
const assistantLabels = "xhhhhhwhxwhhwchhxhwhhxhhxhhxhhhhhchhhhchxhhhchcxchhhxhhhhhhhhhhhhhhhhhhhhhxh" +
	"hhwhrxxhxhhhhhhhhhhwxhxxxhxhhhhhhhhxhchwxxwhhhwhwhhrcxxhhhhxxhwchwhxwhwwxhwh"

// Roots of Open Assistant's conversations, in the order of their files.
const (
	assistantFrench = "hhhmmrhxcxhhxhmhhrhhxcxhwhhxhxhhhwhhhwhwwhhhmwhxwhhhhxmhhhhhhhrxmhhhxthwhxchxhhrchhxrrhwhhhxhhhhrwhmmxmhhhhchh" +
		"hhxhcxhhwhwhhxxhwwhtwxhthxhhxhhhsmwhhhhmhhhhhhmwwhxhwxhhxcwhhhhhhhhxrxhhhhhhhhhchhhhhxhhwhhrmhhhhxchhhhhxhchhx" +
		"hhhhcxhmhhhhhxhhhhhxhhhcchhhxmrhhchw"
	assistantEnglish = "hhhhhcwhwxhwcwxcxhwhwxxhhhhxchwhhhwcxhhchwhhhhhhrhhwhhxhmwhhhhcwhxhhxhhhxcmhcrwhmxhhwhhhwhhxhhxhchhhhhhhhxchhh" +
		"hhhhwhcmhhcchxxchwhwhhchhhxhhhhwwhhhxhwhwhhxwcchmmwhhmhxchhhhhxhhchhhchchhwcrh"
)

func readAssistantFrench(dir string) (rows []Row, err error) {
	all, err := lines[struct {
		Messages []struct{ Content string }
	}](filepath.Join(dir, "data/chat/oasst_20230412_fr_top1.jsonl"))
	for i, c := range all {
		if label, ok := letters[assistantFrench[min(i, len(assistantFrench)-1)]]; ok {
			rows = append(rows, row("open-assistant", "fr", label, c.Messages[0].Content))
		}
	}
	return rows, err
}

func readAssistantMore(dir string) (rows []Row, err error) {
	all, err := lines[struct {
		Text   string
		Parent *string `json:"parent_id"`
	}](filepath.Join(dir, "original-data/en-validation.jsonl"))
	i := 0
	for _, m := range all {
		if m.Parent != nil || i >= len(assistantEnglish) {
			continue
		}
		if label, ok := letters[assistantEnglish[i]]; ok {
			rows = append(rows, row("open-assistant", "en", label, m.Text))
		}
		i++
	}
	return rows, err
}

var msvampLangs = map[string]string{"German": "de", "French": "fr", "Spanish": "es", "Russian": "ru", "Chinese": "zh", "Japanese": "ja"}

func readMSVAMP(dir string) (rows []Row, err error) {
	for _, name := range sortedKeys(msvampLangs) {
		all, err := lines[struct {
			Query string `json:"m_query"`
		}](filepath.Join(dir, "step1_supervised_finetuning/data/msvamp/test_"+name+".json"))
		if err != nil {
			return nil, err
		}
		for i, q := range all {
			if i%2 == 0 {
				rows = append(rows, row("msvamp", msvampLangs[name], task.Math, q.Query))
			}
		}
	}
	return rows, nil
}

func readAssistant(dir string) (rows []Row, err error) {
	all, err := lines[string](filepath.Join(dir, "model/model_eval/manual/data/prompt_lottery_en_250_text.jsonl"))
	for i, p := range all {
		if k := i - 98; k >= 0 && k < len(assistantLabels) {
			if label, ok := letters[assistantLabels[k]]; ok {
				rows = append(rows, row("open-assistant", "en", label, p))
			}
		}
	}
	return rows, err
}
