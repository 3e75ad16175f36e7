package badger

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"golang.org/x/sys/unix"

	"starling/runtime"
)

func TestDirectory(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "new", "store")
	s, err := Open(dir, Options{})
	must(t, err)
	defer s.Close()
	entries, err := os.ReadDir(dir)
	must(t, err)
	var names []string
	for _, e := range entries {
		names = append(names, e.Name())
	}
	if got, want := strings.Join(names, " "), ".gitignore badger format mark"; got != want {
		t.Errorf("the directory holds %s, wanted %s", got, want)
	}
	st, err := os.Stat(dir)
	must(t, err)
	if st.Mode().Perm() != 0o700 {
		t.Errorf("the directory has mode %v, wanted 0700", st.Mode())
	}
	ignore, err := os.ReadFile(filepath.Join(dir, ".gitignore"))
	if string(ignore) != "*\n" || err != nil {
		t.Errorf("what is ignored: got %q, %v, wanted everything", ignore, err)
	}
	text, err := os.ReadFile(filepath.Join(dir, "format"))
	if want := fmt.Sprintf("starling store\nformat 1\nid %s\n", s.Info().ID); string(text) != want || err != nil {
		t.Errorf("the format file: got %q, %v, wanted %q", text, err, want)
	}
}

// What is refused, in which words, and with nothing changed. DIR stands for the directory.
func TestRefusedDirectories(t *testing.T) {
	const id = "id 00112233445566778899aabbccddeeff\n"
	for _, test := range []struct {
		name  string
		files map[string]string
		want  error
		text  string
	}{
		{"something else", map[string]string{"notes.txt": "mine"}, runtime.ErrNotAStore,
			`DIR: not a store: it holds "notes.txt" but no file "format"; name an empty directory or one that does not exist`},
		{"a format of another program", map[string]string{"format": "PNG and so on\n"}, runtime.ErrNotAStore,
			`DIR/format: not a store: it begins with "PNG and so on", wanted "starling store"`},
		{"a newer format", map[string]string{"format": "starling store\nformat 2\nand what it will say\n"}, runtime.ErrNewer,
			`DIR/format: the store is of a newer format: found format 2, this program reads up to 1; use the program that wrote it, or a later one`},
		{"no format number", map[string]string{"format": "starling store\nformat one\n" + id}, runtime.ErrDamaged,
			`DIR/format: the store is damaged: its second line tells no format number`},
		{"half an id", map[string]string{"format": "starling store\nformat 1\nid 0011\n"}, runtime.ErrDamaged,
			`DIR/format: the store is damaged: it is not as it was written`},
		{"more than was written", map[string]string{"format": "starling store\nformat 1\n" + id + "x"}, runtime.ErrDamaged,
			`DIR/format: the store is damaged: it is not as it was written`},
	} {
		t.Run(test.name, func(t *testing.T) {
			dir := t.TempDir()
			for name, content := range test.files {
				must(t, os.WriteFile(filepath.Join(dir, name), []byte(content), 0o600))
			}
			before := digest(t, dir)
			for _, o := range []Options{{}, {ReadOnly: true}} {
				_, err := Open(dir, o)
				if !errors.Is(err, test.want) || strings.ReplaceAll(err.Error(), dir, "DIR") != test.text {
					t.Errorf("opened with %+v:\ngot    %v\nwanted %s", o, err, test.text)
				}
			}
			if digest(t, dir) != before {
				t.Error("the refused directory was changed")
			}
		})
	}
}

func TestFileInPlaceOfDirectory(t *testing.T) {
	path := filepath.Join(t.TempDir(), "file")
	must(t, os.WriteFile(path, []byte("mine"), 0o600))
	_, err := Open(path, Options{})
	if want := path + ": not a store: it is a file, wanted a directory"; err == nil || err.Error() != want || !errors.Is(err, runtime.ErrNotAStore) {
		t.Errorf("got %v, wanted %s", err, want)
	}
}

func TestReadingMakesNothing(t *testing.T) {
	empty := t.TempDir()
	missing := filepath.Join(empty, "missing")
	for _, dir := range []string{empty, missing} {
		_, err := Open(dir, Options{ReadOnly: true})
		if want := dir + ": there is no store"; err == nil || err.Error() != want || !errors.Is(err, runtime.ErrNoStore) {
			t.Errorf("got %v, wanted %s", err, want)
		}
	}
	if entries, err := os.ReadDir(empty); len(entries) > 0 || err != nil {
		t.Errorf("reading made %v, %v", entries, err)
	}
	must(t, Prepare(empty))
	_, err := Open(empty, Options{ReadOnly: true})
	if want := empty + ": there is no store: one was begun here, but never opened"; err == nil || err.Error() != want {
		t.Errorf("got %v, wanted %s", err, want)
	}
}

