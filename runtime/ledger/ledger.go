// Package ledger knows what the runs of a store have spent under daily budgets.
//
// A daily budget of a project bounds what all runs of the store spend on a day together. Each run
// folds its own part from its journal, as it does for its other ceilings, and the commit that
// changes the part writes it as a row of its own, so that the sum over all runs is known without
// loading them.
package ledger

import (
	"strings"
	"sync"
	"time"

	"starling/lang/effect"
	"starling/runtime"
	"starling/runtime/journal"
)

// Ledger is what the runs of a store have spent under daily budgets, as of the newest commit of
// each.
type Ledger struct {
	store runtime.Store

	mu    sync.Mutex                          // guards what follows
	spent map[string]map[string]runtime.Usage // by the key of a budget and a day, then by run; nil until it is read
	total map[string]runtime.Usage            // by that key
}

const keptDays = 2 // are kept: those that a run may still count in

// rowKey is the row of what a run has spent under a key of a budget and a day.
func rowKey(key, run string) []byte {
	budget, day := journal.CutDay(key)
	return []byte(journal.PrefixSpent + day + "/" + budget + "/" + run)
}

// New is the ledger of a store.
func New(store runtime.Store) *Ledger { return &Ledger{store: store} }

// Others tells what runs have spent under a key of a budget and a day, except for one of them.
func (l *Ledger) Others(key, run string) runtime.Usage {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.read()
	return l.total[key].Minus(l.spent[key][run])
}

// Rows lists what a commit of a run changes, and drops days that are long over.
func (l *Ledger) Rows(run string, spent map[string]runtime.Usage) (writes []runtime.Write) {
	if len(spent) == 0 {
		return nil
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	l.read()
	for key, u := range spent {
		if l.spent[key][run] != u {
			_, day := journal.CutDay(key)
			writes = append(writes, runtime.Write{Key: rowKey(key, run), Value: journal.UsagePayload(u, 0)})
			writes = append(writes, l.expired(day)...)
		}
	}
	return writes
}

// Learn takes what a run has spent as of its commit.
func (l *Ledger) Learn(run string, spent map[string]runtime.Usage) {
	if len(spent) == 0 {
		return
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	l.read()
	for key, u := range spent {
		l.count(key, run, u)
	}
}

// expired drops what was spent long before a day. The store forgets it with the commit; should that
// fail, it is found and dropped again by the next engine.
func (l *Ledger) expired(today string) (writes []runtime.Write) {
	at, err := time.Parse(time.DateOnly, today)
	if err != nil {
		return nil
	}
	oldest := at.AddDate(0, 0, -keptDays).Format(time.DateOnly)
	for key, runs := range l.spent {
		if _, day := journal.CutDay(key); day >= oldest {
			continue
		}
		for run := range runs {
			writes = append(writes, runtime.Write{Key: rowKey(key, run), Value: nil})
		}
		delete(l.spent, key)
		delete(l.total, key)
	}
	return writes
}

func (l *Ledger) count(key, run string, u runtime.Usage) {
	if l.spent[key] == nil {
		l.spent[key] = map[string]runtime.Usage{}
	}
	l.total[key] = l.total[key].Plus(u).Minus(l.spent[key][run])
	l.spent[key][run] = u
}

// read fills the ledger from the store when it is first asked for. A row that cannot be read counts
// nothing.
func (l *Ledger) read() {
	if l.spent == nil {
		_ = l.load("") // who cannot be read cannot be written to either: what spends more fails
	}
}

// load reads the rows whose keys go on with days.
func (l *Ledger) load(days string) error {
	l.spent, l.total = map[string]map[string]runtime.Usage{}, map[string]runtime.Usage{}
	return journal.ScanWhole(l.store, journal.PrefixSpent+days, func(key string, row []byte) error {
		day, rest, _ := strings.Cut(days+key, "/")
		budget, run, _ := strings.Cut(rest, "/")
		if v, err := effect.Payload(row).View(); err == nil {
			l.count(effect.ProjectBudget+budget+"/"+day, run, journal.UsageOf(v))
		}
		return nil
	})
}

// SpentOn tells what all runs have spent on a day, by the name of the budget, as the store has it.
func SpentOn(store runtime.Store, day string) (map[string]runtime.Usage, error) {
	l := New(store)
	if err := l.load(day + "/"); err != nil {
		return nil, err
	}
	spent := map[string]runtime.Usage{}
	for key, u := range l.total {
		if name, of := journal.CutDay(key); of == day {
			spent[name] = u
		}
	}
	return spent, nil
}
