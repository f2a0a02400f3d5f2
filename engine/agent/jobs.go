package agent

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"slices"
	"sync"
	"time"

	"bellwether/engine/event"
	"bellwether/engine/fleet"
	"bellwether/engine/runtime"
)

// Job is one pull, under way or ended.
type Job struct {
	ID        string               `json:"id"`
	Kind      string               `json:"kind"` // pull
	Runtime   string               `json:"runtime"`
	Model     string               `json:"model"`
	Progress  runtime.PullProgress `json:"progress"` // the last step
	StartedAt time.Time            `json:"started_at"`
	EndedAt   time.Time            `json:"ended_at,omitzero"`
	Cancelled bool                 `json:"cancelled,omitempty"` // by its owner, or since nobody waited for it any more
	Error     string               `json:"error,omitempty"`     // why it ended so, a clause; "" = there is nothing to say
	Remedy    string               `json:"remedy,omitempty"`
}

// byOwner is why a job ends that its owner cancels.
var byOwner = &fleet.Failure{Class: fleet.FailCancelled, Message: "the owner cancelled it"}

// jobsKept is how many ended jobs stay in the list.
const jobsKept = 32

// jobList owns the pulls. Its mutex guards jobs and the fields of each job
// that say so.
type jobList struct {
	now  func() time.Time
	mu   sync.Mutex
	jobs []*job // oldest first
}

type job struct {
	Job            // guarded by jobList.mu
	watchers int   // those who would miss it; guarded by jobList.mu
	kept     bool  // goes on without watchers; guarded by jobList.mu
	err      error // readable after done
	steps    *event.Hub[runtime.PullProgress]
	cancel   context.CancelCauseFunc
	done     chan struct{}
}

// pullBuffer is how many steps a watcher may fall behind before it skips some:
// each step stands for itself.
const pullBuffer = 256

// Jobs lists the pulls under way and the last ended ones, newest first.
func (a *Agent) Jobs() []Job {
	a.jobs.mu.Lock()
	defer a.jobs.mu.Unlock()
	out := make([]Job, 0, len(a.jobs.jobs))
	for _, j := range slices.Backward(a.jobs.jobs) {
		out = append(out, j.Job)
	}
	return out
}

// Pull fetches a model, joining a pull of the same model already under way,
// and returns when it is there and listed. It is aborted when the last who
// waits for it leaves. progress may be nil.
func (a *Agent) Pull(ctx context.Context, runtimeName, model string, progress func(runtime.PullProgress)) error {
	j, steps, err := a.join(ctx, runtimeName, model, false)
	if err != nil {
		return err
	}
	defer a.quit(j)
	defer func() { steps.Close() }()
	for {
		select {
		case p, open := <-steps.C:
			if !open {
				steps = j.steps.Subscribe()
			} else if progress != nil {
				progress(p)
			}
		case <-j.done:
			for progress != nil { // what is still in the buffer
				select {
				case p, open := <-steps.C:
					if open {
						progress(p)
						continue
					}
				default:
				}
				break
			}
			return j.err
		case <-ctx.Done():
			return fmt.Errorf("pull %s: %w", model, context.Cause(ctx))
		}
	}
}

// StartPull begins a pull that goes on by itself, or keeps one under way from
// ending with its watchers. It is followed by Jobs.
func (a *Agent) StartPull(ctx context.Context, runtimeName, model string) (Job, error) {
	j, steps, err := a.join(ctx, runtimeName, model, true)
	if err != nil {
		return Job{}, err
	}
	steps.Close()
	a.quit(j)
	a.jobs.mu.Lock()
	defer a.jobs.mu.Unlock()
	return j.Job, nil
}

// CancelJob aborts a job; false when there is none of that id under way.
func (a *Agent) CancelJob(id string) bool {
	a.jobs.mu.Lock()
	defer a.jobs.mu.Unlock()
	for _, j := range a.jobs.jobs {
		if j.ID == id && j.EndedAt.IsZero() {
			j.cancel(byOwner)
			return true
		}
	}
	return false
}

