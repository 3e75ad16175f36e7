package engine

import (
	"context"
	"errors"
	"strings"

	"starling/lang/effect"
	"starling/runtime"
	"starling/runtime/fact"
	"starling/runtime/journal"
	"starling/runtime/ledger"
	"starling/runtime/run"
)

// spend folds the records of a commit into the run's bill, and lists the rows of that. Nothing is
// read for a run that asks no agent.
func (a *actor) spend(records []journal.Record) ([]runtime.Write, error) {
	if a.bill == nil {
		a.bill = fact.NewBill(a.s.Labels, a.asked, func(rest string) ([]byte, error) { return a.e.store.Get(fact.BillKey(a.run, rest)) })
	}
	for i := range records {
		err := a.bill.Apply(&records[i])
		if errors.Is(err, runtime.ErrDamaged) {
			return a.rebill(records)
		}
		if err != nil {
			return nil, err
		}
	}
	return a.bill.Rows(a.run), nil
}

// rebill makes the bill anew from the journal, of which a commit is not there yet.
func (a *actor) rebill(records []journal.Record) (writes []runtime.Write, err error) {
	if a.bill, err = a.e.billOf(a.run); err != nil {
		return nil, err
	}
	for i := range records {
		if err := a.bill.Apply(&records[i]); err != nil {
			return nil, err
		}
	}
	return a.bill.Rows(a.run), nil
}

// asked are the open steps of agents of a run, and who is asked.
func asked(s *run.State) map[string]string {
	var who map[string]string
	for name, st := range s.Steps {
		if !journal.AgentKind(st.Kind) {
			continue
		}
		if who == nil {
			who = map[string]string{}
		}
		args, _ := st.Args.View()
		who[name] = journal.AgentName(args)
	}
	return who
}

// billOf makes the bill of a run from what its journal has, as far as it can be read.
func (r *reader) billOf(run string) (*fact.Bill, error) {
	sv := &saved{run: run}
	h, err := sv.readStart(r.store)
	b := fact.NewBill("", nil, nil)
	if err == nil && sv.start != nil {
		err = b.Apply(sv.start)
	}
	if h != nil {
		b.BeginAt(h.seq + 1)
	}
	if err == nil {
		err = r.kept(run, b.Apply)
	}
	if err != nil && !errors.Is(err, runtime.ErrDamaged) {
		return nil, err
	}
	return b, nil
}

// rebillAll makes the bills of all runs anew.
func (r *reader) rebillAll(add func(runtime.Write) error) error {
	if err := r.sweepPrefix(fact.PrefixBill); err != nil {
		return err
	}
	return journal.ScanEach(r.store, journal.PrefixRun, func(run string, _ []byte, _ error) error {
		b, err := r.billOf(run)
		if err != nil {
			return err
		}
		for _, w := range b.Rows(run) {
			if err := add(w); err != nil {
				return err
			}
		}
		return nil
	})
}

// SpentBy implements [runtime.Spending].
func (r *reader) SpentBy(ctx context.Context, q runtime.SpentQuery) (*runtime.Bills, error) {
	if err := need(ctx, runtime.CanRead, "see what was spent"); err != nil {
		return nil, err
	}
	if !r.lists.good {
		return nil, runtime.Refusef(runtime.ErrUnsupported, "the store's index is not kept by its newest owner")
	}
	prefix := fact.PrefixBill
	if q.Run != "" {
		id, err := r.resolveRun(q.Run)
		if err != nil {
			return nil, err
		}
		prefix = string(fact.BillKey(id, ""))
	}
	for unread := map[string]bool{}; ; {
		sums, more, err := r.sumUp(q.By, prefix, unread)
		if err != nil {
			return nil, err
		}
		if more {
			continue
		}
		for id := range unread {
			b, err := r.billOf(id)
			if err != nil {
				return nil, err
			}
			sums.AddBill(id, b)
		}
		return sums.Document(), nil
	}
}

// sumUp sums up the rows with a prefix, but for the runs of which some cannot be read: it notes
// those, and tells whether it has found more of them.
func (r *reader) sumUp(by []string, prefix string, unread map[string]bool) (sums *fact.Sums, more bool, err error) {
	sums = fact.NewSums(by)
	err = journal.ScanEach(r.store, prefix, func(rest string, row []byte, damage error) error {
		id, _, _ := strings.Cut(prefix[len(fact.PrefixBill):]+rest, "/")
		if unread[id] {
			return nil
		}
		if damage == nil {
			damage = sums.AddRow(id, row)
		}
		if damage != nil {
			unread[id], more = true, true
		}
		return nil
	})
	return sums, more, err
}

var _, _ runtime.Spending = (*Local)(nil), (*readOnly)(nil)

// SpentOn implements [runtime.Spending].
func (r *reader) SpentOn(ctx context.Context, day string) (map[string]runtime.Usage, error) {
	if err := need(ctx, runtime.CanRead, "see what was spent"); err != nil {
		return nil, err
	}
	return ledger.SpentOn(r.store, day)
}

// Budgets implements [runtime.Spending].
func (*readOnly) Budgets(context.Context) ([]effect.Ceiling, error) { return nil, nil }

// Budgets implements [runtime.Spending].
func (e *Local) Budgets(ctx context.Context) ([]effect.Ceiling, error) {
	if err := need(ctx, runtime.CanRead, "see budgets"); err != nil {
		return nil, err
	}
	settings, err := e.project()
	if err != nil {
		return nil, err
	}
	return settings.Budgets, nil
}
