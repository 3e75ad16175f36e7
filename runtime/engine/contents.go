package engine

import (
	"context"
	"encoding/json"
	"fmt"
	"sync"
	"time"

	"starling/runtime"
	"starling/runtime/archive"
	"starling/runtime/journal"
	"starling/runtime/run"
)

// Contents are shared: two runs of one script name the same bundle. So forgetting a run, or a part
// of its journal, drops none of them, and only says that there may be some that nothing names any
// more (keyGarbage). A sweep reads what every run and every definition names and drops the rest.
//
// Runs go on meanwhile, and may come to name what is about to be dropped. What a commit names while
// a sweep is on is marked before it is committed (reference), and is kept; before the sweep looks
// at anything it has waited for the commits that did not know of it. Dropping, at last, excludes
// naming: a commit comes either before it, and its contents are kept, or after it, and finds that
// the store does not have them and writes them again. What brings a journal whose contents are
// there already (a fork, an import) excludes the whole sweep.

// reference lets a commit name contents: which of them it has to write, and what to call when it is
// done.
func (e *Local) reference(blobs map[string][]byte) (map[string][]byte, func(error)) {
	if len(blobs) == 0 {
		return nil, func(error) {}
	}
	e.contents.RLock()
	fresh := e.unknownBlobs(blobs)
	return fresh, func(err error) {
		if err == nil {
			e.storedBlobs(fresh)
		}
		e.contents.RUnlock()
	}
}

// collect drops contents that nothing names, then gives back the space of large values.
func (e *Local) collect(ctx context.Context, out *runtime.MaintenanceReport) (err error) {
	if out.Contents, err = e.sweepContents(ctx); err != nil {
		return err
	}
	if k, ok := e.store.(runtime.Keeper); ok {
		out.Files, err = k.GC(ctx)
	}
	return err
}

// sweepContents drops the contents that nothing names, and tells how many these were.
func (e *Local) sweepContents(ctx context.Context) (dropped int, err error) {
	e.keeping.Lock()
	defer e.keeping.Unlock()
	return e.sweepIdle(ctx)
}

// sweepIdle is a sweep while nothing else is dropped, and nobody brings a journal.
func (e *Local) sweepIdle(ctx context.Context) (dropped int, err error) {
	e.mark(map[string]struct{}{})
	defer e.mark(nil)
	named, err := e.named(ctx)
	if err != nil {
		return 0, fmt.Errorf("nothing was dropped, for what is damaged cannot say what it names: %w", err)
	}
	var idle []string
	err = journal.ScanEach(e.store, journal.PrefixBlob, func(hash string, _ []byte, _ error) error {
		if !named[hash] {
			idle = append(idle, hash)
		}
		return ctx.Err()
	})
	for len(idle) > 0 && err == nil {
		n := min(len(idle), sweepBatch)
		var some int
		some, err = e.dropContents(ctx, idle[:n])
		dropped, idle = dropped+some, idle[n:]
	}
	if err == nil {
		err = e.commit(ctx, &runtime.Batch{Writes: []runtime.Write{{Key: []byte(journal.KeyGarbage), Value: nil}}})
	}
	return dropped, err
}

// mark begins to note what commits name, or ends it with nil. Commits in progress are over when it
// returns.
func (e *Local) mark(noted map[string]struct{}) {
	e.contents.Lock()
	defer e.contents.Unlock()
	e.mu.Lock()
	defer e.mu.Unlock()
	e.marked = noted
}

// dropContents drops contents but for those that were named meanwhile.
func (e *Local) dropContents(ctx context.Context, hashes []string) (dropped int, err error) {
	e.contents.Lock()
	defer e.contents.Unlock()
	e.mu.Lock()
	b := &runtime.Batch{}
	for _, hash := range hashes {
		if _, spared := e.marked[hash]; !spared {
			delete(e.stored, hash)
			b.Writes = append(b.Writes, runtime.Write{Key: []byte(journal.PrefixBlob + hash), Value: nil})
		}
	}
	e.mu.Unlock()
	if len(b.Writes) == 0 {
		return 0, nil
	}
	return len(b.Writes), e.commit(ctx, b)
}

// named reads what all runs and all definitions name.
func (e *Local) named(ctx context.Context) (map[string]bool, error) {
	named := map[string]bool{}
	note := func(hashes []string) {
		for _, hash := range hashes {
			named[hash] = true
		}
	}
	err := journal.Scan(e.store, journal.PrefixDefinition, func(_ string, v []byte) error {
		var row definitionRow
		err := json.Unmarshal(v, &row)
		named[row.Bundle] = true
		return err
	})
	if err != nil {
		return nil, err
	}
	var runs []string
	err = journal.ScanEach(e.store, journal.PrefixRun, func(run string, _ []byte, _ error) error {
		runs = append(runs, run)
		return nil
	})
	for _, run := range runs {
		if err == nil {
			err = e.namedBy(run, note)
		}
		if err == nil {
			err = ctx.Err()
		}
	}
	return named, err
}

// namedBy notes what the journal of a run names, and what its keyframe does.
func (e *Local) namedBy(id string, note func([]string)) error {
	sv := &saved{run: id, state: run.NewState(id)}
	h, err := sv.readStart(e.store)
	if err != nil {
		return err
	}
	if h != nil {
		if err := sv.readKeyframe(e.store, h); err != nil {
			return err
		}
		note(archive.ContentsOf(&h.start))
		note(sv.state.Contents())
	}
	return e.journal(id, sv.begins, func(r *journal.Record) error {
		note(archive.ContentsOf(r))
		return nil
	})
}

// Maintenance while the engine lives: how often, and from which growth of the logs of large values
// on their space is given back.
const (
	careEvery  = 10 * time.Minute
	careGrowth = 64 << 20
)

// maintenance tends the store in the background, with no goroutine while there is nothing to do.
type maintenance struct {
	e    *Local
	ctx  context.Context // ends with the care
	stop context.CancelFunc

	mu     sync.Mutex // guards what follows; held during a round
	timer  *time.Timer
	values int64 // bytes of large values after the last GC
}

// begin takes care of the store of an engine until close.
func (c *maintenance) begin(e *Local) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.e = e
	c.ctx, c.stop = context.WithCancel(e.ctx)
	if e.opts.After == nil { // whoever moves the clock waits for what is due, and this would be for ever
		c.timer = time.AfterFunc(careEvery, c.fire)
	}
}

func (c *maintenance) fire() {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.ctx.Err() != nil {
		return
	}
	if err := c.round(); err != nil && c.ctx.Err() == nil {
		c.e.log("maintenance of the store: %v", err)
	}
	c.timer.Reset(careEvery)
}

// round drops contents when something was dropped that may have named them, and gives back space
// when there may be some.
func (c *maintenance) round() error {
	_, err := c.e.store.Get([]byte(journal.KeyGarbage))
	garbage := err == nil
	if garbage {
		if _, err := c.e.sweepContents(c.ctx); err != nil {
			return err
		}
	}
	k, ok := c.e.store.(runtime.Keeper)
	if !ok {
		return nil
	}
	u, err := k.Usage()
	if err != nil || !garbage && u.Values-c.values < careGrowth {
		return err
	}
	if _, err = k.GC(c.ctx); err == nil {
		u, err = k.Usage()
		c.values = u.Values
	}
	return err
}

// close ends the care; what is in progress is over when it returns.
func (c *maintenance) close() {
	c.stop()
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.timer != nil {
		c.timer.Stop()
	}
}
