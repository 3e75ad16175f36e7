package engine

import (
	"bytes"
	"context"
	"errors"
	"slices"
	"strconv"
	"strings"
	"time"

	"starling/lang/contract"
	"starling/lang/effect"
	"starling/runtime"
	"starling/runtime/journal"
	"starling/runtime/run"
)

// List returns what a query asks for: runs, the newest first, open gates, work, queues.
func (r *reader) List(ctx context.Context, q runtime.Query) (*runtime.Listing, error) {
	if err := need(ctx, runtime.CanRead, "list runs"); err != nil {
		return nil, err
	}
	return r.list(q, runtime.CallerOf(ctx).Audience())
}

func (r *reader) list(q runtime.Query, to contract.Audience) (*runtime.Listing, error) {
	if q.Gates {
		return r.inbox(q, to)
	}
	if q.Work {
		return r.work(q)
	}
	if q.Queues || q.Queue != "" {
		return r.queues(q)
	}
	if q.Limit > 0 {
		return r.runPage(q)
	}
	out := &runtime.Listing{Schema: runtime.Schema, Runs: []runtime.Summary{}}
	err := journal.ScanEach(r.store, journal.PrefixRun, func(run string, row []byte, damage error) error {
		if s := r.summaryFrom(run, row, damage); wantsRun(&q, s.Status) {
			return r.addRun(out, &q, s)
		}
		return nil
	})
	slices.SortFunc(out.Runs, newer)
	return out, err
}

// now is a summary with what is not in its row.
func (r *reader) now(s runtime.Summary) runtime.Summary {
	s.Carried, s.NeedsMemory = r.carried(s.ID), r.needs(s.ID)
	s.StartedBy = r.starter(&s)
	s.Overdue = s.NextDue != nil && !s.Carried && s.NextDue.Before(r.clock())
	return s
}

// runPage lists as many runs as are asked for: of those that have not ended by the index, of all in
// the order of their starts.
func (r *reader) runPage(q runtime.Query) (*runtime.Listing, error) {
	prefix := journal.PrefixOrder
	if r.lists.good && !wantsEnded(&q) {
		prefix = journal.PrefixLive
	}
	out := &runtime.Listing{Schema: runtime.Schema, Runs: []runtime.Summary{}}
	page := func(take taking) error { return r.page(prefix, q, out, take) }
	if len(q.Terms) > 0 && r.lists.good {
		page = func(take taking) error { return r.termPage(q, out, take) }
	}
	err := page(func(order string, _ []byte) (bool, error) {
		run := order[8:]
		row, err := r.store.Get(journal.RunKey(run))
		if errors.Is(err, runtime.ErrNoKey) {
			return false, nil // it was forgotten since
		}
		if err != nil && !errors.Is(err, runtime.ErrDamaged) {
			return false, err
		}
		s := r.summaryFrom(run, row, err)
		if !wantsRun(&q, s.Status) {
			return false, nil
		}
		return true, r.addRun(out, &q, s)
	})
	return out, err
}

// addRun lists a run, with what it can be found by if that is asked for.
func (r *reader) addRun(out *runtime.Listing, q *runtime.Query, s runtime.Summary) error {
	s = r.now(s)
	if q.Facts {
		f, err := r.facts(s.ID, r.begun(s.ID))
		if err != nil {
			return err
		}
		s.Facts = &f.Facts
	}
	out.Runs = append(out.Runs, s)
	return nil
}

// page reads entries of an index until one more is taken than is asked for, and notes where the
// next page begins. The rows are read apart from the scan of the entries, of which few are read
// ahead.
func (r *reader) page(prefix string, q runtime.Query, out *runtime.Listing, take taking) error {
	from, err := behind(prefix, q.After)
	if err != nil {
		return err
	}
	read := func(from []byte) ([]indexEntry, error) {
		return r.entries(from, journal.AfterPrefix([]byte(prefix)))
	}
	at, err := turnPage(q.Limit, prefix, from, read, take)
	if at.next != "" {
		limitListing(out, q.Limit, at.next)
	}
	if q.Cursors {
		out.Cursors = at.cursors
	}
	return err
}

// taking tells whether an entry belongs to what is listed, and lists it. It has the entry's key
// without the prefix, which begins with the eight bytes of its time.
type taking func(order string, v []byte) (bool, error)

// pageEnd says where a page ends.
type pageEnd struct {
	next    string   // behind its last entry, "" where none follows
	cursors []string // behind each of its entries
}

// turnPage takes entries until one more is taken than the limit.
func turnPage(limit int, prefix string, from []byte, read reading, take taking) (at pageEnd, err error) {
	for {
		some, err := read(from)
		if err != nil || len(some) == 0 {
			return at, err
		}
		for _, e := range some {
			order := e.key[len(prefix):]
			taken, err := take(string(order), e.value)
			if err != nil {
				return at, err
			}
			if !taken {
				continue
			}
			if n := len(at.cursors); n == limit {
				at.next = at.cursors[n-1]
				return at, nil
			}
			at.cursors = append(at.cursors, cursorOf(order))
		}
		from = append(some[len(some)-1].key, 0)
	}
}

