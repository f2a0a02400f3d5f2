package route

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"

	"bellwether/engine/fleet"
)

// What people read is cut where an alias of fifty models on twenty machines would
// fill pages. Records hold everything.
const (
	mostNames = 10  // in a sentence
	mostTold  = 40  // deployments in an explanation
	mostInAll = 100 // deployments in the body of a refusal
)

// fewOf lists the first names.
func fewOf(names []string) string {
	if more := len(names) - mostNames; more > 0 {
		return strings.Join(names[:mostNames], ", ") + fmt.Sprintf(" and %s more", comma(int64(more)))
	}
	return strings.Join(names, ", ")
}

// Excluded is what kept a deployment out, as a decision or a record holds it.
type Excluded interface{ Exclusion | RenderedExclusion }

func codeOf[X Excluded](x X) fleet.Code {
	switch x := any(x).(type) {
	case Exclusion:
		return x.Code
	case RenderedExclusion:
		return x.Code
	}
	return ""
}

// Nearest returns the deployments that came nearest to serving, at most so many,
// in the order of their ids: those with the fewest checks in the way, machines
// without the model last. The others are told in words, "" if there are none.
func Nearest[X Excluded](all map[fleet.DeploymentID][]X, most int) (ids []fleet.DeploymentID, others string) {
	ids, left := nearestOf(all, most)
	if len(left) == 0 {
		return ids, ""
	}
	return ids, fmt.Sprintf("%s more: %s", comma(int64(len(all)-len(ids))), countWords(left))
}

func nearestOf[X Excluded](all map[fleet.DeploymentID][]X, most int) (ids []fleet.DeploymentID, left map[fleet.Code]int) {
	ids = slices.Collect(maps.Keys(all))
	if len(ids) > most {
		far := func(id fleet.DeploymentID) int {
			if out := all[id]; len(out) != 1 || codeOf(out[0]) != fleet.CodeModelAbsent {
				return len(out)
			}
			return int(^uint(0) >> 1)
		}
		slices.SortFunc(ids, func(a, b fleet.DeploymentID) int { return cmp.Or(cmp.Compare(far(a), far(b)), a.Compare(b)) })
		left = map[fleet.Code]int{}
		for _, id := range ids[most:] {
			for _, x := range all[id] {
				left[codeOf(x)]++
			}
		}
		ids = ids[:most]
	}
	slices.SortFunc(ids, fleet.DeploymentID.Compare)
	return ids, left
}
