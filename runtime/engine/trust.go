package engine

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/aymanbagabas/go-udiff"

	"starling/lang/effect"
	"starling/runtime"
	"starling/runtime/journal"
)

// Whoever may not administer the store runs scripts under the owner's project, and that is a file
// which an agent may be able to write. So the store keeps what the project was when somebody who
// may administer it last ran something under it, was told of what had changed, or said that it is
// trusted: its text, and digests of the files that its commands name. What differs from that is
// refused to the others until somebody looks at it. The first reading of a project is trusted.

// trustRow is what is trusted of a project.
type trustRow struct {
	Project []byte            `json:"project"` // the text of its file, as each run keeps it, too
	Was     []byte            `json:"was,omitempty"`
	Files   map[string]string `json:"files,omitempty"` // digests
	By      string            `json:"by"`
	At      time.Time         `json:"at"`
}

// projectFolder is what a project is known by.
func projectFolder(s *effect.Settings) string {
	if s.ProjectFile != "" {
		return filepath.Dir(s.ProjectFile)
	}
	return s.Workspace
}

// Trust compares a project, and trusts it.
func (e *Local) Trust(ctx context.Context, r runtime.TrustRequest) (*runtime.Trust, error) {
	if err := need(ctx, runtime.CanAdmin, "trust a project"); err != nil {
		return nil, err
	}
	defer e.hold(journal.PrefixTrust)()
	t, now, err := compareTrust(e.store, e.opts.Named, &r.Settings)
	if err != nil || r.Look || t.Known && !t.Changed() {
		return t, err
	}
	return t, e.keepTrust(ctx, t.Folder, now)
}

// Trust compares a project, and refuses to trust it.
func (r *readOnly) Trust(ctx context.Context, q runtime.TrustRequest) (*runtime.Trust, error) {
	if !q.Look {
		return nil, errReadOnly
	}
	if err := need(ctx, runtime.CanAdmin, "look at what is trusted"); err != nil {
		return nil, err
	}
	t, _, err := compareTrust(r.store, r.named, &q.Settings)
	return t, err
}

// trusted refuses a project that has changed since somebody trusted it. The first is trusted.
func (e *Local) trusted(ctx context.Context, s *effect.Settings) error {
	if e.opts.Named == nil {
		return nil
	}
	defer e.hold(journal.PrefixTrust)()
	t, now, err := compareTrust(e.store, e.opts.Named, s)
	switch {
	case err != nil:
		return err
	case !t.Known:
		return e.keepTrust(ctx, t.Folder, now)
	case !t.Changed():
		return nil
	}
	return runtime.Refusef(runtime.ErrDenied, "the project has changed since %s trusted it (%s), and %s may not run under it\n%s",
		t.By, t.Summary(), runtime.CallerOf(ctx), t.Diff).
		WithHelp("whoever may administer the store looks at it, and says: starling trust %s", t.Folder)
}

// compareTrust holds a project against what is trusted of it, and gives what would be trusted.
func compareTrust(store runtime.Store, named func(*effect.Settings) map[string]string, s *effect.Settings) (*runtime.Trust, *trustRow, error) {
	t := &runtime.Trust{Folder: projectFolder(s)}
	now := &trustRow{Project: s.Project}
	if named != nil {
		now.Files = named(s)
	}
	text, err := store.Get([]byte(journal.PrefixTrust + t.Folder))
	if errors.Is(err, runtime.ErrNoKey) {
		return t, now, nil
	}
	var kept trustRow
	if err == nil {
		err = json.Unmarshal(text, &kept)
	}
	if err != nil {
		return nil, nil, fmt.Errorf("what is trusted of %s: %w", t.Folder, err)
	}
	t.Known, t.By, t.At, now.Was = true, kept.By, kept.At, kept.Project
	t.Diff, t.Added, t.Removed = changedLines(kept.Project, now.Project)
	t.Before, _, _ = changedLines(kept.Was, kept.Project)
	for _, name := range slices.Sorted(maps.Keys(kept.Files)) {
		if now.Files[name] != kept.Files[name] {
			t.Files = append(t.Files, name)
		}
	}
	for _, name := range slices.Sorted(maps.Keys(now.Files)) {
		if _, had := kept.Files[name]; !had && t.Diff == "" { // else the lines name it
			t.Files = append(t.Files, name)
		}
	}
	return t, now, nil
}

func (e *Local) keepTrust(ctx context.Context, folder string, now *trustRow) error {
	now.By, now.At = runtime.CallerOf(ctx).Name, e.now()
	row, err := json.Marshal(now)
	if err != nil {
		return err
	}
	return e.commit(ctx, &runtime.Batch{Writes: []runtime.Write{{Key: []byte(journal.PrefixTrust + folder), Value: row}}})
}

// How much of a difference is shown.
const (
	maxDiffLines = 40
	maxDiffLine  = 200 // bytes
)

// changedLines are the lines in which two texts differ, and how many.
func changedLines(was, is []byte) (lines string, added, removed int) {
	if bytes.Equal(was, is) {
		return "", 0, 0
	}
	var b strings.Builder
	diff := udiff.Unified("was", "is", strings.ToValidUTF8(string(was), "?"), strings.ToValidUTF8(string(is), "?"))
	for i, line := range strings.Split(diff, "\n") {
		switch {
		case i < 2 || line == "": // the names
			continue
		case line[0] == '+':
			added++
		case line[0] == '-':
			removed++
		default:
			continue
		}
		if added+removed <= maxDiffLines {
			b.WriteString(strings.ToValidUTF8(line[:min(len(line), maxDiffLine)], "") + "\n")
		}
	}
	if more := added + removed - maxDiffLines; more > 0 {
		fmt.Fprintf(&b, "and %d lines more\n", more)
	}
	return strings.TrimSuffix(b.String(), "\n"), added, removed
}
