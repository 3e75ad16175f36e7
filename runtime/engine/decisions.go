package engine

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"slices"
	"strings"

	"starling/lang/contract"
	"starling/runtime"
	"starling/runtime/journal"
)

// Every decision of every run is an entry of the index (index.go): its key says when, in which run
// and at which gate, its value is the record, cut short, so that a list reads nothing else of the
// journal. It is written with the commit that has the record. Entries that an older build has not
// written are made from the rows of closed gates, of which a gate has one: where such a build had
// the same question of the runtime decided several times, only the last decision is found so.

var _, _ runtime.Decisions = (*Local)(nil), (*readOnly)(nil)

// manyDecisions is the most that a page has.
const manyDecisions = 1000

// Decisions lists how gates were decided.
func (r *reader) Decisions(ctx context.Context, q runtime.DecisionQuery) (*runtime.DecisionPage, error) {
	if err := need(ctx, runtime.CanRead, "see decisions"); err != nil {
		return nil, err
	}
	if q.Limit < 0 {
		return nil, runtime.Refusef(runtime.ErrUsage, "got the limit %d, want 0 or more", q.Limit)
	}
	from, end, err := decisionBounds(&q)
	if err != nil {
		return nil, err
	}
	read, err := r.decided(q, end)
	if err != nil {
		return nil, err
	}
	limit := min(cmp.Or(q.Limit, manyDecisions), manyDecisions)
	to := runtime.CallerOf(ctx).Audience()
	out, runs := &runtime.DecisionPage{Schema: runtime.Schema, Decisions: []runtime.Decision{}}, r.tops()
	at, err := turnPage(limit, journal.PrefixDecided, from, read, func(order string, v []byte) (bool, error) {
		d, ok := runs.decision(order, v, to)
		if ok {
			out.Decisions = append(out.Decisions, d)
		}
		return ok, nil
	})
	out.Decisions = out.Decisions[:min(limit, len(out.Decisions))]
	out.Next = at.next
	if q.Cursors {
		out.Cursors = at.cursors
	}
	return out, err
}

// decisionBounds are the keys between which a page lies.
func decisionBounds(q *runtime.DecisionQuery) (from, to []byte, err error) {
	from, err = behind(journal.PrefixDecided, q.After)
	to = journal.AfterPrefix([]byte(journal.PrefixDecided))
	if !q.Until.IsZero() && bytes.Compare(from, journal.CountedDown(q.Until)) < 0 {
		from = journal.CountedDown(q.Until)
	}
	if !q.Since.IsZero() {
		to = journal.AfterPrefix(journal.CountedDown(q.Since))
	}
	return from, to, err
}

// reading gives some entries of an index from a key on.
type reading func(from []byte) ([]indexEntry, error)

// decided reads the entries of a query. Those of one run come from its journal, so that what others
// have decided meanwhile costs nothing; where there is no index, all are made of other rows.
func (r *reader) decided(q runtime.DecisionQuery, to []byte) (reading, error) {
	var list []indexEntry
	add := func(w runtime.Write) error {
		if bytes.Compare(w.Key, to) < 0 {
			list = append(list, indexEntry{w.Key, w.Value})
		}
		return nil
	}
	var err error
	switch {
	case q.Run != "":
		var run string
		if run, err = r.resolveRun(q.Run); err == nil {
			err = r.decidedIn(run, add)
		}
	case r.lists.good:
		return func(from []byte) ([]indexEntry, error) { return r.entries(from, to) }, nil
	default:
		err = r.decidedBefore(add)
	}
	slices.SortFunc(list, func(a, b indexEntry) int { return bytes.Compare(a.key, b.key) })
	list = slices.CompactFunc(list, func(a, b indexEntry) bool { return bytes.Equal(a.key, b.key) })
	return func(from []byte) ([]indexEntry, error) {
		i, _ := slices.BinarySearchFunc(list, from, func(e indexEntry, key []byte) int { return bytes.Compare(e.key, key) })
		return list[i:], nil
	}, err
}

// decidedIn makes the entries of a run and of those that it has started from their journals.
func (r *reader) decidedIn(run string, add func(runtime.Write) error) error {
	err := r.kept(run, func(rec *journal.Record) error {
		if rec.Type != journal.GateDecided {
			return nil
		}
		return add(journal.DecidedEntry(run, rec))
	})
	if err != nil {
		return err
	}
	kids, err := r.childrenOf(run)
	for _, k := range kids {
		if err == nil {
			err = r.decidedIn(k.id, add)
		}
	}
	return err
}

