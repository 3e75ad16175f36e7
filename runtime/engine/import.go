package engine

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/binary"
	"errors"
	"fmt"
	"strings"

	"starling/lang/effect"
	"starling/runtime"
	"starling/runtime/journal"
	"starling/runtime/run"
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
	parent   string
	journal  string     // hash of its records as the file has them
	last     *run.State // as they leave it
	settings *effect.Settings
}

func damagedExport(format string, args ...any) error {
	return runtime.Refusef(runtime.ErrKindDamaged, "the export is damaged: "+format, args...)
}

// Exported is what an export has, as it says itself.
type Exported struct {
	Run  string // that was exported
	Runs []ExportedRun
}

// ExportedRun is a run of an export.
type ExportedRun struct {
	ID       string
	Script   string
	Status   runtime.Status
	Settings *effect.Settings // under which it works where it comes from
}

// ReadExport reads an export, whole and undamaged, for who wants to know what it brings. Its errors
// are those of Import.
func ReadExport(file []byte) (*Exported, error) {
	in, err := readExport(file)
	if err != nil {
		return nil, err
	}
	x := &Exported{Run: in.runs[0].id}
	for _, r := range in.runs {
		x.Runs = append(x.Runs, ExportedRun{r.id, r.last.Script, r.last.Status, r.settings})
	}
	return x, nil
}

// readExport reads a file. Nothing in it is trusted before its checksum has been compared, and
// little after.
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
		return nil, runtime.Refusef(runtime.ErrKindNewer, "the export has the format %d; this build reads up to %d", format, exportFormat).WithHelp("import it with the build that wrote it, or a newer one")
	}
	in := &imports{blobs: map[string][]byte{}}
	for rest = rest[w:]; len(rest) > 0; {
		typ, begin := rest[0], len(file)-len(rest)
		content, after, ok := journal.CutBytes(rest[1:])
		if !ok {
			return nil, damagedExport("it ends in the middle of a section at byte %d of %d", begin, len(file))
		}
		if typ == sectionEnd {
			return in, in.end(file[:begin], content, after)
		}
		if err := in.add(typ, content); err != nil {
			return nil, err
		}
		rest = after
	}
	return nil, damagedExport("its end is missing behind byte %d", len(file))
}

// notAnExport refuses a file by its beginning, and says what reads it if that is ours.
func notAnExport(file []byte) *runtime.Refusal {
	begins := fmt.Sprintf("it begins with %.20q", file)
	if len(file) == 0 {
		begins = "it is empty"
	}
	r := runtime.Refusef(runtime.ErrNotAnExport, "the file is not an export: %s, want %q", begins, strings.TrimSpace(exportMagic))
	if bytes.HasPrefix(file, []byte("starling backup")) {
		return r.WithHelp("it is a backup of a whole store: starling store restore FILE")
	}
	return r.WithHelp("starling export RUN -o FILE writes one")
}

// add takes a section.
func (in *imports) add(typ byte, content []byte) error {
	switch typ {
	case sectionHeader:
		v, err := effect.Payload(content).View()
		in.store = v.Text("store")
		return orDamaged(err, "its header")
	case sectionBlob:
		in.blobs[journal.HashOf(content)] = content
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
		records, err := journal.Unseal(content, uint64(len(r.records))+1)
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
		parent, _, child := journal.CutParent(r.parent)
		if !journal.IsRunID(r.id) || known[r.id] || child != (i > 0) || child && !known[parent] {
			return damagedExport("it holds a run %q of %q", r.id, r.parent)
		}
		known[r.id] = true
		if err := r.check(in.blobs); err != nil {
			return err
		}
		if err := r.settle(in.blobs); err != nil {
			return err
		}
	}
	return nil
}

// check wants a journal that begins with its start and whose contents are there.
func (r *imported) check(blobs map[string][]byte) error {
	if len(r.records) == 0 || r.records[0].Type != journal.RunStarted || r.records[0].View().Text("parent") != r.parent {
		return damagedExport("the journal of run %s does not begin with its start", r.id)
	}
	var content []byte
	for i := range r.records {
		rec := &r.records[i]
		if _, err := rec.Data.View(); err != nil {
			return damagedExport("run %s, record %d: %v", r.id, rec.Seq, err)
		}
		if rec.Type == journal.RunStarted && i > 0 {
			return damagedExport("run %s starts again with record %d", r.id, rec.Seq)
		}
		for _, hash := range contentsOf(rec) {
			if blobs[hash] == nil {
				return damagedExport("run %s, record %d: content %s is missing", r.id, rec.Seq, hash)
			}
		}
		content = journal.Append(content, rec)
	}
	r.journal = journal.HashOf(content)
	return nil
}

// settle finds how the run stands, and under which settings.
func (r *imported) settle(blobs map[string][]byte) (err error) {
	r.last, r.settings = run.NewState(r.id), &effect.Settings{}
	err = guarded(func() error { // whoever has made the file need not have made it with Starling
		for i := range r.records {
			r.last.Apply(&r.records[i])
		}
		return nil
	})
	if content := blobs[r.last.Settings]; err == nil && content != nil {
		r.settings, err = run.SettingsOf(content)
	}
	return orDamaged(err, "run "+r.id)
}

