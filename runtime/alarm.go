package runtime

import (
	"container/heap"
	"sync"
	"time"
)

// alarms wakes runs when their earliest timer is due: one entry a run, one timer of Go's in all. The clock on the wall decides: it is looked at
// again at least twice a minute, so that a jump of the clock is noticed.
type alarms struct {
	ring func(run string)

	mu     sync.Mutex // guards what follows
	heap   alarmHeap
	at     map[string]*alarm
	timer  *time.Timer
	closed bool
}

type alarm struct {
	run   string
	due   time.Time
	index int
}

// recheck bounds how long a jump of the clock may go unnoticed.
const recheck = 30 * time.Second

// set says when the run's earliest timer is due, the zero time for never.
func (a *alarms) set(run string, due time.Time) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.closed {
		return
	}
	if a.at == nil {
		a.at = map[string]*alarm{}
	}
	old := a.at[run]
	switch {
	case old == nil && due.IsZero() || old != nil && old.due.Equal(due):
		return
	case due.IsZero():
		heap.Remove(&a.heap, old.index)
		delete(a.at, run)
	case old == nil:
		a.at[run] = &alarm{run: run, due: due}
		heap.Push(&a.heap, a.at[run])
	default:
		old.due = due
		heap.Fix(&a.heap, old.index)
	}
	a.arm()
}

// arm sets the one timer. It is called with mu held.
func (a *alarms) arm() {
	if a.timer != nil {
		a.timer.Stop()
	}
	if len(a.heap) == 0 || a.closed {
		return
	}
	a.timer = time.AfterFunc(min(time.Until(a.heap[0].due), recheck), a.fire)
}

func (a *alarms) fire() {
	a.mu.Lock()
	var due []string
	for len(a.heap) > 0 && !a.heap[0].due.After(time.Now()) {
		next := heap.Pop(&a.heap).(*alarm)
		delete(a.at, next.run)
		due = append(due, next.run)
	}
	a.arm()
	a.mu.Unlock()
	for _, run := range due {
		a.ring(run)
	}
}

func (a *alarms) stop() {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.closed = true
	if a.timer != nil {
		a.timer.Stop()
	}
}

// alarmHeap is ordered by due time.
type alarmHeap []*alarm

func (h alarmHeap) Len() int           { return len(h) }
func (h alarmHeap) Less(i, j int) bool { return h[i].due.Before(h[j].due) }
func (h alarmHeap) Swap(i, j int) {
	h[i], h[j] = h[j], h[i]
	h[i].index, h[j].index = i, j
}

// Push adds an alarm; it is for container/heap.
func (h *alarmHeap) Push(x any) {
	x.(*alarm).index = len(*h)
	*h = append(*h, x.(*alarm))
}

// Pop removes the last alarm; it is for container/heap.
func (h *alarmHeap) Pop() any {
	old := *h
	x := old[len(old)-1]
	*h = old[:len(old)-1]
	return x
}
