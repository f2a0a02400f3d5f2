package gateway

import (
	"context"
	"fmt"
	"math"
	"sync"

	"bellwether/engine/dialect"
	"bellwether/engine/fleet"
	"bellwether/engine/route"
)

// codeVectors is the code of an embeddings answer that does not fit its request
// or its contract, in failures and towards clients.
const codeVectors = "embedding_contract_violation"

// normTolerance is how far from 1 a vector's length may be and count as 1.
const normTolerance = 1e-3

// promise is what the vectors of an answer must be. A broken one says something
// of the runtime where the answer is wrong in itself. Where it is only not what
// was asked for, declared or seen before, the runtime is well, and requests that
// expect nothing of the kind go on being served by it.
type promise struct {
	count      int // inputs
	dimensions int // 0 = as many as the first
	asked      int // of a model that has nobody knows how many; 0 = known, or none asked for
	why        string
	normalized bool
	native     bool // Ollama's old endpoint, whose vectors are as the model made them
}

// promised gathers what the request, its contract and earlier answers of the
// same weights say of the vectors to come.
func (x *exchange) promised() promise {
	p := promise{count: len(x.req.Embed.Inputs), native: x.proto == dialect.OllamaEmbeddings}
	if c, name := x.g.Policy().ContractFor(x.query.Model); c != nil {
		p.normalized = c.Normalized
		p.dimensions, p.why = c.Dimensions, "the contract "+name+" declares %d"
	}
	if asked := x.req.Embed.Dimensions; asked > 0 {
		p.dimensions, p.why = asked, "%d were asked for"
		if x.served.EmbeddingWidth == 0 && !x.forContract() {
			p.asked = asked
		}
	}
	if _, known := x.served.KnownIdentity(); known && p.dimensions == 0 && x.g.ProbedWidth != nil {
		p.dimensions, p.why = x.g.ProbedWidth(x.served), "a probe found that this model makes %d"
	}
	if p.dimensions == 0 {
		p.dimensions, p.why = x.g.widths.of(x.served), "the same model made %d before"
	}
	return p
}

// checkVectors refuses an embeddings answer that is not what was promised.
func checkVectors(p promise, vectors [][]float32) *fleet.Failure {
	bad := func(format string, args ...any) *fleet.Failure {
		return &fleet.Failure{Class: fleet.FailInvalid, Code: codeVectors, Message: fmt.Sprintf(format, args...)}
	}
	other := func(format string, args ...any) *fleet.Failure {
		return &fleet.Failure{Class: fleet.FailContract, Code: codeVectors, Message: fmt.Sprintf(format, args...)}
	}
	if len(vectors) != p.count {
		return bad("%d vectors for %d inputs", len(vectors), p.count)
	}
	for i, v := range vectors {
		if len(v) == 0 {
			return bad("there is no vector for input %d", i)
		}
		if len(v) != len(vectors[0]) {
			return bad("vector %d has %d dimensions, the first %d", i, len(v), len(vectors[0]))
		}
		if p.asked > len(v) {
			return &fleet.Failure{Class: fleet.FailStatus, Status: 400, Code: route.RefuseField, Caller: true,
				Message: fmt.Sprintf("The vectors of this model have %d dimensions, and %d were asked for. Ask for at most %[1]d, or for another model.", len(v), p.asked)}
		}
		if p.dimensions > 0 && len(v) != p.dimensions {
			return other("vector %d has %d dimensions, "+p.why, i, len(v), p.dimensions)
		}
		sum := 0.0
		for _, f := range v {
			sum += float64(f) * float64(f)
		}
		if math.IsNaN(sum) || math.IsInf(sum, 0) { // no finite float32 squared is infinite
			return bad("vector %d holds a value that is no finite number", i)
		}
		if length := math.Sqrt(sum); p.normalized && math.Abs(length-1) > normTolerance {
			if p.native {
				return other("vector %d has length %.4g and the contract declares unit length, to which /api/embeddings does not scale: use /api/embed", i, length)
			}
			return other("vector %d has length %.4g, and the contract declares unit length", i, length)
		}
	}
	return nil
}

