package engine

import (
	"context"
	"encoding/base64"
	"encoding/binary"
	"errors"
	"strings"
	"sync/atomic"

	"starling/runtime"
	"starling/runtime/journal"
	"starling/runtime/run"
)

// The rows of the index let a page of a list cost what the page has, whatever lies beside it: the
// runs that have not ended, the open gates, and the decisions, each in the order of their lists.
// They follow from other rows and are made again from those. A build that does not know them leaves
// them behind as they are. So the mark says which owner has kept them, by its epoch: the next one
// finds them good if that was the owner right before it. It is written with an owner's first
// commit, or by one that serves when it begins. An entry may be left of what is not there any more,
// so a list looks at the row that it leads to; none is ever missing.

// The forms of the index. It moves when the rows change their meaning: each form has what the one
// before had, and more.
const (
	indexListed  = 1 // runs that have not ended, and open gates
	indexDecided = 2 // decisions
	indexFound   = 5 // what runs are found by; that of 3 had no parents, that of 4 no empty texts
	indexSpent   = 6 // what agents have taken

	indexForm = indexSpent
)

// lists is what an engine knows of its store's index.
type lists struct {
	good     bool        // it can be read
	unmarked atomic.Bool // the mark is not written yet
	cleaning atomic.Int32
}

// indexMark is the value of the mark of an owner.
func indexMark(epoch uint64) []byte { return binary.BigEndian.AppendUint64([]byte{indexForm}, epoch) }

// indexKept is the form of the index as the owner with an epoch has kept it, 0 where it has not.
func indexKept(s runtime.Store, epoch uint64) (form byte, err error) {
	v, err := s.Get([]byte(journal.KeyIndex))
	if errors.Is(err, runtime.ErrNoKey) || errors.Is(err, runtime.ErrDamaged) {
		return 0, nil
	}
	if err == nil && len(v) == 9 && binary.BigEndian.Uint64(v[1:]) == epoch {
		form = v[0]
	}
	return form, err
}

// reindex has an owner find the index good, or make it anew.
func (r *reader) reindex() error {
	form, err := indexKept(r.store, r.store.Info().Epoch-1)
	if err == nil && form > indexForm {
		form = 0 // a later build has kept it
	}
	if err == nil && form != indexForm {
		err = r.rebuildIndex(form)
	}
	r.lists.good = err == nil
	r.lists.unmarked.Store(true)
	return err
}

// rebuildIndex makes what the index does not have, of the rows and journals that it follows from.
func (r *reader) rebuildIndex(has byte) (err error) {
	b := new(runtime.Batch)
	add := func(w runtime.Write) error {
		if b.Writes = append(b.Writes, w); len(b.Writes) < sweepBatch {
			return nil
		}
		full := b
		b = new(runtime.Batch)
		return r.commit(context.Background(), full)
	}
	for _, step := range []struct {
		form byte
		make func(func(runtime.Write) error) error
	}{{indexListed, r.relist}, {indexDecided, r.reindexDecisions}, {indexFound, r.refind}, {indexSpent, r.rebillAll}} {
		if err == nil && has < step.form {
			err = step.make(add)
		}
	}
	if err == nil && len(b.Writes) > 0 {
		err = r.commit(context.Background(), b)
	}
	return err
}

// relist makes the entries of runs that have not ended, and of open gates.
func (r *reader) relist(add func(runtime.Write) error) error {
	for _, prefix := range []string{journal.PrefixLive, journal.PrefixOpen} {
		if err := r.sweepPrefix(prefix); err != nil {
			return err
		}
	}
	err := journal.ScanEach(r.store, journal.PrefixRun, func(run string, row []byte, damage error) error {
		s := r.summaryFrom(run, row, damage)
		if s.Status.Ended() {
			return nil
		}
		return add(runtime.Write{Key: journal.LiveKey(s.StartedAt, run), Value: []byte{}})
	})
	if err != nil {
		return err
	}
	return journal.ScanEach(r.store, journal.PrefixInbox, func(key string, v []byte, damage error) error {
		id, name, _ := strings.Cut(key, "/")
		opened, data := r.opened(id, name, v, damage)
		if opened.IsZero() {
			return nil // the run cannot be read: it is listed as damaged
		}
		return add(run.OpenGateRow(id, &journal.Record{Time: opened, Step: name}, data))
	})
}

// mark adds the mark to a commit, if it is the first of this owner.
func (l *lists) mark(b *runtime.Batch, epoch uint64) (marked bool) {
	if !l.good || b.Lazy || l.cleaning.Load() > 0 || !l.unmarked.CompareAndSwap(true, false) {
		return false
	}
	b.Writes = append(b.Writes, runtime.Write{Key: []byte(journal.KeyIndex), Value: indexMark(epoch)})
	return true
}

// clean removes entries of the index behind a commit; err is what became of that.
func (e *Local) clean(writes []runtime.Write, err error) {
	if len(writes) == 0 {
		return
	}
	for len(writes) > 0 && err == nil {
		n := min(sweepBatch, len(writes))
		err = e.commit(context.Background(), &runtime.Batch{Writes: writes[:n:n]})
		writes = writes[n:]
	}
	e.lists.cleaning.Add(-1)
	if err == nil {
		e.lists.unmarked.Store(true)
	}
}

// A cursor says behind which entry of an index a page begins: it is the entry's key without the
// prefix, in letters that no shell reads.

func cursorOf(order []byte) string { return base64.RawURLEncoding.EncodeToString(order) }

// behind is the first key of an index behind a cursor, "" for its beginning.
func behind(prefix, cursor string) ([]byte, error) {
	if cursor == "" {
		return []byte(prefix), nil
	}
	order, err := base64.RawURLEncoding.DecodeString(cursor)
	if err != nil || len(order) < 8 || len(order) > runtime.MaxKey {
		return nil, badCursor(cursor)
	}
	return append(append([]byte(prefix), order...), 0), nil
}

func badCursor(cursor string) error {
	return runtime.Refusef(runtime.ErrUsage, "got the cursor %q, want the one that the page before has given", cursor)
}

// unlist takes the open gates and the decisions of a run that is forgotten out of the index, and
// what it is found by.
func (r *reader) unlist(run string, d *dropper) error {
	err := journal.ScanWhole(r.store, journal.PrefixInbox+run+"/", func(gate string, v []byte) error {
		return eachRecord(v, func(rec *journal.Record) error {
			return d.drop(context.Background(), journal.OpenKey(rec.Time, run, gate))
		})
	})
	if err != nil {
		return err
	}
	if err := r.unfind(run, d); err != nil {
		return err
	}
	return r.unlistDecisions(run, d)
}
