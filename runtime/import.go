package runtime

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/binary"
	"errors"
	"fmt"
	"strings"

	"starling/lang/effect"
)

// imports is what a file holds.
type imports struct {
	store string // it comes from
	runs  []*imported
	blobs map[string][]byte
}

// imported is a run of a file.
type imported struct {
	adopted
	parent  string
	journal string // hash of its records as the file has them
}

func damagedExport(format string, args ...any) error {
	return refuse(ErrKindDamaged, "the export is damaged: "+format, args...)
}

// CheckExport tells whether a file is an export that Import can read, whole and undamaged: before a store is made for it, say. Its errors are those of Import.
func CheckExport(file []byte) error {
	_, err := readExport(file)
	return err
}

// readExport reads a file. Nothing in it is trusted before its checksum has been compared, and little after.
func readExport(file []byte) (*imports, error) {
	rest, ok := bytes.CutPrefix(file, []byte(exportMagic))
	if !ok {
		return nil, notAnExport(file)
	}
	format, w := binary.Uvarint(rest)
	if w <= 0 || format == 0 {
		return nil, damagedExport("it has no format")
	}
	if format > exportFormat {
		return nil, refuse(ErrKindNewer, "the export has the format %d; this build reads up to %d", format, exportFormat).help("import it with the build that wrote it, or a newer one")
	}
	in := &imports{blobs: map[string][]byte{}}
	for rest = rest[w:]; len(rest) > 0; {
		typ, begin := rest[0], len(file)-len(rest)
		content, after, ok := cutBytes(rest[1:])
		if !ok {
			return nil, damagedExport("it ends in the middle of a section at byte %d of %d", begin, len(file))
		}
		if typ == sectionEnd {
			return in, in.end(file[:begin], content, after)
		}
		if err := in.take(typ, content); err != nil {
			return nil, err
		}
		rest = after
	}
	return nil, damagedExport("its end is missing behind byte %d", len(file))
}

// notAnExport refuses a file by its beginning, and says what reads it if that is ours.
func notAnExport(file []byte) *Refusal {
	begins := fmt.Sprintf("it begins with %.20q", file)
	if len(file) == 0 {
		begins = "it is empty"
	}
	r := refuse(ErrNotAnExport, "the file is not an export: %s, want %q", begins, strings.TrimSpace(exportMagic))
	if bytes.HasPrefix(file, []byte("starling backup")) {
		return r.help("it is a backup of a whole store: starling store restore FILE")
	}
	return r.help("starling export RUN -o FILE writes one")
}

// take takes a section.
func (in *imports) take(typ byte, content []byte) error {
	switch typ {
	case sectionHeader:
		v, err := effect.Payload(content).View()
		in.store = v.Text("store")
		return orDamaged(err, "its header")
	case sectionBlob:
		in.blobs[hashOf(content)] = content
		return nil
	case sectionRun:
		v, err := effect.Payload(content).View()
		in.runs = append(in.runs, &imported{adopted: adopted{id: v.Text("id")}, parent: v.Text("parent")})
		return orDamaged(err, "a run")
	case sectionJournal:
		if len(in.runs) == 0 {
			return damagedExport("a journal without a run")
		}
		r := in.runs[len(in.runs)-1]
		records, err := unseal(content, uint64(len(r.records))+1)
		r.records = append(r.records, records...)
		return orDamaged(err, "run "+r.id)
	}
	return damagedExport("a section of the unknown type %q", string(typ))
}

func orDamaged(err error, what string) error {
	if err == nil {
		return nil
	}
	return damagedExport("%s: %v", what, err)
}

// end compares the checksum, and looks whether everything is there.
func (in *imports) end(body, sum, after []byte) error {
	if got := sha256.Sum256(body); !bytes.Equal(got[:], sum) {
		return damagedExport("its checksum is not that of its bytes")
	}
	if len(after) > 0 {
		return damagedExport("%d bytes follow its end", len(after))
	}
	if len(in.runs) == 0 {
		return damagedExport("it holds no run")
	}
	known := map[string]bool{}
	for i, r := range in.runs {
		parent, _, child := cutParent(r.parent)
		if !isRunID(r.id) || known[r.id] || child != (i > 0) || child && !known[parent] {
			return damagedExport("it holds a run %q of %q", r.id, r.parent)
		}
		known[r.id] = true
		if err := r.check(in.blobs); err != nil {
			return err
		}
	}
	return nil
}

