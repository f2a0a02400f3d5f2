package desktop

import (
	"path/filepath"
	"slices"
	"testing"
)

func TestTheFolderOfOllamasModelsIsKnownOnlyWhereItIsSure(t *testing.T) {
	t.Parallel()
	ours, its := filepath.Join("/home/ann", ".ollama", "models"), filepath.Join("/home/bob", ".ollama", "models")
	for name, c := range map[string]struct {
		program, itsHome, ourVariable string
		environ, there                []string
		want                          string
	}{
		"its own variable":                      {program: "ollama", environ: []string{"HOME=/home/ann", "OLLAMA_MODELS=/big/models"}, there: []string{"/big/models", ours}, want: "/big/models"},
		"its own variable names what is away":   {program: "ollama", environ: []string{"OLLAMA_MODELS=/big/models"}, there: []string{ours}},
		"its home":                              {program: "ollama", environ: []string{"HOME=/home/bob"}, there: []string{its, ours}, want: its},
		"the home of its user":                  {program: "ollama", itsHome: "/home/bob", there: []string{its, ours}, want: its},
		"our variable is not that of a service": {program: "Ollama.exe", itsHome: "/home/bob", ourVariable: "/big/models", there: []string{"/big/models", its}, want: its},
		"a container's proxy":                   {program: "docker-proxy", there: []string{ours}},
		"nobody tells, and there is one":        {there: []string{serviceModels}, want: serviceModels},
		"nobody tells, and ours is there alone": {there: []string{ours}, want: ours},
		"nobody tells, and there are two":       {there: []string{serviceModels, ours}},
		"nobody tells, and there is none":       {},
	} {
		s := ollamaSeen{program: c.program, environ: c.environ, itsHome: c.itsHome, home: "/home/ann",
			getenv: func(string) string { return c.ourVariable }, exists: func(p string) bool { return slices.Contains(c.there, p) }}
		if got, ok := s.folder(); got != c.want && ok || ok != (c.want != "") {
			t.Errorf("%s: got %q, %v, want %q", name, got, ok, c.want)
		}
	}
}
