package desktop

import (
	"context"
	"os"
	"os/user"
	"path/filepath"
	"slices"
	"strings"

	"github.com/shirou/gopsutil/v3/process"
)

// OllamaModels returns the folder in which the Ollama at a port of this machine
// keeps its models, false where that is not known. It asks the system, which may
// take some hundred milliseconds.
func OllamaModels(ctx context.Context, port int) (string, bool) {
	home, _ := os.UserHomeDir()
	s := ollamaSeen{getenv: os.Getenv, home: home, exists: func(path string) bool {
		info, err := os.Stat(path)
		return err == nil && info.IsDir()
	}}
	if owner, err := OwnerOfPort(ctx, port); err == nil {
		s.program = owner.Name
		if p, err := process.NewProcessWithContext(ctx, owner.PID); err == nil {
			s.environ, _ = p.EnvironWithContext(ctx)
			if name, err := p.UsernameWithContext(ctx); err == nil {
				if u, err := user.Lookup(name); err == nil {
					s.itsHome = u.HomeDir
				}
			}
		}
	}
	return s.folder()
}

// ollamaSeen is what the system tells of an Ollama, and of this user.
type ollamaSeen struct {
	program string   // that listens, "" = the system does not tell this user
	environ []string // its variables, nil = not to be read
	itsHome string   // of the user it runs as, "" = not known

	getenv func(string) string // of this program
	home   string
	exists func(string) bool
}

// serviceModels is where Ollama's own installer for Linux has its service keep
// models.
const serviceModels = "/usr/share/ollama/.ollama/models"

// folder judges where the models are:
//
//  1. another program listens, such as the proxy of a container: not known
//  2. Ollama's own variables name the folder, or its home
//  3. the home of the user it runs as
//  4. nobody tells who listens: the one folder there is among those usual
func (s *ollamaSeen) folder() (string, bool) {
	if s.program != "" {
		if !strings.HasPrefix(strings.ToLower(s.program), "ollama") {
			return "", false
		}
		if folder := variable(s.environ, "OLLAMA_MODELS"); folder != "" {
			return folder, s.exists(folder)
		}
		for _, home := range []string{variable(s.environ, "HOME"), variable(s.environ, "USERPROFILE"), s.itsHome} {
			if folder := filepath.Join(home, ".ollama", "models"); home != "" && s.exists(folder) {
				return folder, true
			}
		}
		return "", false
	}
	var there []string
	for _, folder := range []string{s.getenv("OLLAMA_MODELS"), filepath.Join(s.home, ".ollama", "models"), serviceModels} {
		if folder != "" && s.exists(folder) && !slices.Contains(there, folder) {
			there = append(there, folder)
		}
	}
	if len(there) != 1 {
		return "", false
	}
	return there[0], true
}

// variable is one of a process's variables, "" where it has none of that name.
func variable(environ []string, name string) string {
	for _, v := range environ {
		if key, value, ok := strings.Cut(v, "="); ok && key == name {
			return value
		}
	}
	return ""
}
