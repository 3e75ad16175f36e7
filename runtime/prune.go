package runtime

import (
	"context"
	"encoding/json"
	"time"
)

// Pruning forgets runs that have ended long ago, with the child runs that they started. What contents nothing names then is swept (contents.go). It is done run by run: the rows by which a run is
// found go first, and a marker comes, in one commit; then what stands behind the marker. What a crash leaves is swept by the next owner, as it is of runs that come (adopt.go).

// pruner finds what may go.
type pruner struct {
	r      *reader
	before time.Time
	order  map[string][]byte // key of the order of starts of each run
	starts map[string][]byte // key of the idempotent start of each run
}

// old lists the trees of runs that have ended before a time, each with its root first.
func (p *pruner) old() (trees [][]Summary, err error) {
	if p.order, err = p.keysOf(prefixOrder, func(key string, _ []byte) string { return key[8:] }); err != nil {
		return nil, err
	}
	p.starts, err = p.keysOf(prefixStartKey, func(_ string, v []byte) string {
		var k keyed
		_ = json.Unmarshal(v, &k) // a row that cannot be read is nobody's
		return k.Run
	})
	if err != nil {
		return nil, err
	}
	err = scan(p.r.store, prefixRun, func(run string, row []byte) error {
		s := p.r.summaryFrom(run, row)
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

func (p *pruner) keysOf(prefix string, of func(key string, v []byte) string) (map[string][]byte, error) {
	keys := map[string][]byte{}
	err := scan(p.r.store, prefix, func(rest string, v []byte) error {
		keys[of(rest, v)] = []byte(prefix + rest)
		return nil
	})
	return keys, err
}

// tree is a run with all below it; it is not whole while one of them has not ended.
func (p *pruner) tree(s Summary) (tree []Summary, whole bool, err error) {
	tree, whole = []Summary{s}, s.Status.Ended()
	kids, err := p.r.childrenOf(s.ID)
	for _, k := range kids {
		if err != nil || !whole {
			break
		}
		var below []Summary
		var row Summary
		if row, err = p.r.summary(k.id); err == nil {
			below, whole, err = p.tree(row)
			tree = append(tree, below...)
		}
	}
	return tree, whole, err
}

// forget removes one run.
func (p *pruner) forget(ctx context.Context, s Summary) error {
	b := &Batch{Writes: []Write{{[]byte(prefixStaged + s.ID), []byte{}}, {runKey(s.ID), nil}, {[]byte(keyGarbage), []byte{}}}}
	for _, key := range [][]byte{p.order[s.ID], p.starts[s.ID]} {
		if key != nil {
			b.Writes = append(b.Writes, Write{key, nil})
		}
	}
	if s.Parent != "" {
		b.Writes = append(b.Writes, Write{childKey(s.Parent), nil})
	}
	if err := p.r.store.Commit(ctx, b); err != nil {
		return err
	}
	return sweepRun(p.r.store, s.ID)
}

// prune forgets the runs that have ended before a time, or only tells which these are.
func (e *Local) prune(ctx context.Context, c CareRequest, out *CareReport) error {
	p := &pruner{r: &e.reader, before: c.Before}
	trees, err := p.old()
	out.Pruned = []Summary{}
	for _, tree := range trees {
		out.Pruned = append(out.Pruned, tree...)
		for i := len(tree) - 1; i >= 0 && err == nil && !c.DryRun; i-- { // children first: a parent that is left finds them gone
			err = p.forget(ctx, tree[i])
		}
	}
	return err
}