// checkVectors refuses an answer of vectors that are not those the request
// stands for. Whose they are comes first: what another model makes differs in
// other ways too, and telling of those would help nobody.
func (x *exchange) checkVectors(ctx context.Context, vectors [][]float32) *fleet.Failure {
	if f := x.checkWeights(ctx); f != nil {
		return f
	}
	f := checkVectors(x.promised(), vectors)
	if f != nil && f.Class == fleet.FailContract && x.req.Embed.Dimensions == 0 && !x.forContract() && x.pulledAgain(ctx) {
		// A plain name is just a name: it stands for what is there now, of which
		// nothing is known yet.
		return checkVectors(promise{count: len(x.req.Embed.Inputs)}, vectors)
	}
	if f == nil && x.req.Embed.Dimensions == 0 && len(vectors) > 0 {
		x.g.widths.learn(x.served, len(vectors[0]))
	}
	return f
}

// forContract reports whether the request asks for an embedding contract.
func (x *exchange) forContract() bool {
	c, _ := x.g.Policy().ContractFor(x.query.Model)
	return c != nil
}

// pulledAgain reports whether the runtime has other weights under the name by
// now than it last reported, and has it looked at if so.
func (x *exchange) pulledAgain(ctx context.Context) bool {
	if x.served.Digest == "" || x.g.Digest == nil {
		return false
	}
	digest, able, err := x.g.Digest(ctx, x.grant.Deployment)
	if err != nil || !able || fleet.SameIdentity(digest, x.served.Digest) {
		return false
	}
	x.recheck()
	return true
}

func (x *exchange) recheck() {
	if x.g.Recheck != nil {
		x.g.Recheck(x.grant.Deployment)
	}
}

// checkWeights makes sure that an answer for a contract was made by the weights
// the contract is bound to. The decision goes by what the node had reported by
// then; a model that was pulled again since answers under the same name, with
// vectors that fit no index. Weights change one way only, so what is the same
// after the answer was so during it.
func (x *exchange) checkWeights(ctx context.Context) *fleet.Failure {
	c, key := x.g.Policy().ContractFor(x.query.Model)
	if c == nil {
		return nil
	}
	if c.Anchor == nil { // it was taken away between decision and dispatch
		return &fleet.Failure{Class: fleet.FailContract, Code: route.RefuseUnbound, Message: key + " is bound to no model by now"}
	}
	if out := c.Outside(key, x.nodeName(x.grant.Deployment.Node), x.served); out != nil { // it changed in between
		return x.otherWeights(out)
	}
	if x.served.Digest == "" || x.g.Digest == nil {
		return nil // declared: only its owner could tell
	}
	digest, able, err := x.g.Digest(ctx, x.grant.Deployment)
	switch {
	case err != nil:
		return &fleet.Failure{Class: fleet.FailInvalid, Code: codeVectors, Message: "the runtime does not say which weights made them"}
	case !able, fleet.SameIdentity(digest, x.served.Digest):
		return nil
	case digest == "":
		x.recheck()
		return &fleet.Failure{Class: fleet.FailContract, Code: route.RefuseSpace,
			Message: x.served.ID.Model + " was deleted while it answered for " + key + ", so nobody knows whose its vectors are"}
	}
	x.recheck()
	now := *x.served
	now.Digest = digest
	if out := c.Outside(key, x.nodeName(x.grant.Deployment.Node), &now); out != nil {
		return x.otherWeights(out)
	}
	return nil // pulled again, and back to what the contract is bound to
}

// otherWeights is the failure of an answer made by weights that its contract is
// not bound to. It says what the decision says of such a deployment.
func (x *exchange) otherWeights(out *route.Exclusion) *fleet.Failure {
	x.outside = out
	return &fleet.Failure{Class: fleet.FailContract, Code: route.RefuseSpace, Message: route.Render(*out).Reason}
}

// widths remembers how many dimensions the vectors of some weights had when
// they were first seen. It serves for checking only: nothing here ever says
// which weights a contract is bound to. Safe for concurrent use.
type widths struct {
	mu    sync.Mutex // guards known
	known map[string]int
}

// mostWidths bounds what is remembered; a fleet has a few embedding models.
const mostWidths = 1024

// of returns the dimensions seen of a deployment's weights, 0 while none were
// or nobody knows what its weights are.
func (w *widths) of(d *fleet.Deployment) int {
	identity, ok := d.KnownIdentity()
	if !ok {
		return 0
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.known[identity]
}

// learn keeps the dimensions of a checked answer, the first for each identity.
func (w *widths) learn(d *fleet.Deployment, dimensions int) {
	identity, ok := d.KnownIdentity()
	if !ok {
		return
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.known == nil || len(w.known) >= mostWidths {
		w.known = map[string]int{}
	}
	if _, seen := w.known[identity]; !seen {
		w.known[identity] = dimensions
	}
}
