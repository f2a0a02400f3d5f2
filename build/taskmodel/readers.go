package taskmodel

import (
	"encoding/csv"
	"os"
	"path/filepath"

	"bellwether/engine/task"
)

// squad is the shape of question-answering sets over paragraphs.
type squad struct {
	Data []struct {
		Paragraphs []struct {
			Context string
			Qas     []struct{ Question string }
		}
	}
}

// questions makes rows of paragraphs with a question, in the two orders people
// write them.
func (s *squad) questions(name, lang string, most int) (rows []Row) {
	n := 0
	for _, d := range s.Data {
		for _, p := range d.Paragraphs {
			if len(p.Qas) == 0 || len(rows) >= most {
				continue
			}
			text := p.Context + "\n\n" + p.Qas[n%len(p.Qas)].Question
			if n%3 == 2 {
				text = p.Qas[n%len(p.Qas)].Question + "\n" + p.Context
			}
			rows = append(rows, row(name, lang, task.Extraction, text))
			n++
		}
	}
	return rows
}

// alone makes rows of questions without their paragraph: what is asked of no
// text is asked of the world.
func (s *squad) alone(name, lang string, most int) (rows []Row) {
	for _, d := range s.Data {
		for _, p := range d.Paragraphs {
			for i, q := range p.Qas {
				if i < 2 && len(rows) < most {
					rows = append(rows, row(name, lang, task.Chat, q.Question))
				}
			}
		}
	}
	return rows
}

// paragraphs are the texts that templates are filled with.
func (s *squad) paragraphs(most int) (out []string) {
	for _, d := range s.Data {
		for _, p := range d.Paragraphs {
			if len(out) < most {
				out = append(out, p.Context)
			}
		}
	}
	return out
}

var xquadLangs = []string{"en", "de", "es", "ru", "zh", "hi", "ar"}

func readXQuAD(dir string) (rows []Row, err error) {
	for _, lang := range xquadLangs {
		s, err := document[squad](filepath.Join(dir, "xquad."+lang+".json"))
		if err != nil {
			return nil, err
		}
		rows = append(rows, s.questions("xquad", lang, 80)...)
		rows = append(rows, s.alone("xquad-questions", lang, 400)...)
	}
	return rows, nil
}

func readJGLUE(dir string) (rows []Row, err error) {
	s, err := document[squad](filepath.Join(dir, "datasets/jsquad-v1.3/valid-v1.3.json"))
	if err != nil {
		return nil, err
	}
	rows = append(s.questions("jglue", "ja", 80), s.alone("jglue-questions", "ja", 400)...)
	all, err := lines[struct {
		Question                                    string
		Choice0, Choice1, Choice2, Choice3, Choice4 string
	}](filepath.Join(dir, "datasets/jcommonsenseqa-v1.3/valid-v1.3.json"))
	for i, q := range all {
		switch {
		case i >= 300:
		case i%3 == 0:
			rows = append(rows, row("jglue", "ja", task.Chat, q.Question))
		default:
			rows = append(rows, row("jglue", "ja", task.Reasoning, "質問: "+q.Question+"\n選択肢: A. "+q.Choice0+" B. "+q.Choice1+" C. "+q.Choice2+" D. "+q.Choice3))
		}
	}
	return rows, err
}

type nli struct{ Premise, Hypothesis string }

func readKLUE(dir string) (rows []Row, err error) {
	all, err := document[[]nli](filepath.Join(dir, "klue_benchmark/klue-nli-v1.1/klue-nli-v1.1_dev.json"))
	for i, p := range all {
		if i < 200 {
			rows = append(rows, row("klue", "ko", task.Reasoning, "전제: "+p.Premise+"\n가설: "+p.Hypothesis+"\n함의, 모순, 중립 중 무엇인가요?"))
		}
	}
	return rows, err
}

func readXCOPA(dir string) (rows []Row, err error) {
	all, err := lines[struct{ Premise, Choice1, Choice2, Question string }](filepath.Join(dir, "data/zh/test.zh.jsonl"))
	for i, p := range all {
		if i >= 200 {
			break
		}
		ask := "最可能的原因是什么？"
		if p.Question == "effect" {
			ask = "最可能的结果是什么？"
		}
		rows = append(rows, row("xcopa", "zh", task.Reasoning, p.Premise+ask+"\nA. "+p.Choice1+"\nB. "+p.Choice2))
	}
	return rows, err
}

// readRoles reads prompts that give the model a role to play.
func readRoles(dir string) (rows []Row, err error) {
	all, err := document[[]struct{ Prompt string }](filepath.Join(dir, "prompts-zh.json"))
	for _, p := range all {
		rows = append(rows, row("roles-zh", "zh", task.Creative, p.Prompt))
	}
	return rows, err
}

// examSubjects are those whose questions ask what somebody knows.
var examSubjects = []string{"miscellaneous", "nutrition", "prehistory", "sociology", "management", "clinical_knowledge", "marketing", "human_aging", "virology", "world_religions", "high_school_geography", "high_school_biology", "us_foreign_policy", "international_law"}

// readExams reads questions of exams with their answers to choose from.
func readExams(dir string) (rows []Row, err error) {
	for _, subject := range examSubjects {
		f, err := os.Open(filepath.Join(dir, "eval/benchmark_eval/benchmarks/MMLUArabic/test", subject+"_test.csv"))
		if err != nil {
			return nil, err
		}
		defer f.Close()
		r := csv.NewReader(f)
		r.FieldsPerRecord, r.LazyQuotes = -1, true
		all, err := r.ReadAll()
		if err != nil {
			return nil, err
		}
		for i, q := range all[:min(len(all), 24)] {
			text := q[0]
			if i%4 != 0 && len(q) >= 5 {
				text += "\nA. " + q[1] + "\nB. " + q[2] + "\nC. " + q[3] + "\nD. " + q[4]
			}
			rows = append(rows, row("exams", "ar", task.Chat, text))
		}
	}
	return rows, nil
}
