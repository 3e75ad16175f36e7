package wholefile

import (
	"errors"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"golang.org/x/sys/unix"
)

func text(s string) func(io.Writer) error {
	return func(w io.Writer) error {
		_, err := io.WriteString(w, s)
		return err
	}
}

// names lists a folder.
func names(t *testing.T, dir string) (all []string) {
	entries, err := os.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range entries {
		all = append(all, e.Name())
	}
	return all
}

func wantFiles(t *testing.T, dir string, want ...string) {
	t.Helper()
	if got := names(t, dir); !slices.Equal(got, want) {
		t.Errorf("the folder holds %q, want %q", got, want)
	}
}

func TestCreateAndReplace(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, "a")
	if err := Create(path, text("one")); err != nil {
		t.Fatal(err)
	}
	if err := Create(path, text("two")); !errors.Is(err, fs.ErrExist) {
		t.Errorf("a second time: %v", err)
	}
	if err := Replace(path, text("three")); err != nil {
		t.Fatal(err)
	}
	if got, _ := os.ReadFile(path); string(got) != "three" {
		t.Errorf("it holds %q", got)
	}
	wantFiles(t, dir, "a")
}

// What cannot be completed leaves nothing, and what was there stays.
func TestFailureLeavesNothing(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, "a")
	broken := func(w io.Writer) error {
		return errors.Join(text("half")(w), unix.ENOSPC)
	}
	if err := Create(path, broken); !errors.Is(err, unix.ENOSPC) {
		t.Errorf("got %v", err)
	}
	wantFiles(t, dir)
	if err := Replace(path, text("whole")); err != nil {
		t.Fatal(err)
	}
	if err := Replace(path, broken); !errors.Is(err, unix.ENOSPC) {
		t.Errorf("got %v", err)
	}
	if got, _ := os.ReadFile(path); string(got) != "whole" {
		t.Errorf("it holds %q", got)
	}
	wantFiles(t, dir, "a")
}

// Put writes to what a path leads to: a link stays one, and so does a pipe.
func TestPutLeavesWhatIsNoFile(t *testing.T) {
	dir := t.TempDir()
	real, link, pipe := filepath.Join(dir, "a"), filepath.Join(dir, "link"), filepath.Join(dir, "pipe")
	if err := errors.Join(Put(real, text("one")), os.Symlink("a", link), Put(link, text("two")), unix.Mkfifo(pipe, 0o600)); err != nil {
		t.Fatal(err)
	}
	if to, err := os.Readlink(link); to != "a" {
		t.Errorf("the link leads to %q, %v", to, err)
	}
	if got, _ := os.ReadFile(real); string(got) != "two" {
		t.Errorf("it holds %q", got)
	}
	reader, err := os.OpenFile(pipe, os.O_RDWR, 0) // both ends, so that neither waits for the other
	if err != nil {
		t.Fatal(err)
	}
	defer reader.Close()
	if err := Put(pipe, text("three")); err != nil {
		t.Fatal(err)
	}
	got := make([]byte, 5)
	if _, err := io.ReadFull(reader, got); string(got) != "three" {
		t.Errorf("the pipe gave %q, %v", got, err)
	}
	if err := Put(dir, text("four")); !errors.Is(err, unix.EISDIR) {
		t.Errorf("a folder: %v", err)
	}
	wantFiles(t, dir, "a", "link", "pipe")
}

// What a killed writer has left is removed by the next one; what somebody is writing, and what only
// looks like it, is not.
func TestNextWriterCleans(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, "a")
	for _, name := range []string{"a.part-1", "a.part-2", "a.part-x", "b.part-3"} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte("half"), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	busy, err := os.Open(filepath.Join(dir, "a.part-2"))
	if err == nil {
		defer busy.Close()
		err = unix.Flock(int(busy.Fd()), unix.LOCK_EX)
	}
	if err == nil {
		err = Create(path, text("whole"))
	}
	if err != nil {
		t.Fatal(err)
	}
	wantFiles(t, dir, "a", "a.part-2", "a.part-x", "b.part-3")
}
