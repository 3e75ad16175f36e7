package pdf_test

import (
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"testing"

	"starling/stdlib/pdf"
)

// Folders are those of the user and of the system that are there, each once.
func TestFolders(t *testing.T) {
	if runtime.GOOS == "darwin" {
		t.Skip("the folders of macOS are no variables'")
	}
	dir := t.TempDir()
	for _, name := range []string{"home/.fonts", "home/.local/share/fonts", "one/fonts", "two/fonts"} {
		if err := os.MkdirAll(filepath.Join(dir, name), 0o700); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.WriteFile(filepath.Join(dir, "fonts"), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	at := func(name string) string { return filepath.Join(dir, name) }
	t.Setenv("HOME", at("home"))
	t.Setenv("XDG_DATA_HOME", "")
	t.Setenv("XDG_DATA_DIRS", at("one")+":"+at("two")+":"+at("one")+":"+dir+"::"+at("none")+":relative")
	var got []string
	for _, f := range pdf.Folders() {
		if rel, err := filepath.Rel(dir, f); err == nil && filepath.IsLocal(rel) {
			got = append(got, rel)
		}
	}
	if want := []string{"home/.local/share/fonts", "one/fonts", "two/fonts", "home/.fonts"}; !slices.Equal(got, want) {
		t.Errorf("got %q, want %q", got, want)
	}
}
