package gateway

import (
	"container/list"
	"context"
	"sync"
	"time"

	"bellwether/engine/dialect"
	"bellwether/engine/route"
)

// Classify says whether and how a small model is asked what requests are
// about. The zero value asks none.
type Classify struct {
	Model   string        // name or deployment id; "" = none is asked
	Always  bool          // else only about requests whose task is not clear
	Timeout time.Duration // for everything: waiting, loading, answering
}

// classifierApp names the classifier's requests in records and fairness.
const classifierApp = "bellwether/classifier"

// classify asks the classifier what a request is about, if it is to be asked
// and something hangs on the answer: a concrete name leaves nothing to choose.
// It runs before the request is submitted, once. Whatever goes wrong, the task
// stays as it was read; a note says so. The question itself is a request of our
// own, which is never classified.
func (x *exchange) classify(ctx context.Context) {
	c := x.g.live.Load().Classify
	n := &x.query.Needs
	if c.Model == "" || n.Clear && !c.Always || x.asked != nil {
		return
	}
	if a, _ := x.g.Policy().AliasFor(x.query.Model); a == nil && len(x.query.Fallbacks) == 0 {
		return
	}
	q, key, ok := route.TaskQuestion(x.req, n)
	if !ok {
		return
	}
	key = c.Model + "\x00" + key
	name, known := x.g.tasks.get(key)
	if !known {
		if name, ok = x.askTask(ctx, q, &c); !ok {
			return
		}
		x.g.tasks.put(key, name)
	}
	n.SetTask(name)
	x.notes = append(x.notes, "task_asked: "+c.Model+" says "+name)
}

func (x *exchange) askTask(ctx context.Context, q *dialect.Request, c *Classify) (name string, ok bool) {
	q.Model = c.Model
	a, err := x.g.Ask(ctx, q, AskOptions{
		App: classifierApp, Task: route.TaskExtraction, Timeout: c.Timeout, NoHold: true, NoFallback: true, NoRetry: true,
	})
	if err != nil {
		x.notes = append(x.notes, "task_not_asked: "+err.Error())
		return "", false
	}
	if name, ok = route.TaskAnswer(a.Reply.Text.String()); !ok {
		x.notes = append(x.notes, "task_not_asked: "+c.Model+" named no task")
	}
	return name, ok
}

// tasksKept is how many answers of the classifier are remembered.
const tasksKept = 2048

// taskCache remembers the latest answers. Safe for concurrent use.
type taskCache struct {
	mu    sync.Mutex // guards both
	at    map[string]*list.Element
	order list.List // of taskKept, latest first
}

type taskKept struct{ key, name string }

func (c *taskCache) get(key string) (name string, ok bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	e, ok := c.at[key]
	if !ok {
		return "", false
	}
	c.order.MoveToFront(e)
	return e.Value.(taskKept).name, true
}

func (c *taskCache) put(key, name string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.at == nil {
		c.at = map[string]*list.Element{}
	}
	if e, ok := c.at[key]; ok {
		e.Value = taskKept{key, name}
		c.order.MoveToFront(e)
		return
	}
	c.at[key] = c.order.PushFront(taskKept{key, name})
	if len(c.at) > tasksKept {
		last := c.order.Back()
		delete(c.at, c.order.Remove(last).(taskKept).key)
	}
}