// limitListing leaves of a listing what was asked for, and says where it goes on.
func limitListing(l *runtime.Listing, limit int, next string) {
	l.Runs, l.Gates, l.Next = l.Runs[:min(limit, len(l.Runs))], l.Gates[:min(limit, len(l.Gates))], next
}

// indexEntry is an entry of an index.
type indexEntry struct{ key, value []byte }

// someEntries is how many entries are read at once.
const someEntries = 256

// entries reads some entries of an index. One that cannot be read leads to its row all the same.
func (r *reader) entries(from, to []byte) (read []indexEntry, err error) {
	err = journal.ScanRange(r.store, from, to, func(k, v []byte, _ error) error {
		read = append(read, indexEntry{bytes.Clone(k), bytes.Clone(v)})
		if len(read) == someEntries {
			return runtime.ErrStopScan
		}
		return nil
	})
	return read, err
}

// wantsEnded tells whether runs are asked for that have ended.
func wantsEnded(q *runtime.Query) bool {
	return q.All && len(q.Status) == 0 || slices.ContainsFunc(q.Status, runtime.Status.Ended)
}

// wantsRun tells whether runs in a status are asked for.
func wantsRun(q *runtime.Query, s runtime.Status) bool {
	if len(q.Status) > 0 {
		return slices.Contains(q.Status, s)
	}
	return q.All || !s.Ended()
}

func newer(a, b runtime.Summary) int {
	if c := b.StartedAt.Compare(a.StartedAt); c != 0 {
		return c
	}
	return strings.Compare(a.ID, b.ID)
}

// summaryFrom reads a row. One that is damaged, or tells of a damaged run, is made again from the
// journal; where that cannot be read the run is listed as damaged.
func (r *reader) summaryFrom(run string, row []byte, damage error) runtime.Summary {
	s := runtime.Summary{ID: run}
	if damage == nil {
		s, damage = journal.ReadSummary(run, row)
	}
	if damage == nil && s.Status != runtime.Damaged {
		return s
	}
	sv, err := readRun(r.store, run, 0)
	if err != nil {
		s.ID, s.Status, s.Error, s.NextDue = run, runtime.Damaged, err.Error(), nil
		return s
	}
	state := sv.fold()
	v, _ := state.Summary().View() // just made
	s = journal.SummaryOf(run, v)
	s.UpdatedAt = state.Updated
	return s
}

// starter is who has started a run. The rows of older builds do not say it, so that is looked up.
func (r *reader) starter(s *runtime.Summary) string {
	if s.StartedBy != "" {
		return s.StartedBy
	}
	sv := &saved{run: s.ID}
	if _, err := sv.readStart(r.store); err != nil || sv.start == nil {
		return "" // whoever looks at the run itself is told what is wrong
	}
	return sv.start.View().Text("by")
}

// inbox lists open gates, the oldest first, each under the address of the top run.
func (r *reader) inbox(q runtime.Query, to contract.Audience) (*runtime.Listing, error) {
	out := &runtime.Listing{Schema: runtime.Schema, Gates: []runtime.Gate{}}
	runs := r.tops()
	add := func(id, name string, opened time.Time, data effect.View) {
		top, name := runs.of(id, name)
		if g := run.GateDocument(top.ID, name, opened, data, to); asksFor(&q, g.Target) {
			out.Gates = append(out.Gates, g)
		}
	}
	if q.Limit > 0 && r.lists.good {
		return out, r.page(journal.PrefixOpen, q, out, func(order string, target []byte) (bool, error) {
			if !asksFor(&q, string(target)) {
				return false, nil
			}
			run, name, _ := strings.Cut(order[8:], "/")
			v, err := r.store.Get(journal.InboxKey(run, name))
			if errors.Is(err, runtime.ErrNoKey) {
				return false, nil // it was closed since
			}
			n := len(out.Gates)
			if opened, data := r.opened(run, name, v, err); !opened.IsZero() {
				add(run, name, opened, data)
			}
			return len(out.Gates) > n, nil
		})
	}
	runs.whole = true
	err := journal.ScanEach(r.store, journal.PrefixInbox, func(key string, v []byte, damage error) error {
		run, name, _ := strings.Cut(key, "/")
		if opened, data := r.opened(run, name, v, damage); !opened.IsZero() { // else it is listed as damaged
			add(run, name, opened, data)
		}
		return nil
	})
	slices.SortStableFunc(out.Gates, func(a, b runtime.Gate) int { return a.OpenedAt.Compare(b.OpenedAt) })
	if q.Limit > 0 && err == nil {
		err = cutListing(out, q)
	}
	return out, err
}