// DismissJob takes an ended job off the list. found: there is one of that id;
// dismissed is false while it still runs.
func (a *Agent) DismissJob(id string) (found, dismissed bool) {
	a.jobs.mu.Lock()
	defer a.jobs.mu.Unlock()
	i := slices.IndexFunc(a.jobs.jobs, func(j *job) bool { return j.ID == id })
	if i < 0 || a.jobs.jobs[i].EndedAt.IsZero() {
		return i >= 0, false
	}
	a.jobs.jobs = slices.Delete(a.jobs.jobs, i, i+1)
	return true, true
}

// join watches the pull of a model, begun if there is none.
func (a *Agent) join(ctx context.Context, runtimeName, model string, keep bool) (*job, *event.Sub[runtime.PullProgress], error) {
	m, err := a.manager(ctx, runtimeName)
	if err != nil {
		return nil, nil, err
	}
	var work context.Context
	if err := a.ask(ctx, func(s *state) { work = s.work }); err != nil {
		return nil, nil, err
	}
	defer a.jobsChanged() // once unlocked
	a.jobs.mu.Lock()
	defer a.jobs.mu.Unlock()
	for _, j := range a.jobs.jobs {
		if j.Runtime == runtimeName && fleet.SameModel(j.Model, model) && j.EndedAt.IsZero() && (j.watchers > 0 || j.kept) {
			j.watchers++
			j.kept = j.kept || keep
			return j, j.steps.Subscribe(), nil
		}
	}
	j := &job{
		Job:      Job{ID: rand.Text()[:8], Kind: "pull", Runtime: runtimeName, Model: model, StartedAt: a.jobs.now()},
		watchers: 1, kept: keep,
		steps: event.NewHub[runtime.PullProgress](pullBuffer),
		done:  make(chan struct{}),
	}
	var pull context.Context
	pull, j.cancel = context.WithCancelCause(work)
	a.jobs.jobs = append(a.jobs.jobs, j)
	if n := len(a.jobs.jobs) - jobsKept; n > 0 && !a.jobs.jobs[0].EndedAt.IsZero() {
		a.jobs.jobs = slices.Delete(a.jobs.jobs, 0, 1)
	}
	sub := j.steps.Subscribe()
	a.work.Go(func() { a.runPull(pull, j, m) })
	return j, sub, nil
}

func (a *Agent) runPull(ctx context.Context, j *job, m runtime.Manager) {
	defer j.cancel(nil)
	err := m.Pull(ctx, j.Model, func(p runtime.PullProgress) {
		a.jobs.mu.Lock()
		j.Progress = p
		a.jobs.mu.Unlock()
		j.steps.Publish(p)
	})
	if err == nil {
		err = a.refreshRuntime(ctx, j.Runtime)
	}
	a.jobs.mu.Lock()
	j.EndedAt = a.jobs.now()
	j.end(err, context.Cause(ctx))
	a.jobs.mu.Unlock()
	a.jobsChanged()
	j.err = err
	close(j.done)
}

// end says what came of a pull, whose context ended with a cause if it did.
func (j *Job) end(err, cause error) {
	var f *fleet.Failure
	switch {
	case err == nil:
	case cause == byOwner:
		j.Cancelled = true
	case !errors.As(err, &f):
		j.Error, j.Remedy = err.Error(), "Pull it again."
	case f.Class == fleet.FailCancelled:
		j.Cancelled, j.Error = true, f.Message
	case f.Code == runtime.CodeRuntimeError:
		j.Error, j.Remedy = f.Message, "Check its name, the network and the room on the disk, and pull it again."
	default:
		j.Error, j.Remedy = f.Message, "Look whether "+j.Runtime+" is up, and pull it again: it goes on where it broke off."
	}
}

func (a *Agent) jobsChanged() {
	if a.cfg.JobsChanged != nil {
		a.cfg.JobsChanged()
	}
}

// quit takes a watcher off; the last one ends a pull that nobody keeps.
func (a *Agent) quit(j *job) {
	a.jobs.mu.Lock()
	defer a.jobs.mu.Unlock()
	j.watchers--
	if j.watchers == 0 && !j.kept {
		j.cancel(&fleet.Failure{Class: fleet.FailCancelled, Message: "everyone who waited for it left"})
	}
}
