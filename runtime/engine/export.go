package engine

import (
	"context"
	"crypto/sha256"
	"encoding/binary"
	"errors"
	"fmt"
	"slices"
	"strings"

	"starling/lang/effect"
	"starling/runtime"
	"starling/runtime/journal"
)

// An export is a run in a file: its journal, those of its child runs, and the contents that they
// name. There is no checkpoint in it, for a snapshot is only good in the store that wrote it:
// whoever imports it replays.
//
//	magic      "starling export\n"
//	format     uvarint, 1
//	sections   type byte · uvarint length · bytes, in this order:
//	  h        once: a dict, {run, store, at}: what was exported, from which store, when
//	  b        a content; its address is the SHA-256 of the bytes
//	  r        a run: a dict, {id, parent}; the first is the exported one, a child stands after its parent
//	  j        records of that run, as a store has those of one commit (record.go); all of a run's together are its journal
//	  e        once, at the end: the SHA-256 of every byte before this section
//
// Numbers are as in the store. A reader refuses sections that it does not know.
const (
	exportMagic  = "starling export\n"
	exportFormat = 1

	sectionHeader  = 'h'
	sectionBlob    = 'b'
	sectionRun     = 'r'
	sectionJournal = 'j'
	sectionEnd     = 'e'
)

var _ runtime.Archive = (*Local)(nil)

// exporter writes a file.
type exporter struct {
	r     *reader
	file  []byte
	runs  []byte // sections of the runs, which stand behind those of the contents
	blobs map[string]bool
}

// section appends a section.
func section(b []byte, typ byte, content []byte) []byte {
	b = append(b, typ)
	b = binary.AppendUvarint(b, uint64(len(content)))
	return append(b, content...)
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
	x := &exporter{r: r, blobs: map[string]bool{}}
	x.file = binary.AppendUvarint([]byte(exportMagic), exportFormat)
	var b effect.Object
	x.file = section(x.file, sectionHeader, b.Text("run", run).Text("store", r.store.Info().ID).Int("at", journal.Micros(r.clock())).Payload())
	if err := x.run(run, ""); err != nil {
		return nil, err
	}
	x.file = append(x.file, x.runs...)
	sum := sha256.Sum256(x.file)
	x.file = section(x.file, sectionEnd, sum[:])
	if len(x.file) > runtime.MaxExport {
		return nil, runtime.Refusef(runtime.ErrBadPayload, "the export of run %s has %d bytes, at most %d are written", run, len(x.file), runtime.MaxExport)
	}
	return x.file, nil
}

// run adds a run and the runs that it has started.
func (x *exporter) run(id, parent string) error {
	records, err := x.r.whole(id)
	if err != nil {
		return err
	}
	var b effect.Object
	x.runs = section(x.runs, sectionRun, b.Text("id", id).Text("parent", parent).Payload())
	for _, value := range (&adopted{id: id, records: records}).journal() {
		x.runs = section(x.runs, sectionJournal, value.Value)
	}
	for i := range records {
		for _, hash := range contentsOf(&records[i]) {
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
	if hash == "" || x.blobs[hash] {
		return nil
	}
	content, err := x.r.blob(hash)
	if errors.Is(err, runtime.ErrNoKey) {
		return fmt.Errorf("%w: content %s is not there", runtime.ErrDamaged, hash)
	}
	x.blobs[hash] = true
	x.file = section(x.file, sectionBlob, content)
	return err
}

// contentsOf are the hashes of the contents that a record names.
func contentsOf(r *journal.Record) []string {
	switch v := r.View(); r.Type {
	case journal.RunStarted, journal.RunMoved, journal.RunPinned:
		return slices.DeleteFunc([]string{journal.HashIn(v, "bundle"), journal.HashIn(v, "settings")}, func(hash string) bool { return hash == "" })
	case journal.AttemptEnded:
		var list []string
		v.Sub("blobs").Each(func(_ string, b effect.View) { list = append(list, b.Text("hash")) })
		return list
	}
	return nil
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