// asksFor tells whether gates are asked for that are for somebody.
func asksFor(q *runtime.Query, target string) bool {
	return q.Target == "" || target == "" || target == q.Target
}

// tops finds the top runs of gates. It reads the row of each run once.
type tops struct {
	r    *reader
	rows map[string]runtime.Summary
	// whole is a list that is no page of one: where its rows turn out to be many, all of the store
	// are read at once, for over a network each would be a round trip. A page costs what it has.
	whole bool
}

func (r *reader) tops() *tops { return &tops{r: r, rows: map[string]runtime.Summary{}} }

// row is that of a run; of one that is not there, or cannot be told of, it has the id alone.
func (t *tops) row(run string) runtime.Summary {
	if t.whole && len(t.rows) == manyRows {
		t.whole = false
		_ = journal.ScanEach(t.r.store, journal.PrefixRun, func(id string, row []byte, damage error) error {
			s := t.r.summaryFrom(id, row, damage)
			s.StartedBy = t.r.starter(&s)
			t.rows[id] = s
			return nil
		}) // of what could not be read here each is asked for by itself
	}
	row, known := t.rows[run]
	if !known {
		row, _ = t.r.summary(run)
		row.ID = run
		row.StartedBy = t.r.starter(&row)
		t.rows[run] = row
	}
	return row
}

// manyRows is how many rows are read one by one.
const manyRows = 256

// of gives the top run of a gate's run, and the gate's address there.
func (t *tops) of(run, gate string) (runtime.Summary, string) {
	for {
		row := t.row(run)
		if row.Parent == "" { // of a run that cannot be read nobody is known to have started it
			return row, gate
		}
		up, step, _ := journal.CutParent(row.Parent)
		run, gate = up, step+"/"+gate
	}
}

// cutListing leaves of all gates the page that is asked for, where there is no index: a reader's
// store may have had an owner that knew none. Its cursor counts.
func cutListing(l *runtime.Listing, q runtime.Query) error {
	begin := 0
	if q.After != "" {
		var err error
		if begin, err = strconv.Atoi(q.After); err != nil || begin < 0 {
			return badCursor(q.After)
		}
	}
	l.Gates = l.Gates[min(begin, len(l.Gates)):]
	if len(l.Gates) > q.Limit {
		limitListing(l, q.Limit, strconv.Itoa(begin+q.Limit))
	}
	for i := range l.Gates {
		if q.Cursors {
			l.Cursors = append(l.Cursors, strconv.Itoa(begin+i+1))
		}
	}
	return nil
}

// opened reads the row of an open gate: when it was opened, and what it is about. One that cannot
// be read is made again from the journal.
func (r *reader) opened(run, name string, v []byte, damage error) (time.Time, effect.View) {
	if records, err := journal.ReadAll(bytes.Clone(v), 0); damage == nil && err == nil && len(records) == 1 {
		return records[0].Time, records[0].View()
	}
	sv, err := readRun(r.store, run, 0)
	if err != nil {
		return time.Time{}, effect.View{}
	}
	g := sv.fold().Gates[name]
	if g == nil {
		return time.Time{}, effect.View{}
	}
	data, _ := g.Payload().View() // just made
	return g.OpenedAt, data
}

// work lists what agents come for, the oldest first.
func (r *reader) work(q runtime.Query) (*runtime.Listing, error) {
	out := &runtime.Listing{Schema: runtime.Schema, Work: []runtime.Work{}}
	err := journal.ScanEach(r.store, journal.PrefixWork, func(key string, v []byte, damage error) error {
		id, step, _ := strings.Cut(key, "/")
		row, err := effect.Payload(bytes.Clone(v)).View()
		if damage != nil || err != nil {
			row, err = r.offered(id, step)
		}
		if err != nil {
			return nil // the run cannot be read either: it is listed as damaged
		}
		if w := run.WorkDocument(id, step, row); q.Target == "" || q.Target == w.Agent {
			out.Work = append(out.Work, w)
		}
		return nil
	})
	slices.SortStableFunc(out.Work, func(a, b runtime.Work) int { return a.Since.Compare(b.Since) })
	return out, err
}

// offered makes the row of work again from the journal.
func (r *reader) offered(run, step string) (effect.View, error) {
	sv, err := readRun(r.store, run, 0)
	if err != nil {
		return effect.View{}, err
	}
	return sv.fold().WorkRow(step).View()
}

// Standing implements [runtime.Census].
func (e *Local) Standing(ctx context.Context) (*runtime.Standing, error) {
	if err := need(ctx, runtime.CanRead, "count runs"); err != nil {
		return nil, err
	}
	return e.census.Count(func(add func(*runtime.Summary)) error {
		for q := (runtime.Query{Limit: manyRows}); ; {
			page, err := e.runPage(q)
			if err != nil {
				return err
			}
			for i := range page.Runs {
				add(&page.Runs[i])
			}
			if q.After = page.Next; q.After == "" {
				return nil
			}
		}
	}, e.carries, e.now())
}