// decidedBefore makes the entries of all runs from the rows of their gates. Such a row knows the
// last answer. A question of the runtime may have had others before, which the journal has.
func (r *reader) decidedBefore(add func(runtime.Write) error) error {
	again := map[string]bool{}
	err := journal.ScanWhole(r.store, journal.PrefixGate, func(key string, v []byte) error {
		run, _, _ := strings.Cut(key, "/")
		return eachRecord(v, func(rec *journal.Record) error {
			if rec.Type != journal.GateDecided {
				return nil
			}
			if strings.HasPrefix(rec.Step, "!") {
				again[run] = true
			}
			return add(journal.DecidedEntry(run, rec))
		})
	})
	for run := range again {
		if err == nil {
			err = r.decidedEarlier(run, add)
		}
	}
	return err
}

// decidedEarlier makes the entries of a run's answers to the runtime, as far as its journal can be
// read.
func (r *reader) decidedEarlier(run string, add func(runtime.Write) error) (err error) {
	_ = r.kept(run, func(rec *journal.Record) error {
		if rec.Type == journal.GateDecided && strings.HasPrefix(rec.Step, "!") {
			err = cmp.Or(err, add(journal.DecidedEntry(run, rec)))
		}
		return err
	})
	return err
}

// reindexDecisions removes the entries of runs that are gone, and adds those that are not there.
// What is there stays: a gate's row knows its last decision only.
func (r *reader) reindexDecisions(add func(runtime.Write) error) error {
	err := journal.ScanEach(r.store, journal.PrefixDecided, func(rest string, _ []byte, _ error) error {
		run, _, _ := strings.Cut(rest[8:], "/")
		if _, err := r.store.Get(journal.RunKey(run)); errors.Is(err, runtime.ErrNoKey) {
			return add(runtime.Write{Key: []byte(journal.PrefixDecided + rest), Value: nil})
		}
		return nil
	})
	if err != nil {
		return err
	}
	return r.decidedBefore(func(w runtime.Write) error {
		_, err := r.store.Get(w.Key)
		if errors.Is(err, runtime.ErrNoKey) || errors.Is(err, runtime.ErrDamaged) {
			return add(w)
		}
		return err
	})
}

// unlistDecisions drops the entries of a run: those of its gates' rows and, as far as it can be
// read, of its journal.
func (r *reader) unlistDecisions(run string, d *dropper) error {
	drop := func(rec *journal.Record) error {
		if rec.Type != journal.GateDecided {
			return nil
		}
		return d.drop(context.Background(), journal.DecidedKey(rec.Time, run, rec.Step))
	}
	err := journal.ScanWhole(r.store, journal.PrefixGate+run+"/", func(_ string, v []byte) error { return eachRecord(v, drop) })
	if err != nil {
		return err
	}
	return journal.ScanWhole(r.store, journal.PrefixJournal+run, func(_ string, v []byte) error {
		records, _ := journal.Unseal(v, 1) // damaged or not, the run goes
		for i := range records {
			if err := drop(&records[i]); err != nil {
				return err
			}
		}
		return nil
	})
}

// decision makes a document of an entry; it is none where the run is gone. An entry that cannot be
// read is made again from the journal.
func (t *tops) decision(order string, v []byte, to contract.Audience) (d runtime.Decision, ok bool) {
	run, gate, _ := strings.Cut(order[8:], "/")
	own := t.row(run)
	if own.Status == "" {
		return d, false
	}
	take := func(rec *journal.Record) error {
		if rec.Type == journal.GateDecided && string(journal.DecidedKey(rec.Time, run, rec.Step)) == journal.PrefixDecided+order {
			d.Decided = journal.DecidedOf(journal.ShortDecision(rec), to)
		}
		return nil
	}
	if _ = eachRecord(v, take); d.At.IsZero() {
		_ = t.r.kept(run, take) // where it cannot be read either, the run is listed as damaged
	}
	if d.At.IsZero() {
		return d, false
	}
	d.Copied = d.At.Before(own.StartedAt) // whoever makes a run of another does so after what it has
	top, address := t.of(run, gate)
	d.Run, d.Script, d.StartedBy = top.ID, top.Script, top.StartedBy
	d.Gate, d.Address = address, top.ID+"/"+address
	return d, true
}

// maxDecided is how many decisions a run's document has: the newest. The journal has all.
const maxDecided = 1000

// decisions are how the gates of a run were decided, in the order of the decisions. A gate that was
// closed without one is not among them.
func (r *reader) decisions(run string, to contract.Audience) ([]runtime.Decided, error) {
	var list []runtime.Decided
	err := journal.Scan(r.store, journal.PrefixGate+run+"/", func(_ string, v []byte) error {
		return eachRecord(v, func(rec *journal.Record) error {
			if rec.Type == journal.GateDecided {
				list = append(list, journal.DecidedOf(journal.ShortDecision(rec), to))
			}
			return nil
		})
	})
	slices.SortStableFunc(list, func(a, b runtime.Decided) int { return a.At.Compare(b.At) })
	return list[max(0, len(list)-maxDecided):], err
}
