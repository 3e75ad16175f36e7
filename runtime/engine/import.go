package engine

import (
	"context"
	"errors"

	"starling/lang/effect"
	"starling/runtime"
	"starling/runtime/archive"
	"starling/runtime/journal"
	"starling/runtime/run"
)

// Import makes the runs of a file runs of this store.
func (e *Local) Import(ctx context.Context, r runtime.ImportRequest) (*runtime.Imported, error) {
	if err := need(ctx, runtime.CanAdmin, "import runs"); err != nil {
		return nil, err
	}
	in, err := archive.Read(r.File)
	if err != nil {
		return nil, err
	}
	for _, each := range in.Runs {
		each.Settings = e.under(&r, in, each)
	}
	defer e.hold("import")()
	e.keeping.RLock()
	defer e.keeping.RUnlock()
	top := in.Runs[0]
	done := &runtime.Imported{Schema: runtime.Schema, Run: top.ID}
	for _, each := range in.Runs {
		known, err := e.hasImported(each)
		if err != nil {
			return nil, err
		}
		done.Known = done.Known || known
		done.Runs = append(done.Runs, each.ID)
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
	now, err := e.get(top.ID, runtime.CallerOf(ctx).Audience())
	if err != nil {
		return nil, err
	}
	done.Status, done.Project = now.Status, now.Details.Project
	return done, nil
}

// under are the settings under which a run works here.
func (e *Local) under(r *runtime.ImportRequest, in *archive.File, id *archive.Run) *effect.Settings {
	if r.TrustProject {
		s := *id.Settings
		s.Imported, s.Machine = effect.ImportedTrusted, e.opts.Machine
		return &s
	}
	s := r.Settings.After(id.Settings)
	s.Machine = e.opts.Machine
	s.Imported = effect.ImportedLocal
	if s.Cassettes == effect.CassettesRecord { // nobody has asked for it here
		s.Cassettes = ""
	}
	if parent, step, child := journal.CutParent(id.Parent); child {
		if tree := treeOf(in, parent, step); tree != "" {
			s.Workspace = e.hosted(&run.Host{Run: parent, Settings: s}).Within(tree).Workspace
		}
	}
	return s
}

// treeOf is the branch in whose working tree a step is done, "" for the workspace.
func treeOf(in *archive.File, run, step string) string {
	for _, r := range in.Runs {
		if r.ID == run && r.Last.Steps[step] != nil {
			return r.Last.Steps[step].Tree
		}
	}
	return ""
}

// trustImported has a run that was imported before, with its child runs, go on under what came with
// it.
func (e *Local) trustImported(ctx context.Context, top *archive.Run) error {
	now, err := e.get(top.ID, runtime.CallerOf(ctx).Audience())
	if err != nil || now.Details.Imported == nil {
		return err
	}
	return e.pin(ctx, top.ID, top.Settings)
}

// hasImported tells whether a run is here with the journal of the file; with another one it is
// refused.
func (e *Local) hasImported(r *archive.Run) (bool, error) {
	_, err := e.store.Get(journal.RunKey(r.ID))
	if errors.Is(err, runtime.ErrNoKey) {
		return false, nil
	}
	var here []journal.Record
	if err == nil {
		here, err = e.whole(r.ID)
	}
	if err != nil {
		return false, err
	}
	var content []byte
	for i := range here {
		content = journal.Append(content, &here[i])
	}
	if here[0].View().Sub("imported").Text("journal") == r.Journal || journal.HashOf(content) == r.Journal {
		return true, nil
	}
	return false, runtime.Refusef(runtime.ErrExists, "run %s is here already, with another journal: it has %d records, the file %d", r.ID, len(here), len(r.Records)).
		WithHelp("it may have gone on since it was exported; see it with: starling show %s", r.ID)
}

// bring writes contents and runs: what they name once they are marked, and nothing else of the
// file. Contents that a crash leaves without a run are swept (contents.go).
func (e *Local) bring(ctx context.Context, in *archive.File) error {
	var runs []adopted
	contents := map[string][]byte{}
	for _, r := range in.Runs {
		settings := run.SettingsPayload(r.Settings)
		r.Mark(in.Store, runtime.CallerOf(ctx).Name, journal.Micros(e.now()), journal.HashOf(settings))
		for i := range r.Records {
			for _, hash := range archive.ContentsOf(&r.Records[i]) {
				contents[hash] = in.Contents[hash]
			}
		}
		contents[journal.HashOf(settings)] = settings
		brought := adopted{id: r.ID, records: r.Records}
		if r.Parent != "" {
			brought.rows = []runtime.Write{{Key: journal.ChildKey(r.Parent), Value: []byte(r.ID)}}
		}
		runs = append(runs, brought)
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
