// Package tally counts what happens in the runs of an engine, by the records that it has made
// durable: since it was opened, for whoever watches it. What is to be known for good is in the
// journals.
package tally

import (
	"cmp"
	"slices"
	"sync"

	"go.starlark.net/starlark"

	"starling/lang/effect"
	"starling/runtime"
	"starling/runtime/journal"
)

// Tally is what was counted. The zero Tally has counted nothing; goroutines may share it.
type Tally struct {
	mu     sync.Mutex // guards what follows
	counts map[key]float64
}

type key struct {
	what runtime.Counter
	of   string
}

// Note counts records that are durable.
func (t *Tally) Note(records []journal.Record) {
	for i := range records {
		t.note(&records[i])
	}
}

func (t *Tally) note(r *journal.Record) {
	switch r.Type {
	case journal.RunStarted:
		t.count(runtime.CountStarts, "", 1)
	case journal.RunCompleted:
		t.count(runtime.CountEnds, string(runtime.Completed), 1)
	case journal.RunFailed:
		t.count(runtime.CountEnds, string(runtime.Failed), 1)
	case journal.RunCancelled:
		t.count(runtime.CountEnds, string(runtime.Cancelled), 1)
	case journal.GateOpened:
		t.count(runtime.CountGates, "", 1)
	case journal.GateDecided:
		via := ""
		if said, ok := r.View().Value("decision").(*effect.Record); ok {
			via, _ = starlark.AsString(said.Field("via"))
		}
		t.count(runtime.CountDecisions, via, 1)
	case journal.AttemptEnded:
		v := r.View()
		t.count(runtime.CountAttempts, v.Text("class"), 1)
		t.used(v.Text("backend"), v.Sub("usage"))
	}
}

// used counts what an attempt has told in the end.
func (t *Tally) used(backend string, told effect.View) {
	if told.Empty() {
		return // most often, and with nothing made
	}
	for _, u := range [...]struct {
		field string
		what  runtime.Counter
	}{{"input_tokens", runtime.CountInput}, {"output_tokens", runtime.CountOutput}, {"usd", runtime.CountDollars}} {
		amount, _ := starlark.AsFloat(told.Value(u.field))
		const millionths = 1e6
		t.count(u.what, backend, float64(journal.Claimed(amount, millionths))/millionths)
	}
}

func (t *Tally) count(what runtime.Counter, of string, n float64) {
	if n == 0 {
		return
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.counts == nil {
		t.counts = map[key]float64{}
	}
	t.counts[key{what, of}] += n
}

// Counted implements [runtime.Counting].
func (t *Tally) Counted() (list []runtime.Count) {
	t.mu.Lock()
	defer t.mu.Unlock()
	for k, n := range t.counts {
		list = append(list, runtime.Count{What: k.what, Of: k.of, Value: n})
	}
	slices.SortFunc(list, func(a, b runtime.Count) int { return cmp.Or(cmp.Compare(a.What, b.What), cmp.Compare(a.Of, b.Of)) })
	return list
}