// check wants a journal that begins with its start and whose contents are there.
func (r *imported) check(blobs map[string][]byte) error {
	if len(r.records) == 0 || r.records[0].Type != RunStarted || r.records[0].view().Text("parent") != r.parent {
		return damagedExport("the journal of run %s does not begin with its start", r.id)
	}
	var content []byte
	for i := range r.records {
		rec := &r.records[i]
		if _, err := rec.Data.View(); err != nil {
			return damagedExport("run %s, record %d: %v", r.id, rec.Seq, err)
		}
		if rec.Type == RunStarted && i > 0 {
			return damagedExport("run %s starts again with record %d", r.id, rec.Seq)
		}
		for _, hash := range rec.contents() {
			if blobs[hash] == nil {
				return damagedExport("run %s, record %d: content %s is missing", r.id, rec.Seq, hash)
			}
		}
		content = appendRecord(content, rec)
	}
	r.journal = hashOf(content)
	return nil
}

func isRunID(id string) bool {
	return len(id) == runIDLength && strings.Trim(id, crockford) == ""
}

// Import makes the runs of a file runs of this store.
func (e *Local) Import(ctx context.Context, file []byte) (*Imported, error) {
	if err := need(ctx, CanAdmin, "import runs"); err != nil {
		return nil, err
	}
	in, err := readExport(file)
	if err != nil {
		return nil, err
	}
	defer e.hold("import")()
	e.keeping.RLock()
	defer e.keeping.RUnlock()
	top := in.runs[0]
	done := &Imported{Schema: Schema, Run: top.id}
	for _, r := range in.runs {
		known, err := e.hasImported(r)
		if err != nil {
			return nil, err
		}
		done.Known = done.Known || known
		done.Runs = append(done.Runs, r.id)
	}
	if !done.Known {
		if err := e.bring(ctx, in); err != nil {
			return nil, err
		}
	}
	row, err := e.summary(top.id)
	done.Status = row.Status
	return done, err
}

// hasImported tells whether a run is here with the journal of the file; with another one it is refused.
func (e *Local) hasImported(r *imported) (bool, error) {
	_, err := e.store.Get(runKey(r.id))
	if errors.Is(err, ErrNoKey) {
		return false, nil
	}
	var here []Record
	if err == nil {
		here, err = e.whole(r.id)
	}
	if err != nil {
		return false, err
	}
	var content []byte
	for i := range here {
		content = appendRecord(content, &here[i])
	}
	if here[0].view().Sub("imported").Text("journal") == r.journal || hashOf(content) == r.journal {
		return true, nil
	}
	return false, refuse(ErrExists, "run %s is here already, with another journal: it has %d records, the file %d", r.id, len(here), len(r.records)).
		help("it may have gone on since it was exported; see it with: starling show %s", r.id)
}

// bring writes contents and runs. Contents that a crash leaves without a run are swept (contents.go).
func (e *Local) bring(ctx context.Context, in *imports) error {
	b := &Batch{Writes: []Write{{[]byte(keyGarbage), []byte{}}}} // should a crash come before the runs
	for hash, content := range in.blobs {
		b.Writes = append(b.Writes, Write{[]byte(prefixBlob + hash), content})
		if sizeOf(b.Writes) > adoptBytes {
			if err := e.commit(ctx, b); err != nil {
				return err
			}
			b = &Batch{}
		}
	}
	if len(b.Writes) > 0 {
		if err := e.commit(ctx, b); err != nil {
			return err
		}
	}
	var runs []adopted
	for _, r := range in.runs {
		if err := r.mark(in.store, CallerOf(ctx).Name, micros(e.now())); err != nil {
			return err
		}
		if r.parent != "" {
			r.rows = []Write{{childKey(r.parent), []byte(r.id)}}
		}
		runs = append(runs, r.adopted)
	}
	return e.adopt(ctx, runs)
}

// mark says in the journal that it comes from elsewhere: its start says from where, and every decision says that it was made there.
func (r *imported) mark(store, by string, at int64) error {
	var from, origin, there effect.Object
	from.Text("store", store).Text("by", by).Int("at", at).Text("journal", r.journal)
	marks := map[RecordType]effect.Payload{RunStarted: origin.Raw("imported", from.Payload()).Payload()}
	marks[GateDecided] = there.Flag("imported", true).Payload()
	marks[SignalAccepted] = marks[GateDecided]
	for i := range r.records {
		rec := &r.records[i]
		if marks[rec.Type] == nil {
			continue
		}
		var err error
		if rec.Data, err = with(rec.Data, marks[rec.Type]); err != nil {
			return fmt.Errorf("run %s, record %d: %w", r.id, rec.Seq, err)
		}
	}
	return nil
}
