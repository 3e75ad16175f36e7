package engine

import (
	"context"
	"fmt"
	"time"

	"starling/runtime"
	"starling/runtime/fact"
	"starling/runtime/journal"
	"starling/runtime/run"
)

// A run that comes with a journal, a fork or one from another store, is there as a whole or not at
// all. What does not fit into one commit is written ahead: a marker first, then the journal and the
// rows of its decided gates, none of which anybody looks at as long as the run has no row. The last
// commit brings the row, that of the order of starts, and the open gates, and takes the marker
// away. A marker that the next owner finds is what a crash left; it sweeps what stands behind it.

// adopted is a run that comes with its journal.
type adopted struct {
	id      string
	records []journal.Record // numbered from 1
	rows    []runtime.Write  // further rows of the last commit
}

// adoptBytes bounds what one commit carries of a journal, and from which size on it is written
// ahead.
const adoptBytes = 1 << 20

// number gives records the numbers of a journal.
func number(records []journal.Record) []journal.Record {
	for i := range records {
		records[i].Seq = uint64(i) + 1
	}
	return records
}

// adopt makes journals runs of this store, all at once. The rows of the last commit must fit into
// one.
func (e *Local) adopt(ctx context.Context, runs []adopted) (err error) {
	defer func() {
		for _, r := range runs {
			if err != nil && e.sweepRun(r.id) != nil {
				return // the next owner does it
			}
		}
	}()
	last := &runtime.Batch{}
	for _, r := range runs {
		values := r.journal()
		s, found, bill := run.NewState(r.id), fact.New(), fact.NewBill("", nil, nil)
		for i := range r.records {
			s.Apply(&r.records[i])
			found.Apply(&r.records[i])
			if err := bill.Apply(&r.records[i]); err != nil {
				return err
			}
		}
		ahead := append(values, r.decided()...)
		if sizeOf(ahead) > adoptBytes {
			if err := e.writeAhead(ctx, r.id, ahead); err != nil {
				return err
			}
			ahead = []runtime.Write{{Key: []byte(journal.PrefixStaged + r.id), Value: nil}}
		}
		last.Writes = append(last.Writes, ahead...)
		last.Writes = append(last.Writes, r.open(s, e.now())...)
		last.Writes = append(last.Writes, found.Rows(r.id)...)
		last.Writes = append(last.Writes, bill.Rows(r.id)...)
		last.Writes = append(last.Writes, r.rows...)
		last.Fences = append(last.Fences, runtime.Fence{Run: r.id, Next: r.records[len(r.records)-1].Seq})
	}
	return e.commit(ctx, last)
}

// journal are the values of the journal, none larger than what a turn may write.
func (r *adopted) journal() []runtime.Write {
	var all []runtime.Write
	value, first, count := make([]byte, journal.ChecksumSize), uint64(1), 0
	flush := func(next uint64) {
		if count > 0 {
			all = append(all, runtime.Write{Key: journal.SeqKey(journal.PrefixJournal, r.id, first), Value: journal.Seal(value)})
		}
		value, first, count = make([]byte, journal.ChecksumSize), next, 0
	}
	for i := range r.records {
		rec := &r.records[i]
		if len(value)+len(rec.Data) > adoptBytes || count == run.MaxTurnRecords {
			flush(rec.Seq)
		}
		value = journal.Append(value, rec)
		count++
	}
	flush(0)
	return all
}

// decided are the rows of the gates that are no longer open, and the entries of the decisions. As
// long as the run has no row, nobody is shown these.
func (r *adopted) decided() []runtime.Write {
	var all []runtime.Write
	for i := range r.records {
		rec := &r.records[i]
		if rec.Type == journal.GateDecided || rec.Type == journal.GateWithdrawn {
			all = append(all, journal.DecisionRows(r.id, rec)...)
		}
	}
	return all
}

// open are the rows by which the run and its open gates are found.
func (r *adopted) open(s *run.State, now time.Time) []runtime.Write {
	all := []runtime.Write{{Key: journal.RunKey(r.id), Value: append(journal.AppendMicros(nil, s.Updated), s.Summary()...)}, {Key: journal.OrderKey(now, r.id), Value: []byte(s.Parent)}}
	if !s.Status.Ended() {
		all = append(all, runtime.Write{Key: journal.LiveKey(s.Started, r.id), Value: []byte{}})
	}
	for _, g := range s.OpenGates() {
		row := journal.Record{Time: g.OpenedAt, Type: journal.GateOpened, Step: g.Name, Data: g.Payload()}
		all = append(all, runtime.Write{Key: journal.InboxKey(r.id, g.Name), Value: journal.Append(nil, &row)}, run.OpenGateRow(r.id, &row, row.View()))
	}
	for _, st := range s.InOrder() {
		if row := s.WorkRow(st.Step); row != nil {
			all = append(all, runtime.Write{Key: journal.WorkKey(r.id, st.Step), Value: row})
		}
	}
	return all
}

func sizeOf(writes []runtime.Write) int {
	n := 0
	for _, w := range writes {
		n += len(w.Key) + len(w.Value)
	}
	return n
}

// writeAhead writes rows that nobody looks at yet, behind a marker.
func (e *Local) writeAhead(ctx context.Context, run string, writes []runtime.Write) error {
	b := &runtime.Batch{Writes: []runtime.Write{{Key: []byte(journal.PrefixStaged + run), Value: []byte{}}}}
	for _, w := range writes {
		if len(b.Writes) > 0 && sizeOf(b.Writes)+len(w.Value) > adoptBytes {
			if err := e.commit(ctx, b); err != nil {
				return err
			}
			b = &runtime.Batch{}
		}
		b.Writes = append(b.Writes, w)
	}
	return e.commit(ctx, b)
}

// sweep removes what a crash has left of runs that were being adopted.
func (r *reader) sweep() error {
	var staged []string
	if err := journal.Scan(r.store, journal.PrefixStaged, func(run string, _ []byte) error {
		staged = append(staged, run)
		return nil
	}); err != nil {
		return err
	}
	for _, run := range staged {
		if err := r.sweepRun(run); err != nil {
			return err
		}
	}
	return nil
}

// sweepRun removes what was written ahead of a run.
func (r *reader) sweepRun(run string) error {
	d := dropper{r: r}
	if err := r.dropRun(run, &d); err != nil {
		return err
	}
	return d.flush(context.Background())
}

// dropRun drops what was written ahead of a run, the marker that says so last.
func (r *reader) dropRun(run string, d *dropper) error {
	if _, err := r.store.Get([]byte(journal.PrefixStaged + run)); err != nil {
		return nil
	}
	if err := r.unlist(run, d); err != nil {
		return err
	}
	for _, prefix := range []string{journal.PrefixJournal + run, journal.PrefixCheckpoint + run, journal.PrefixHorizon + run, journal.PrefixKeyframe + run, journal.PrefixGate + run + "/", journal.PrefixInbox + run + "/", journal.PrefixWork + run + "/", journal.PrefixNotice + run + "/", journal.PrefixKey + run + "/", journal.PrefixOrphan + run + "@",
		journal.PrefixRecovery + run, journal.PrefixStaged + run} {
		if err := d.dropPrefix(prefix); err != nil {
			return fmt.Errorf("what is left of run %s, which is not there: %w", run, err)
		}
	}
	return nil
}

// sweepBatch is how many keys one commit removes.
const sweepBatch = 1000

func (r *reader) sweepPrefix(prefix string) error {
	d := dropper{r: r}
	if err := d.dropPrefix(prefix); err != nil {
		return err
	}
	return d.flush(context.Background())
}
