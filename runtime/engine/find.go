package engine

import (
	"cmp"
	"context"
	"errors"

	"starling/runtime"
	"starling/runtime/fact"
	"starling/runtime/journal"
	"starling/runtime/run"
)

// facts are what a run can be found by, as of its newest commit. It has a row of them once they are
// more than what it was started with, which begun says. Where the index is not good the journal is
// read: the row, or that there is none, may be of before another build went on with the run.
func (r *reader) facts(id string, begun func() (*run.State, error)) (*fact.Fold, error) {
	f := new(fact.Fold)
	row, err := r.store.Get(fact.Key(id))
	if err == nil {
		if f, err = fact.Read(row); err == nil && r.lists.good {
			return f, nil
		}
	}
	if errors.Is(err, runtime.ErrNoKey) && r.lists.good {
		if s, err := begun(); err == nil {
			return fact.Begun(s.Started, s.Script, s.Labels, s.Parent, s.Inputs), nil
		}
	}
	if err != nil && (!errors.Is(err, runtime.ErrNoKey) && !errors.Is(err, runtime.ErrDamaged)) {
		return nil, err
	}
	return f, r.refold(id, f)
}

// begun reads what a run was started with.
func (r *reader) begun(id string) func() (*run.State, error) {
	return func() (*run.State, error) {
		sv := &saved{run: id}
		if _, err := sv.readStart(r.store); err != nil || sv.start == nil {
			return nil, cmp.Or(err, runtime.ErrNoKey)
		}
		s := run.NewState(id)
		s.Apply(sv.start)
		return s, nil
	}
}

// refold takes what the journal of a run has behind what was taken, as far as it can be read.
func (r *reader) refold(run string, f *fact.Fold) error {
	take := func(rec *journal.Record) error {
		if rec.Seq > f.Seq {
			f.Apply(rec)
		} else {
			f.Renew(rec)
		}
		return nil
	}
	sv := &saved{run: run}
	if _, err := sv.readStart(r.store); err == nil && sv.start != nil { // also of a journal that was trimmed
		_ = take(sv.start)
	}
	if err := r.kept(run, take); !errors.Is(err, runtime.ErrDamaged) {
		return err
	}
	return nil // it is listed as damaged
}

// find folds the records of a commit into what the run is found by, and lists the rows of that.
func (a *actor) find(records []journal.Record) ([]runtime.Write, error) {
	if len(records) == 0 {
		return nil, nil
	}
	if a.facts == nil && records[0].Seq == 1 {
		a.facts = fact.New()
	}
	if a.facts == nil {
		begun := a.e.begun(a.run)
		if !a.s.Moved { // else it has forgotten the script that it was started with
			begun = func() (*run.State, error) { return a.s, nil }
		}
		var err error
		if a.facts, err = a.e.facts(a.run, begun); err != nil {
			return nil, err
		}
	}
	for i := range records {
		a.facts.Apply(&records[i])
	}
	spent, err := a.spend(records)
	return append(a.facts.Rows(a.run), spent...), err
}

// refind makes what runs are found by, and the index of it, anew.
func (r *reader) refind(add func(runtime.Write) error) error {
	if err := r.sweepPrefix(fact.PrefixIndex); err != nil {
		return err
	}
	return journal.ScanEach(r.store, journal.PrefixRun, func(run string, _ []byte, _ error) error {
		f, err := r.facts(run, nil) // the index is not good now, so the journal is looked at
		if err != nil {
			return err
		}
		for _, w := range f.Anew(run) {
			if err := add(w); err != nil {
				return err
			}
		}
		return nil
	})
}

// unfind drops what a run is found by, and its bill.
func (r *reader) unfind(run string, d *dropper) error {
	if err := d.dropPrefix(string(fact.BillKey(run, ""))); err != nil {
		return err
	}
	if f, err := r.facts(run, r.begun(run)); err == nil { // else what is left in the index leads nowhere
		if err := d.drop(context.Background(), f.Entries(run)...); err != nil {
			return err
		}
	}
	return d.drop(context.Background(), fact.Key(run))
}

// termPage lists runs that all of some terms find, as runPage does.
func (r *reader) termPage(q runtime.Query, out *runtime.Listing, take taking) error {
	from, err := behind("", q.After)
	if err != nil {
		return err
	}
	lists, err := fact.Choose(r.store, q.Terms)
	if err != nil {
		return err
	}
	read := func(from []byte) (some []indexEntry, err error) {
		orders, err := fact.Found(r.store, lists[0], from)
		for _, order := range orders {
			some = append(some, indexEntry{key: order})
		}
		return some, err
	}
	at, err := turnPage(q.Limit, "", from, read, func(order string, v []byte) (bool, error) {
		if ok, err := fact.Meets(r.store, lists[1:], order); !ok || err != nil {
			return false, err
		}
		return take(order, v)
	})
	if at.next != "" {
		limitListing(out, q.Limit, at.next)
	}
	if q.Cursors {
		out.Cursors = at.cursors
	}
	return err
}
