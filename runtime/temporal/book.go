package temporal

import (
	"bytes"
	"context"
	"slices"
	"strings"

	"starling/runtime"
	"starling/runtime/engine"
	"starling/runtime/journal"
	"starling/runtime/memory"
	"starling/runtime/run"
)

// book is one run as the process has it that is about to take its turns: what its history has, as a
// store in memory, and, made of that, its state and machine. The history is the truth, a book may
// be made anew at any time.
//
// A workflow and the turn that it waits for share a book, never at the same time.
type book struct {
	run     string
	store   *memory.Store
	past    *engine.Past
	seq     uint64 // where the history stands
	rows    map[string][]byte
	kids    map[string]runtime.Status // child runs, as they were told of
	loaded  *engine.Loaded            // nil: to be made of the store
	fresh   bool                      // loaded was just made: the run is to be told
	tail    run.Tail
	row     run.SummaryRow
	yielded bool
	told    runtime.Status // what the parent of a child run was told last

	// Of the turn in progress.
	letters  []numbered
	now      int64 // microseconds since 1970
	flying   map[string]bool
	draining bool            // nothing is to begin any more
	leave    bool            // the history is long: what the run goes on from is to be written down
	pending  []run.Input     // what the last turn had no room for
	left     map[string]bool // hashes of artifacts: the history has them, and they do not go along to another
}

// numbered is a letter with its place in the workflow.
type numbered struct {
	at   uint64
	body []byte
}

func newBook(id string) *book {
	s := memory.New()
	return &book{run: id, store: s, past: engine.NewPast(s), rows: map[string][]byte{}, kids: map[string]runtime.Status{}, left: map[string]bool{}}
}

// apply takes what a turn has left, or what a run begins with.
func (b *book) apply(t *turned) error {
	at, _, err := b.store.Head(b.run)
	if err != nil {
		return err
	}
	batch := &runtime.Batch{Writes: t.writes}
	if t.seq != at {
		batch.Fences = []runtime.Fence{{Run: b.run, Expect: at, Next: t.seq}}
	}
	if err := b.spare(t, at); err != nil {
		return err
	}
	for _, w := range t.writes {
		switch {
		case !listed(w.Key):
		case w.Value != nil:
			b.rows[string(w.Key)] = w.Value
		default:
			delete(b.rows, string(w.Key))
		}
	}
	if b.seq = t.seq; len(batch.Writes)+len(batch.Fences) == 0 {
		return nil
	}
	return b.store.Commit(context.Background(), batch)
}

// spare notes the contents of a turn from which the run does not go on: artifacts. Its program and
// its settings came with its start, or with records that pin others.
func (b *book) spare(t *turned, at uint64) error {
	var hashes []string
	pins := at == 0 || t.moved
	for _, w := range t.writes {
		if hash, ok := strings.CutPrefix(string(w.Key), journal.PrefixBlob); ok {
			hashes = append(hashes, hash)
		}
	}
	for _, w := range t.writes {
		if pins || len(hashes) == 0 || !strings.HasPrefix(string(w.Key), journal.PrefixJournal) {
			continue
		}
		records, err := journal.Unseal(w.Value, journal.SeqOf(w.Key))
		if err != nil {
			return err
		}
		pins = slices.ContainsFunc(records, func(r journal.Record) bool { return r.Type == journal.RunPinned })
	}
	for _, hash := range hashes {
		b.left[hash] = b.left[hash] || !pins
	}
	return nil
}

// listed tells whether a row is one by which lists find a run.
func listed(key []byte) bool {
	for _, prefix := range []string{journal.PrefixRun, journal.PrefixInbox, journal.PrefixWork, journal.PrefixOrder} {
		if strings.HasPrefix(string(key), prefix) {
			return true
		}
	}
	return false
}

// keep takes what came with a reply: the history has it there, and the turn that takes the reply
// does not write it again.
func (b *book) keep(blobs map[string][]byte) error {
	batch := new(runtime.Batch)
	for hash, content := range contents(blobs) {
		b.left[hash] = true
		batch.Writes = append(batch.Writes, runtime.Write{Key: []byte(journal.PrefixBlob + hash), Value: content})
	}
	if len(batch.Writes) == 0 {
		return nil
	}
	return b.store.Commit(context.Background(), batch)
}

// carry is what a history begins with that goes on from this one: all rows, what the run was
// started with, and its newest checkpoint, but neither its journal nor artifacts.
// A run that has no machine has no checkpoint: its journal goes along.
func (b *book) carry() (*turned, error) {
	t := &turned{seq: b.seq, more: true, status: runtime.Running}
	first := journal.SeqKey(journal.PrefixJournal, b.run, 1)
	point := append(journal.SeqKey(journal.PrefixCheckpoint, b.run, b.seq), 0, 0)
	_, bare := b.store.Get(point)
	err := b.store.Scan([]byte{1}, nil, func(k, v []byte) error {
		hash, content := bytes.CutPrefix(k, []byte(journal.PrefixBlob))
		switch {
		case bare == nil && bytes.HasPrefix(k, []byte(journal.PrefixJournal)) && !bytes.Equal(k, first):
		case bare == nil && bytes.HasPrefix(k, []byte(journal.PrefixCheckpoint)) && !bytes.Equal(k, point):
		case content && b.left[string(hash)]:
		default:
			t.writes = append(t.writes, runtime.Write{Key: bytes.Clone(k), Value: bytes.Clone(v)})
		}
		return nil
	})
	return t, err
}
