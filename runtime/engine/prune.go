package engine

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"time"

	"starling/runtime"
	"starling/runtime/journal"
)

// Pruning forgets runs that have ended long ago, with the child runs that they started. What
// contents nothing names then is swept (contents.go). It is done for some runs at a time: the rows
// by which they are found go first, with where they stood, and a marker of each comes, in one
// commit; then what stands behind the markers. What a crash leaves is swept by the next owner, as
// it is of runs that come (adopt.go).

// pruner finds what may go.
type pruner struct {
	r      *reader
	before time.Time
	order  map[string][]byte // key of the order of starts of each run
	starts map[string][]byte // key of the idempotent start of each run
}

// index finds the keys that lead to runs.
func (p *pruner) index() (err error) {
	if p.order, err = p.keysOf(journal.PrefixOrder, func(key string, _ []byte) string { return key[8:] }); err != nil {
		return err
	}
	p.starts, err = p.keysOf(journal.PrefixStartKey, func(_ string, v []byte) string {
		var k journal.Keyed
		_ = json.Unmarshal(v, &k) // a row that cannot be read is nobody's
		return k.Run
	})
	return err
}

// old lists the trees of runs that have ended before a time, each with its root first.
func (p *pruner) old() (trees [][]runtime.Summary, err error) {
	if err := p.index(); err != nil {
		return nil, err
	}
	err = journal.ScanEach(p.r.store, journal.PrefixRun, func(run string, row []byte, damage error) error {
		s := p.r.summaryFrom(run, row, damage)
		if s.Parent != "" || !s.Status.Ended() || !s.UpdatedAt.Before(p.before) {
			return nil
		}
		tree, whole, err := p.tree(s)
		if whole {
			trees = append(trees, tree)
		}
		return err
	})
	return trees, err
}

// lost lists the runs that cannot be read, each with what it started. One that has somebody above
// or below it who has not ended stays, and is told of: that one would start it again, or wait for
// it.
func (p *pruner) lost(out *runtime.MaintenanceReport) (trees [][]runtime.Summary, err error) {
	if err := p.index(); err != nil {
		return nil, err
	}
	err = journal.ScanEach(p.r.store, journal.PrefixRun, func(run string, row []byte, damage error) error {
		_, failed := readRun(p.r.store, run, 0)
		if !errors.Is(failed, runtime.ErrDamaged) {
			return nil
		}
		s := p.r.summaryFrom(run, row, damage)
		s.Status, s.Error = runtime.Damaged, failed.Error()
		tree, whole, err := p.tree(s)
		if err != nil {
			return err
		}
		if up, _, child := journal.CutParent(s.Parent); child && !p.over(up) {
			whole = false
		}
		if !whole {
			addProblem(out, run, "run", fmt.Errorf("%w; cancel what it was started by, and what it started, first", failed))
			return nil
		}
		trees = append(trees, tree)
		return nil
	})
	return trees, err
}

// over tells whether a run has ended, or is not there.
func (p *pruner) over(run string) bool {
	s, err := p.r.summary(run)
	return err != nil || gone(s.Status)
}

// gone tells whether a run goes on no more, for it has ended or cannot be read.
func gone(s runtime.Status) bool { return s.Ended() || s == runtime.Damaged }

func (p *pruner) keysOf(prefix string, of func(key string, v []byte) string) (map[string][]byte, error) {
	keys := map[string][]byte{}
	err := journal.ScanWhole(p.r.store, prefix, func(rest string, v []byte) error {
		keys[of(rest, v)] = []byte(prefix + rest)
		return nil
	})
	return keys, err
}

// tree is a run with all below it; it is not whole while one of them has not ended.
func (p *pruner) tree(s runtime.Summary) (tree []runtime.Summary, whole bool, err error) {
	tree, whole = []runtime.Summary{s}, gone(s.Status)
	kids, err := p.r.childrenOf(s.ID)
	for _, k := range kids {
		if err != nil || !whole {
			break
		}
		var below []runtime.Summary
		var row runtime.Summary
		if row, err = p.r.summary(k.id); err == nil {
			below, whole, err = p.tree(row)
			tree = append(tree, below...)
		}
	}
	return tree, whole, err
}

// pruneBatch is how many runs are forgotten by one commit.
const pruneBatch = 100

// forget removes runs, at most pruneBatch.
func (p *pruner) forget(ctx context.Context, runs []runtime.Summary) error {
	b := &runtime.Batch{Writes: []runtime.Write{{Key: []byte(journal.KeyGarbage), Value: []byte{}}}}
	for i := range runs {
		p.mark(b, &runs[i])
	}
	if err := p.r.commit(ctx, b); err != nil {
		return err
	}
	d := dropper{r: p.r}
	for i := range runs {
		if err := p.r.dropRun(runs[i].ID, &d); err != nil {
			return err
		}
	}
	return d.flush(ctx)
}

// mark takes the rows by which a run is found, and leaves the marker.
func (p *pruner) mark(b *runtime.Batch, s *runtime.Summary) {
	b.Writes = append(b.Writes, runtime.Write{Key: []byte(journal.PrefixStaged + s.ID), Value: []byte{}}, runtime.Write{Key: journal.RunKey(s.ID), Value: nil},
		runtime.Write{Key: journal.LiveKey(s.StartedAt, s.ID), Value: nil})
	for _, key := range [][]byte{p.order[s.ID], p.starts[s.ID]} {
		if key != nil {
			b.Writes = append(b.Writes, runtime.Write{Key: key, Value: nil})
		}
	}
	if s.Parent != "" {
		b.Writes = append(b.Writes, runtime.Write{Key: journal.ChildKey(s.Parent), Value: nil})
	}
	if at, _, err := p.r.store.Head(s.ID); err == nil { // else it is damaged, too
		b.Fences = append(b.Fences, runtime.Fence{Run: s.ID, Expect: at})
	}
}

// prune forgets the runs that have ended before a time, or only tells which these are.
func (e *Local) prune(ctx context.Context, c runtime.MaintenanceRequest, out *runtime.MaintenanceReport) error {
	p := &pruner{r: &e.reader, before: c.Before}
	find := p.old
	if c.Damaged {
		find = func() ([][]runtime.Summary, error) { return p.lost(out) }
	}
	trees, err := find()
	out.Pruned = []runtime.Summary{}
	var runs []runtime.Summary
	for _, tree := range trees {
		out.Pruned = append(out.Pruned, tree...)
		slices.Reverse(tree) // children first: a parent that is left finds them gone
		runs = append(runs, tree...)
	}
	if err != nil || c.DryRun {
		return err
	}
	for some := range slices.Chunk(runs, pruneBatch) {
		if err := p.forget(ctx, some); err != nil {
			return err
		}
	}
	return nil
}
