package stdlib_test

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"go.starlark.net/starlark"

	"starling/lang/effect"
	"starling/stdlib/project"
)

// workplace is a workspace whose files a test's calls read and change.
type workplace struct {
	dir      string
	settings effect.Settings
	env      map[string]string
	ctx      context.Context // of the attempts; nil is that of the test
}

func newWorkplace(t *testing.T) *workplace {
	dir := t.TempDir()
	if err := os.MkdirAll(filepath.Join(dir, ".starling", "locks"), 0o700); err != nil {
		t.Fatal(err)
	}
	return &workplace{dir: dir, settings: effect.Settings{Workspace: dir}}
}

// perform makes a request with a call, completes it, and performs one attempt of it.
func (w *workplace) perform(t *testing.T, call string) effect.Reply {
	t.Helper()
	d := newDesk()
	if _, err := d.eval(call); err != nil {
		t.Fatal(err)
	}
	r := d.asked[0]
	h := d.env.Handlers[r.Kind]
	if fault := h.Resolve(&w.settings, r); fault != nil {
		return effect.Reply{Err: fault}
	}
	args, err := r.Args.Value()
	if err != nil {
		t.Fatal(err)
	}
	resolved, err := r.Resolved.Value()
	if err != nil {
		t.Fatal(err)
	}
	store := filepath.Join(w.dir, ".starling")
	ctx := w.ctx
	if ctx == nil {
		ctx = t.Context()
	}
	return h.Perform(ctx, &effect.Attempt{Run: "r1", Step: r.Name, Kind: r.Kind, Number: 1, Key: "r1/" + r.Name, Args: args, Resolved: resolved,
		Settings: &w.settings, Store: store, Env: func(name string) (string, bool) { v, ok := w.env[name]; return v, ok },
		Emit: func(kind string, data starlark.Value) { t.Errorf("%s: %v", kind, data) }})
}

// said is a reply on one line: its value, or the kind, data and message of its error.
func said(r effect.Reply) string {
	if r.Err == nil {
		return r.Value.String()
	}
	data, err := r.Err.Data.Value()
	if err != nil {
		return err.Error()
	}
	return fmt.Sprintf("%s %s %s", r.Err.Kind, data, r.Err.Message)
}

func TestFiles(t *testing.T) {
	w := newWorkplace(t)
	if err := os.Symlink("/etc", filepath.Join(w.dir, "etc")); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(w.dir, "huge"), make([]byte, effect.MaxPayload+1), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct{ call, want string }{
		{`fs.write("notes/a.txt", "one")`, `None`},
		{`fs.write("notes/a.txt", "one")`, `None`},
		{`fs.write("notes/b", b"\xff")`, `None`},
		{`fs.read("notes/a.txt")`, `"one"`},
		{`fs.read("notes/b", binary = True)`, `b"\xff"`},
		{`fs.read("notes/b")`, `effect {"path": "notes/b"} fs.read: notes/b: it is not text in UTF-8; pass binary = True for its bytes`},
		{`fs.read("none")`, `effect {"path": "none"} fs.read: none: file does not exist`},
		{`fs.read("etc/passwd")`, `denied {"path": "etc/passwd", "reason": "outside"} fs.read: etc/passwd: it leads out of the workspace`},
		{`fs.list(".starling")`, `denied {"path": ".starling", "reason": "store"} fs.list: .starling: it leads into the store, which is not for scripts`},
		{`fs.write(".git/config", "")`,
			`denied {"path": ".git/config", "reason": "repository"} fs.write: .git/config: it belongs to the repository itself, which git alone changes`},
		{`fs.read("huge")`, `effect {"path": "huge"} fs.read: huge: it is too large: it has 1048577 bytes, at most 1048576 are read`},
		{`fs.list()`, `["etc", "huge", "notes/"]`},
		{`fs.glob("**/a.*")`, `["notes/a.txt"]`},
		{`fs.exists("notes")`, `True`},
		{`fs.remove("notes")`, `effect {"path": "notes"} fs.remove: notes: directory not empty`},
		{`fs.remove("notes", recursive = True)`, `None`},
		{`fs.remove("notes", recursive = True)`, `None`},
		{`fs.exists("notes")`, `False`},
	} {
		if got := said(w.perform(t, c.call)); got != c.want {
			t.Errorf("%s\ngot  %s\nwant %s", c.call, got, c.want)
		}
	}
}

// A script of others reads and writes what the project grants to it, and nothing else.
func TestGrantedFiles(t *testing.T) {
	for _, c := range []struct{ project, read, write string }{
		{"", "denied", "denied"},
		{"[grants.news]\nfiles = ['read']", "", "denied"},
		{"[grants.'*']\nfiles = ['write']", "", ""},
		{"[grants.other]\nfiles = ['write']", "denied", "denied"},
	} {
		w := newWorkplace(t)
		w.settings.Grant, w.settings.ProjectFile, w.settings.Project = "news", project.Name, []byte(c.project)
		for call, want := range map[string]string{`fs.exists("a")`: c.read, `fs.write("a", "b")`: c.write} {
			got := ""
			if r := w.perform(t, call); r.Err != nil {
				got = string(r.Err.Kind)
				if !strings.Contains(r.Err.Message, `to files under [grants."news"] in starling.toml`) {
					t.Errorf("%s: %s", call, r.Err.Message)
				}
			}
			if got != want {
				t.Errorf("%q: %s: got %q, want %q", c.project, call, got, want)
			}
		}
	}
}
