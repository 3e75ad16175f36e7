package jail_test

import (
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"starling/stdlib/jail"
)

// A folder that is 300 deep, whose path is longer than the system takes at once, costs neither the
// listing of the rest nor more descriptors than a flat one.
func TestDeepFolders(t *testing.T) {
	workspace := t.TempDir()
	tree, err := jail.Open(workspace, "", jail.Rights{})
	if err != nil {
		t.Fatal(err)
	}
	defer tree.Close()
	name := strings.Repeat("d", 20)
	root, err := os.OpenRoot(workspace)
	for range 300 {
		if err == nil {
			err = root.Mkdir(name, 0o700)
		}
		if err != nil {
			t.Fatal(err)
		}
		below, failed := root.OpenRoot(name)
		root.Close()
		root, err = below, failed
	}
	if err == nil {
		err = root.WriteFile("bottom.txt", nil, 0o600)
	}
	if err != nil {
		t.Fatal(err)
	}
	root.Close()
	for _, file := range []string{"a.txt", "z.txt"} {
		if err := os.WriteFile(filepath.Join(workspace, file), nil, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	var before, limit syscall.Rlimit
	if err := syscall.Getrlimit(syscall.RLIMIT_NOFILE, &before); err != nil {
		t.Fatal(err)
	}
	limit = before
	limit.Cur = 150
	if err := syscall.Setrlimit(syscall.RLIMIT_NOFILE, &limit); err != nil {
		t.Fatal(err)
	}
	defer syscall.Setrlimit(syscall.RLIMIT_NOFILE, &before)
	found, err := tree.Glob("**/*.txt")
	if err != nil || len(found) != 3 || found[0] != "a.txt" || found[2] != "z.txt" {
		t.Fatalf("%d paths, %v", len(found), err)
	}
	if want := strings.Repeat(name+"/", 300) + "bottom.txt"; found[1] != want {
		t.Errorf("found %q", found[1])
	}
}
