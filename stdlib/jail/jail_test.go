package jail_test

import (
	"crypto/sha256"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"starling/stdlib/jail"
)

// scene is a workspace with a store in it, a secret outside of it, and links to everywhere.
func scene(t *testing.T) (workspace string, tree *jail.Tree) {
	t.Helper()
	top := t.TempDir()
	workspace = filepath.Join(top, "work")
	for path, content := range map[string]string{
		"secret": "outside", "work/a.txt": "a", "work/src/b.go": "b", "work/src/deep/c.go": "c", "work/.starling/format": "store",
		"work/.starling/badger/log": "log", "work/.git/config": "git", "work/big": strings.Repeat("x", 100),
	} {
		path = filepath.Join(top, path)
		if err := errors.Join(os.MkdirAll(filepath.Dir(path), 0o755), os.WriteFile(path, []byte(content), 0o644)); err != nil {
			t.Fatal(err)
		}
	}
	for name, target := range map[string]string{
		"out": "..", "up": "../secret", "abs": "/etc", "hidden": ".starling", "log": "src/../.starling/badger/log", "loop": "loop", "in": "src/deep",
		"alias": "a.txt", "dead": "nowhere", "hooks": ".git",
	} {
		if err := os.Symlink(target, filepath.Join(workspace, name)); err != nil {
			t.Fatal(err)
		}
	}
	if err := syscall.Mkfifo(filepath.Join(workspace, "pipe"), 0o600); err != nil {
		t.Fatal(err)
	}
	tree, err := jail.Open(workspace, filepath.Join(workspace, ".starling"), jail.Rights{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { tree.Close() })
	return workspace, tree
}

func TestRead(t *testing.T) {
	_, tree := scene(t)
	for path, want := range map[string]string{
		"a.txt": "a", "./src//b.go": "b", "src/../a.txt": "a", "in/c.go": "c", "in/../b.go": "b", "alias": "a", ".git/config": "git",
		"/etc/passwd":   "/etc/passwd: it leads out of the workspace: paths are relative to it",
		"../secret":     "../secret: it leads out of the workspace",
		"out/secret":    "out/secret: it leads out of the workspace",
		"up":            "up: it leads out of the workspace",
		"abs/passwd":    "abs/passwd: it leads out of the workspace",
		"in/../../../x": "in/../../../x: it leads out of the workspace",
		"loop":          "loop: too many levels of symbolic links",
		"dead":          "dead: file does not exist",
		"no/such":       "no/such: no such file or directory",
		"a.txt/x":       "a.txt/x: not a directory",
		"src":           "src: it is of another kind: it is a folder, wanted a file",
		"pipe":          "pipe: it is of another kind: it is a device, pipe or socket, wanted a file",
		"big":           "big: it is too large: it has 100 bytes, at most 50 are read",
		"":              "got an empty path",
		"a\x00b":        "a path holds no NUL byte",

		".starling/format": ".starling/format: it leads into the store, which is not for scripts",
		"hidden/format":    "hidden/format: it leads into the store, which is not for scripts",
		"log":              "log: it leads into the store, which is not for scripts",
	} {
		content, err := tree.Read(path, 50)
		got := string(content)
		if err != nil {
			got = err.Error()
		}
		if got != want {
			t.Errorf("%q\ngot  %s\nwant %s", path, got, want)
		}
	}
}

// Whatever is refused has changed nothing, in the workspace and beside it.
func TestRefusedChanges(t *testing.T) {
	workspace, tree := scene(t)
	before := snapshot(t, filepath.Dir(workspace))
	for path, want := range map[string]error{
		"../x": jail.ErrOutside, "out/x": jail.ErrOutside, "up": jail.ErrOutside, ".starling/format": jail.ErrStore, "hidden/x": jail.ErrStore,
		"log": jail.ErrStore, ".git/hooks/post-commit": jail.ErrRepository, ".GIT/config": jail.ErrRepository, "hooks/config": jail.ErrRepository,
		"src": jail.ErrKind, "pipe": jail.ErrKind, "hidden": jail.ErrStore,
	} {
		if err := tree.Write(path, []byte("!"), "k"); !errors.Is(err, want) {
			t.Errorf("write %s: got %v, want %v", path, err, want)
		}
	}
	for path, want := range map[string]error{
		"../work": jail.ErrOutside, "out/secret": jail.ErrOutside, ".starling": jail.ErrStore, "hidden/format": jail.ErrStore, ".git": jail.ErrRepository,
		".git/config": jail.ErrRepository,
	} {
		if err := tree.Remove(path, true); !errors.Is(err, want) {
			t.Errorf("remove %s: got %v, want %v", path, err, want)
		}
	}
	for _, path := range []string{".", "src/..", "src"} {
		if err := tree.Remove(path, path == "."); err == nil {
			t.Errorf("remove %s: done", path)
		}
	}
	if after := snapshot(t, filepath.Dir(workspace)); after != before {
		t.Errorf("before\n%s\nafter\n%s", before, after)
	}
}

// A store may lie below a folder that is to be removed, or anywhere else.
// What may be reached is what could be read or changed, and what is not there yet.
func TestReach(t *testing.T) {
	_, tree := scene(t)
	const outside, repository, store = "it leads out of the workspace", "it belongs to the repository itself, which git alone changes", "it leads into the store, which is not for scripts"
	for path, want := range map[string]struct{ read, change string }{
		"a.txt": {}, "src": {}, "in/c.go": {}, "alias": {}, "dead": {}, "new/deep/file": {}, "in/new/file": {}, "in/../b.go": {},
		"up": {outside, outside}, "out/new": {outside, outside}, "abs/passwd": {outside, outside}, "in/../../../secret": {outside, outside}, "out/../a.txt": {outside, outside},
		"new/../a.txt": {"no such file or directory", "no such file or directory"}, "a.txt/x": {"not a directory", "not a directory"}, "loop": {"too many levels of symbolic links", "too many levels of symbolic links"},
		".git/config": {"", repository}, "hooks/config": {"", repository}, ".git/new/file": {"", repository}, "hidden/x": {store, store}, "log": {store, store},
		".": {"", "a folder that is worked in is not removed"},
	} {
		for change, want := range map[bool]string{false: want.read, true: want.change} {
			got := ""
			if err := tree.Reach(path, change); err != nil {
				got = strings.TrimPrefix(err.Error(), path+": ")
			}
			if got != want {
				t.Errorf("%q, change %v: got %q, want %q", path, change, got, want)
			}
		}
	}
	if err := tree.Reach("/a.txt", false); !errors.Is(err, jail.ErrOutside) {
		t.Errorf("an absolute path: got %v", err)
	}
}

func TestRemoveAroundTheStore(t *testing.T) {
	workspace, _ := scene(t)
	tree, err := jail.Open(workspace, filepath.Join(workspace, "src", "deep"), jail.Rights{})
	if err != nil {
		t.Fatal(err)
	}
	defer tree.Close()
	if err := tree.Remove("src", true); !errors.Is(err, jail.ErrStore) {
		t.Errorf("got %v", err)
	}
	if _, err := tree.Read("in/c.go", 50); !errors.Is(err, jail.ErrStore) {
		t.Errorf("got %v", err)
	}
	if err := tree.Remove(".starling", true); !errors.Is(err, jail.ErrStore) {
		t.Errorf("what is called as stores are: got %v", err)
	}
}

func TestWriteAndRemove(t *testing.T) {
	workspace, tree := scene(t)
	script := filepath.Join(workspace, "run.sh")
	if err := os.WriteFile(script, nil, 0o700); err != nil {
		t.Fatal(err)
	}
	for _, path := range []string{"new/folder/x", "alias", "run.sh", "in/d.go", "dead"} {
		if err := tree.Write(path, []byte("new "+path), "k"); err != nil {
			t.Error(err)
		}
		if content, err := tree.Read(path, 50); string(content) != "new "+path {
			t.Errorf("%s: got %q, %v", path, content, err)
		}
	}
	if info, err := os.Stat(script); err != nil || info.Mode() != 0o700 {
		t.Errorf("got %v, %v, want the permissions that it had", info.Mode(), err)
	}
	if target, _ := os.Readlink(filepath.Join(workspace, "alias")); target != "a.txt" {
		t.Errorf("the link leads to %q", target)
	}
	for _, path := range []string{"new", "new", "alias", "no/such/thing", "src/b.go"} {
		if err := tree.Remove(path, path == "new"); err != nil {
			t.Error(err)
		}
		if there, err := tree.Exists(path); there || err != nil {
			t.Errorf("%s: %v, %v", path, there, err)
		}
	}
	if there, _ := tree.Exists("a.txt"); !there {
		t.Error("what the link led to is gone")
	}
	if got := snapshot(t, workspace); strings.Contains(got, ".starling-") {
		t.Errorf("left behind:\n%s", got)
	}
}

// Writing what is there already touches nothing: the repetition of an attempt is not seen by
// anybody.
func TestWriteAgainIsNoChange(t *testing.T) {
	workspace, tree := scene(t)
	was, err := os.Stat(filepath.Join(workspace, "a.txt"))
	if err != nil {
		t.Fatal(err)
	}
	if err := tree.Write("a.txt", []byte("a"), "k"); err != nil {
		t.Fatal(err)
	}
	if is, _ := os.Stat(filepath.Join(workspace, "a.txt")); !os.SameFile(was, is) || is.ModTime() != was.ModTime() {
		t.Error("the file was replaced")
	}
}

// Whoever has seen a file replaces that file and no other; what has the new content already was
// replaced.
func TestReplace(t *testing.T) {
	workspace, tree := scene(t)
	sum := func(text string) string { return fmt.Sprintf("%x", sha256.Sum256([]byte(text))) }
	for _, step := range []struct {
		content, was string
		want         error
		is           string
	}{
		{"b", sum("other"), jail.ErrChanged, "a"}, {"b", "", jail.ErrChanged, "a"}, {"b", sum("a"), nil, "b"}, {"b", sum("a"), nil, "b"}, {"c", sum("a"), jail.ErrChanged, "b"},
	} {
		if err := tree.Replace("a.txt", []byte(step.content), "k", step.was); !errors.Is(err, step.want) {
			t.Errorf("%q for %q: %v", step.content, step.was, err)
		}
		if is, _ := os.ReadFile(filepath.Join(workspace, "a.txt")); string(is) != step.is {
			t.Errorf("%q for %q: it is %q", step.content, step.was, is)
		}
	}
	if err := tree.Replace("new.txt", []byte("n"), "k", sum("n")); !errors.Is(err, jail.ErrChanged) {
		t.Errorf("a file that is gone: %v", err)
	}
	if err := tree.Replace("new.txt", []byte("n"), "k", ""); err != nil {
		t.Error(err)
	}
}

func TestListAndGlob(t *testing.T) {
	_, tree := scene(t)
	for _, c := range []struct{ call, arg, want string }{
		{"list", "src", "[b.go deep/]"},
		{"list", "in", "[c.go]"},
		{"list", ".", "[.git/ a.txt abs alias big dead hidden hooks in log loop out pipe src/ up]"},
		{"list", "a.txt", "a.txt: it is of another kind: it is a file, wanted a folder"},
		{"list", "none", "none: file does not exist"},
		{"list", "hidden", "hidden: it leads into the store, which is not for scripts"},
		{"glob", "**/*.go", "[src/b.go src/deep/c.go]"},
		{"glob", "src/**", "[src/b.go src/deep/ src/deep/c.go]"},
		{"glob", "s*/?.go", "[src/b.go]"},
		{"glob", "*.txt", "[a.txt]"},
		{"glob", "**/format", "[]"},
		{"glob", "**/config", "[]"},
		{"glob", "out/*", "[]"},
		{"glob", "../*", "../*: it leads out of the workspace"},
		{"glob", "[", `[: "[" is no pattern: *, ? and [a-z] stand for characters, ** for folders`},
	} {
		names, err := map[string]func(string) ([]string, error){"list": tree.List, "glob": tree.Glob}[c.call](c.arg)
		got := fmt.Sprint(names)
		if err != nil {
			got = err.Error()
		}
		if got != c.want {
			t.Errorf("%s %s\ngot  %s\nwant %s", c.call, c.arg, got, c.want)
		}
	}
}

// While somebody swaps a folder and a link to the outside, nothing from outside is ever read, and
// nothing written there.
func TestSwappedLinks(t *testing.T) {
	workspace, tree := scene(t)
	spot, away := filepath.Join(workspace, "spot"), filepath.Join(workspace, "away")
	outside := filepath.Join(filepath.Dir(workspace), "outside")
	for _, dir := range []string{spot, outside} {
		if err := errors.Join(os.Mkdir(dir, 0o755), os.WriteFile(filepath.Join(dir, "f"), []byte(filepath.Base(dir)), 0o644)); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.Symlink("../outside", away); err != nil {
		t.Fatal(err)
	}
	done, over := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(over)
		for between := filepath.Join(workspace, "between"); ; {
			os.Rename(spot, between)
			os.Rename(away, spot)
			os.Rename(between, away)
			select {
			case <-done:
				return
			default:
			}
		}
	}()
	for i := range 2000 {
		if content, err := tree.Read("spot/f", 50); err == nil && string(content) == "outside" {
			t.Error("read from outside")
		}
		if i%20 == 0 {
			tree.Write("spot/f", fmt.Append(nil, "spot", i), "k") // may be refused
		}
	}
	close(done)
	<-over
	if content, _ := os.ReadFile(filepath.Join(outside, "f")); string(content) != "outside" {
		t.Errorf("outside holds %q", content)
	}
}

// snapshot is every path below a folder with what it is and holds.
func snapshot(t *testing.T, dir string) string {
	t.Helper()
	var s strings.Builder
	err := filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		content := []byte{}
		if d.Type().IsRegular() {
			content, err = os.ReadFile(path)
		}
		fmt.Fprintf(&s, "%s %v %s\n", path, d.Type(), content)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return s.String()
}
