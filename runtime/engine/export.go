package engine

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"starling/runtime"
	"starling/runtime/archive"
	"starling/runtime/journal"
)

var _ runtime.Archive = (*Local)(nil)

// exporter puts runs into a file.
type exporter struct {
	r *reader
	w *archive.Writer
}

// Export gives a run with its child runs as a file.
func (r *reader) Export(ctx context.Context, address string) ([]byte, error) {
	if err := need(ctx, runtime.CanRead, "export runs"); err != nil {
		return nil, err
	}
	run, err := r.resolveRun(address)
	if err != nil {
		return nil, err
	}
	row, err := r.summary(run)
	if err != nil {
		return nil, err
	}
	if parent, _, child := journal.CutParent(row.Parent); child {
		return nil, runtime.Refusef(runtime.ErrUsage, "run %s is a child of run %s and is exported with it", run, parent).WithHelp("starling export %s", parent)
	}
	x := &exporter{r, archive.NewWriter(run, r.store.Info().ID, journal.Micros(r.clock()))}
	if err := x.run(run, ""); err != nil {
		return nil, err
	}
	file := x.w.File()
	if len(file) > runtime.MaxExport {
		return nil, runtime.Refusef(runtime.ErrBadPayload, "the export of run %s has %d bytes, at most %d are written", run, len(file), runtime.MaxExport)
	}
	return file, nil
}

// run adds a run and the runs that it has started.
func (x *exporter) run(id, parent string) error {
	records, err := x.r.whole(id)
	if err != nil {
		return err
	}
	var values [][]byte
	for _, w := range (&adopted{id: id, records: records}).journal() {
		values = append(values, w.Value)
	}
	x.w.Run(id, parent, values)
	for i := range records {
		for _, hash := range archive.ContentsOf(&records[i]) {
			if err := x.blob(hash); err != nil {
				return fmt.Errorf("run %s: %w", id, err)
			}
		}
	}
	kids, err := x.r.childrenOf(id)
	for _, k := range kids {
		if err == nil {
			err = x.run(k.id, k.parent)
		}
	}
	return err
}

func (x *exporter) blob(hash string) error {
	if hash == "" || x.w.Has(hash) {
		return nil
	}
	content, err := x.r.blob(hash)
	if errors.Is(err, runtime.ErrNoKey) {
		return fmt.Errorf("%w: content %s is not there", runtime.ErrDamaged, hash)
	}
	if err == nil {
		x.w.Content(content)
	}
	return err
}

// kid is a run that a step has started.
type kid struct{ id, parent string }

func (r *reader) childrenOf(run string) ([]kid, error) {
	var kids []kid
	err := journal.Scan(r.store, journal.PrefixChild+run+"@", func(step string, id []byte) error {
		kids = append(kids, kid{string(id), run + "@" + step})
		return nil
	})
	slices.SortFunc(kids, func(a, b kid) int { return strings.Compare(a.parent, b.parent) })
	return kids, err
}
