package agent

import (
	"os"
	"path/filepath"
	"slices"
	"strings"

	"bellwether/engine/fleet"
)

// weights is the file a model's weights are in, as far as it tells whether
// another runtime of this machine serves the very same: a copy elsewhere is
// another file.
type weights struct {
	blob string      // name that holds the content's digest, as Ollama's store has it; "" = none
	info os.FileInfo // nil = this program may not look at it
}

// findWeights looks at the files that an inventory names. It touches the disk,
// so it belongs beside the loop.
func findWeights(models []fleet.Deployment) map[string]weights {
	var out map[string]weights
	for i := range models {
		d := &models[i]
		if d.WeightsFile == "" {
			continue
		}
		w := weights{blob: blobName(d.WeightsFile)}
		if filepath.IsAbs(d.WeightsFile) { // else it is relative to somebody else's folder
			if real, err := filepath.EvalSymlinks(d.WeightsFile); err == nil {
				w.blob = blobName(real)
				w.info, _ = os.Stat(real)
			}
		}
		if w != (weights{}) {
			if out == nil {
				out = map[string]weights{}
			}
			out[fleet.CanonicalModel(d.ID.Model)] = w
		}
	}
	return out
}

// blobName returns a path's last part where it is named by its content's digest.
func blobName(path string) string {
	name := path[strings.LastIndexAny(path, `/\`)+1:]
	digest, ok := strings.CutPrefix(name, "sha256-")
	if !ok || len(digest) != 64 || strings.Trim(digest, "0123456789abcdef") != "" {
		return ""
	}
	return name
}

func (w weights) same(o weights) bool {
	if w.blob != "" && o.blob != "" {
		return w.blob == o.blob
	}
	return w.info != nil && o.info != nil && os.SameFile(w.info, o.info)
}

// nameTwins gives every deployment the names that other runtimes of this node
// have for its weights, so that whoever asks for one may get any.
func (s *state) nameTwins(models []fleet.Deployment) {
	known := func(d *fleet.Deployment) (weights, bool) {
		srv := s.servers[d.ID.Runtime]
		if srv == nil {
			return weights{}, false
		}
		w, ok := srv.weights[fleet.CanonicalModel(d.ID.Model)]
		return w, ok
	}
	for i := range models {
		d := &models[i]
		w, ok := known(d)
		if !ok {
			continue
		}
		var names []string
		for k := range models {
			o := &models[k]
			if o.ID.Runtime == d.ID.Runtime || fleet.SameModel(o.ID.Model, d.ID.Model) {
				continue
			}
			if other, ok := known(o); ok && w.same(other) && !slices.Contains(names, o.ID.Model) {
				names = append(names, o.ID.Model)
			}
		}
		slices.Sort(names)
		d.AlsoNamed = names
	}
}