// Making a store may be cut off between any two steps; what is there then is gone on with.
func TestUnfinishedStore(t *testing.T) {
	whole := filepath.Join(t.TempDir(), "store")
	s, err := Open(whole, Options{})
	must(t, err)
	must(t, s.Close())
	for what, cut := range map[string]func(dir string){
		"an empty directory":     func(dir string) { must(t, os.RemoveAll(dir)); must(t, os.Mkdir(dir, 0o755)) },
		"before the format":      func(dir string) { rm(t, dir, "format", "mark", "badger"); write(t, dir, "format.123", "starl") },
		"before the mark":        func(dir string) { rm(t, dir, "mark", "badger") },
		"in the mark":            func(dir string) { rm(t, dir, "mark", "badger"); write(t, dir, "mark.new", "half") },
		"before badger":          func(dir string) { rm(t, dir, "badger") },
		"before the manifest":    func(dir string) { rm(t, dir, "badger"); must(t, os.Mkdir(filepath.Join(dir, "badger"), 0o700)) },
		"before the first batch": func(string) {},
	} {
		dir := filepath.Join(t.TempDir(), "store")
		must(t, os.CopyFS(dir, os.DirFS(whole)))
		cut(dir)
		s, err := Open(dir, Options{})
		if err != nil {
			t.Errorf("%s: %v", what, err)
			continue
		}
		if err := s.Commit(t.Context(), batch("key", []byte("value"))); err != nil {
			t.Errorf("%s: %v", what, err)
		}
		must(t, s.Close())
	}
}

func rm(t *testing.T, dir string, names ...string) {
	t.Helper()
	for _, name := range names {
		must(t, os.RemoveAll(filepath.Join(dir, name)))
	}
}

func write(t *testing.T, dir, name, content string) {
	t.Helper()
	must(t, os.WriteFile(filepath.Join(dir, name), []byte(content), 0o600))
}

// Of many that make the same store at once each finds the same one, and one has it.
func TestManyMakeOneStore(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "store")
	stores := make([]*Store, 16)
	errs := make([]error, len(stores))
	var wg sync.WaitGroup
	for i := range stores {
		wg.Go(func() { stores[i], errs[i] = Open(dir, Options{}) })
	}
	wg.Wait()
	open := 0
	for i, err := range errs {
		switch {
		case err == nil:
			open++
			defer stores[i].Close()
		case !errors.Is(err, runtime.ErrLocked):
			t.Errorf("got %v, wanted %v", err, runtime.ErrLocked)
		}
	}
	if open != 1 {
		t.Errorf("%d have it open, wanted 1", open)
	}
}

func TestLocked(t *testing.T) {
	s := filled(t)
	for _, o := range []Options{{}, {ReadOnly: true}} {
		_, err := Open(s.dir, o)
		if want := s.dir + ": the store is in use by another process"; err == nil || err.Error() != want || !errors.Is(err, runtime.ErrLocked) {
			t.Errorf("opened with %+v: got %v, wanted %s", o, err, want)
		}
	}
}

// Somebody may have Badger's directory open without the store's lock.
func TestLockedByBadger(t *testing.T) {
	dir := closed(t)
	f, err := os.Open(filepath.Join(dir, badgerName))
	must(t, err)
	defer f.Close()
	must(t, unix.Flock(int(f.Fd()), unix.LOCK_EX))
	for _, o := range []Options{{}, {ReadOnly: true}} {
		if _, err := Open(dir, o); !errors.Is(err, runtime.ErrLocked) {
			t.Errorf("opened with %+v: got %v, wanted %v", o, err, runtime.ErrLocked)
		}
	}
}

// anywhere is a disk that tests choose.
type anywhere struct {
	name  string
	space func() uint64
}

func (a anywhere) network(string) (string, error) { return a.name, nil }
func (a anywhere) sync(mem []byte) error          { return localDisk{}.sync(mem) }
func (a anywhere) free(string) (uint64, error)    { return a.space(), nil }

func TestNetworkFileSystem(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "store")
	want := dir + ": not a store: it lies on NFS, a network file system, wanted a local disk; try --store with a local directory"
	for _, o := range []Options{{}, {ReadOnly: true}} {
		_, err := open(dir, o, anywhere{name: "NFS"})
		if err == nil || err.Error() != want || !errors.Is(err, runtime.ErrNotAStore) {
			t.Errorf("opened with %+v:\ngot    %v\nwanted %s", o, err, want)
		}
	}
	if _, err := os.Stat(dir); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("the directory was made: %v", err)
	}
}
