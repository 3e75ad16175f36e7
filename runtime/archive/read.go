package archive

import (
	"bytes"
	"crypto/sha256"
	"encoding/binary"
	"fmt"
	"strings"

	"starling/lang/effect"
	"starling/runtime"
	"starling/runtime/journal"
	"starling/runtime/run"
)

// File is an export that was read.
type File struct {
	Store    string // it comes from
	Runs     []*Run // the first is the one that was exported; a child stands after its parent
	Contents map[string][]byte
}

// Run is a run of a file.
type Run struct {
	ID, Parent string
	Records    []journal.Record
	Journal    string           // hash of its records
	Last       *run.State       // as they leave it
	Settings   *effect.Settings // under which it works where it comes from
}

func damaged(format string, args ...any) error {
	return runtime.Refusef(runtime.ErrKindDamaged, "the export is damaged: "+format, args...)
}

// Read reads a file, whole and undamaged. Nothing in it is trusted before its checksum has been
// compared, and little after. Its errors are those of an import.
func Read(file []byte) (*File, error) {
	rest, ok := bytes.CutPrefix(file, []byte(magic))
	if !ok {
		return nil, notAnExport(file)
	}
	version, w := binary.Uvarint(rest)
	if w <= 0 || version == 0 {
		return nil, damaged("it has no format")
	}
	if version > format {
		return nil, runtime.Refusef(runtime.ErrKindNewer, "the export has the format %d; this build reads up to %d", version, format).WithHelp("import it with the build that wrote it, or a newer one")
	}
	in := &File{Contents: map[string][]byte{}}
	for rest = rest[w:]; len(rest) > 0; {
		typ, begin := rest[0], len(file)-len(rest)
		content, after, ok := journal.CutBytes(rest[1:])
		if !ok {
			return nil, damaged("it ends in the middle of a section at byte %d of %d", begin, len(file))
		}
		if typ == sectionEnd {
			return in, in.end(file[:begin], content, after)
		}
		if err := in.add(typ, content); err != nil {
			return nil, err
		}
		rest = after
	}
	return nil, damaged("its end is missing behind byte %d", len(file))
}

// notAnExport refuses a file by its beginning, and says what reads it if that is ours.
func notAnExport(file []byte) *runtime.Refusal {
	begins := fmt.Sprintf("it begins with %.20q", file)
	if len(file) == 0 {
		begins = "it is empty"
	}
	r := runtime.Refusef(runtime.ErrNotAnExport, "the file is not an export: %s, want %q", begins, strings.TrimSpace(magic))
	if bytes.HasPrefix(file, []byte("starling backup")) {
		return r.WithHelp("it is a backup of a whole store: starling store restore FILE")
	}
	return r.WithHelp("starling export RUN -o FILE writes one")
}

// add takes a section.
func (in *File) add(typ byte, content []byte) error {
	switch typ {
	case sectionHeader:
		v, err := effect.Payload(content).View()
		in.Store = v.Text("store")
		return orDamaged(err, "its header")
	case sectionBlob:
		in.Contents[journal.HashOf(content)] = content
		return nil
	case sectionRun:
		v, err := effect.Payload(content).View()
		in.Runs = append(in.Runs, &Run{ID: v.Text("id"), Parent: v.Text("parent")})
		return orDamaged(err, "a run")
	case sectionJournal:
		if len(in.Runs) == 0 {
			return damaged("a journal without a run")
		}
		r := in.Runs[len(in.Runs)-1]
		records, err := journal.Unseal(content, uint64(len(r.Records))+1)
		r.Records = append(r.Records, records...)
		return orDamaged(err, "run "+r.ID)
	}
	return damaged("a section of the unknown type %q", string(typ))
}

func orDamaged(err error, what string) error {
	if err == nil {
		return nil
	}
	return damaged("%s: %v", what, err)
}

// end compares the checksum, and looks whether everything is there.
func (in *File) end(body, sum, after []byte) error {
	if got := sha256.Sum256(body); !bytes.Equal(got[:], sum) {
		return damaged("its checksum is not that of its bytes")
	}
	if len(after) > 0 {
		return damaged("%d bytes follow its end", len(after))
	}
	if len(in.Runs) == 0 {
		return damaged("it holds no run")
	}
	known := map[string]bool{}
	for i, r := range in.Runs {
		parent, _, child := journal.CutParent(r.Parent)
		if !journal.IsRunID(r.ID) || known[r.ID] || child != (i > 0) || child && !known[parent] {
			return damaged("it holds a run %q of %q", r.ID, r.Parent)
		}
		known[r.ID] = true
		if err := r.check(in.Contents); err != nil {
			return err
		}
		if err := r.settle(in.Contents); err != nil {
			return err
		}
	}
	return nil
}

// check wants a journal that begins with its start and whose contents are there.
func (r *Run) check(blobs map[string][]byte) error {
	if len(r.Records) == 0 || r.Records[0].Type != journal.RunStarted || r.Records[0].View().Text("parent") != r.Parent {
		return damaged("the journal of run %s does not begin with its start", r.ID)
	}
	var content []byte
	for i := range r.Records {
		rec := &r.Records[i]
		if _, err := rec.Data.View(); err != nil {
			return damaged("run %s, record %d: %v", r.ID, rec.Seq, err)
		}
		if rec.Type == journal.RunStarted && i > 0 {
			return damaged("run %s starts again with record %d", r.ID, rec.Seq)
		}
		for _, hash := range ContentsOf(rec) {
			if blobs[hash] == nil {
				return damaged("run %s, record %d: content %s is missing", r.ID, rec.Seq, hash)
			}
		}
		content = journal.Append(content, rec)
	}
	r.Journal = journal.HashOf(content)
	return nil
}

// settle finds how the run stands, and under which settings.
func (r *Run) settle(blobs map[string][]byte) (err error) {
	r.Last, r.Settings = run.NewState(r.ID), &effect.Settings{}
	defer func() { // whoever has made the file need not have made it with Starling
		if p := recover(); p != nil {
			err = damaged("run %s: %v", r.ID, p)
		}
	}()
	for i := range r.Records {
		r.Last.Apply(&r.Records[i])
	}
	if content := blobs[r.Last.Settings]; content != nil {
		r.Settings, err = run.SettingsOf(content)
	}
	return orDamaged(err, "run "+r.ID)
}

// Mark says in the journal that it comes from elsewhere: its start says from where, and every
// decision says that it was made there. Of what its project said nothing is left that counts here
// (foreign.go): it was under these settings from the start.
func (r *Run) Mark(store, by string, at int64, settings string) {
	var from effect.Object
	from.Text("store", store).Text("by", by).Int("at", at).Text("journal", r.Journal)
	origin := from.Payload()
	for i := range r.Records {
		rec := &r.Records[i]
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