// Import makes the runs of a file runs of this store.
func (e *Local) Import(ctx context.Context, r runtime.ImportRequest) (*runtime.Imported, error) {
	if err := need(ctx, runtime.CanAdmin, "import runs"); err != nil {
		return nil, err
	}
	in, err := readExport(r.File)
	if err != nil {
		return nil, err
	}
	for _, run := range in.runs {
		run.settings = e.under(&r, in, run)
	}
	defer e.hold("import")()
	e.keeping.RLock()
	defer e.keeping.RUnlock()
	top := in.runs[0]
	done := &runtime.Imported{Schema: runtime.Schema, Run: top.id}
	for _, run := range in.runs {
		known, err := e.hasImported(run)
		if err != nil {
			return nil, err
		}
		done.Known = done.Known || known
		done.Runs = append(done.Runs, run.id)
	}
	switch {
	case !done.Known:
		err = e.bring(ctx, in)
	case r.TrustProject:
		err = e.trustImported(ctx, top)
	}
	if err != nil {
		return nil, err
	}
	now, err := e.get(top.id, runtime.CallerOf(ctx).Audience())
	if err != nil {
		return nil, err
	}
	done.Status, done.Project = now.Status, now.Details.Project
	return done, nil
}

// under are the settings under which a run works here.
func (e *Local) under(r *runtime.ImportRequest, in *imports, id *imported) *effect.Settings {
	if r.TrustProject {
		s := *id.settings
		s.Imported, s.Machine = effect.ImportedTrusted, e.opts.Machine
		return &s
	}
	s := r.Settings.After(id.settings)
	s.Machine = e.opts.Machine
	s.Imported = effect.ImportedLocal
	if s.Cassettes == effect.CassettesRecord { // nobody has asked for it here
		s.Cassettes = ""
	}
	if parent, step, child := journal.CutParent(id.parent); child {
		if tree := in.treeOf(parent, step); tree != "" {
			s.Workspace = e.hosted(&run.Host{Run: parent, Settings: s}).Within(tree).Workspace
		}
	}
	return s
}

// treeOf is the branch in whose working tree a step is done, "" for the workspace.
func (in *imports) treeOf(run, step string) string {
	for _, r := range in.runs {
		if r.id == run && r.last.Steps[step] != nil {
			return r.last.Steps[step].Tree
		}
	}
	return ""
}

// trustImported has a run that was imported before, with its child runs, go on under what came with
// it.
func (e *Local) trustImported(ctx context.Context, run *imported) error {
	now, err := e.get(run.id, runtime.CallerOf(ctx).Audience())
	if err != nil || now.Details.Imported == nil {
		return err
	}
	return e.pin(ctx, run.id, run.settings)
}

// hasImported tells whether a run is here with the journal of the file; with another one it is
// refused.
func (e *Local) hasImported(r *imported) (bool, error) {
	_, err := e.store.Get(journal.RunKey(r.id))
	if errors.Is(err, runtime.ErrNoKey) {
		return false, nil
	}
	var here []journal.Record
	if err == nil {
		here, err = e.whole(r.id)
	}
	if err != nil {
		return false, err
	}
	var content []byte
	for i := range here {
		content = journal.Append(content, &here[i])
	}
	if here[0].View().Sub("imported").Text("journal") == r.journal || journal.HashOf(content) == r.journal {
		return true, nil
	}
	return false, runtime.Refusef(runtime.ErrExists, "run %s is here already, with another journal: it has %d records, the file %d", r.id, len(here), len(r.records)).
		WithHelp("it may have gone on since it was exported; see it with: starling show %s", r.id)
}

// bring writes contents and runs: what they name once they are marked, and nothing else of the
// file. Contents that a crash leaves without a run are swept (contents.go).
func (e *Local) bring(ctx context.Context, in *imports) error {
	var runs []adopted
	contents := map[string][]byte{}
	for _, r := range in.runs {
		settings := run.SettingsPayload(r.settings)
		r.mark(in.store, runtime.CallerOf(ctx).Name, journal.Micros(e.now()), journal.HashOf(settings))
		for i := range r.records {
			for _, hash := range contentsOf(&r.records[i]) {
				contents[hash] = in.blobs[hash]
			}
		}
		contents[journal.HashOf(settings)] = settings
		if r.parent != "" {
			r.rows = []runtime.Write{{Key: journal.ChildKey(r.parent), Value: []byte(r.id)}}
		}
		runs = append(runs, r.adopted)
	}
	if err := e.bringContents(ctx, contents); err != nil {
		return err
	}
	return e.adopt(ctx, runs)
}

func (e *Local) bringContents(ctx context.Context, contents map[string][]byte) error {
	b := &runtime.Batch{Writes: []runtime.Write{{Key: []byte(journal.KeyGarbage), Value: []byte{}}}} // should a crash come before the runs
	for hash, content := range contents {
		b.Writes = append(b.Writes, runtime.Write{Key: []byte(journal.PrefixBlob + hash), Value: content})
		if sizeOf(b.Writes) > adoptBytes {
			if err := e.commit(ctx, b); err != nil {
				return err
			}
			b = &runtime.Batch{}
		}
	}
	if len(b.Writes) == 0 {
		return nil
	}
	return e.commit(ctx, b)
}

// mark says in the journal that it comes from elsewhere: its start says from where, and every
// decision says that it was made there. Of what its project said nothing is left that counts here
// (foreign.go): it was under these settings from the start.
func (r *imported) mark(store, by string, at int64, settings string) {
	var from effect.Object
	from.Text("store", store).Text("by", by).Int("at", at).Text("journal", r.journal)
	origin := from.Payload()
	for i := range r.records {
		rec := &r.records[i]
		switch v := rec.View(); rec.Type {
		case journal.RunStarted:
			start := v.Without("imported", "settings").Blob("settings", journal.BytesOf(settings))
			rec.Data = start.Raw("imported", origin).Payload()
		case journal.RunPinned:
			rec.Data = v.Without("settings").Text("settings", settings).Payload()
		case journal.GateDecided, journal.SignalAccepted:
			rec.Data = v.Without("imported").Flag("imported", true).Payload()
		default:
			rec.Data = run.Elsewhere(rec)
		}
	}
}
