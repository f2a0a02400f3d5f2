package gateway

import (
	"strings"
	"testing"
)

// How many dimensions a model's vectors have may be known from its answer only.
func TestMoreDimensionsThanTheAnswerHasAreTheCallersMistake(t *testing.T) {
	answer := [][]float32{{1, 0}}
	if f := checkVectors(promise{count: 1, asked: 8, dimensions: 8, why: "%d were asked for"}, answer); f == nil || !f.Caller || !strings.Contains(f.Message, "at most 2") {
		t.Errorf("got %+v", f)
	}
	if f := checkVectors(promise{count: 1, dimensions: 8, why: "%d were asked for"}, answer); f == nil || f.Caller {
		t.Errorf("of a model that has them: %+v", f)
	}
}
