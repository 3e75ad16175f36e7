package checked_test

import (
	"fmt"
	"os"
	"path/filepath"
	"testing"

	"starling/cmd/starling/checked"
	"starling/lang"
	"starling/lang/check"
	"starling/lang/contract"
)

func bundle(t *testing.T, files map[string]string) *lang.Bundle {
	t.Helper()
	b, err := lang.Read("main.star", func(name string) ([]byte, error) { return []byte(files[name]), nil }, nil)
	if err != nil {
		t.Fatal(err)
	}
	return b
}

// What was clean is so again, and nothing else is: not another text of what it loads or runs, nor
// another project.
func TestClean(t *testing.T) {
	folder := filepath.Join(t.TempDir(), "not", "there", "yet")
	text, err := contract.Parse("t", "{ok: bool}")
	if err != nil {
		t.Fatal(err)
	}
	main := "load(\"lib.star\", \"f\")\ndef main():\n    run(\"child.star\")\n    return f()\n"
	files := map[string]string{"main.star": main, "lib.star": "def f():\n    return 1\n", "child.star": "def main():\n    return 1\n"}
	with := func(name, text string) *lang.Bundle {
		other := map[string]string{name: text}
		for n, text := range files {
			if n != name {
				other[n] = text
			}
		}
		return bundle(t, other)
	}
	known := check.Project{Agents: []check.Agent{{Name: "judge", Contracts: check.Contracts{Output: text}}}, Tools: []string{"files"}}
	first := checked.Of(folder, "run", bundle(t, files), known)
	if first.Clean() {
		t.Fatal("clean before it was checked")
	}
	first.Keep()
	if !checked.Of(folder, "run", bundle(t, files), known).Clean() {
		t.Error("not clean after it was checked")
	}
	others := map[string]checked.Program{
		"script":   checked.Of(folder, "run", with("main.star", main+"\n"), known),
		"library":  checked.Of(folder, "run", with("lib.star", "def f():\n    return 2\n"), known),
		"child":    checked.Of(folder, "run", with("child.star", "def main():\n    return 2\n"), known),
		"name":     checked.Of(folder, "run", bundle(t, files), check.Project{Agents: []check.Agent{{Name: "radar", Contracts: known.Agents[0].Contracts}}, Tools: known.Tools}),
		"tools":    checked.Of(folder, "run", bundle(t, files), check.Project{Agents: known.Agents}),
		"contract": checked.Of(folder, "run", bundle(t, files), check.Project{Agents: []check.Agent{{Name: "judge"}}, Tools: known.Tools}),
		"input":    checked.Of(folder, "run", bundle(t, files), check.Project{Agents: []check.Agent{{Name: "judge", Contracts: check.Contracts{Input: text}}}, Tools: known.Tools}),
		"folder":   checked.Of(t.TempDir(), "run", bundle(t, files), known),
		"use":      checked.Of(folder, "test", bundle(t, files), known),
		"nowhere":  checked.Of("", "run", bundle(t, files), known),
	}
	for what, p := range others {
		if p.Clean() {
			t.Errorf("with another %s it is clean before it was checked", what)
		}
	}
	others["nowhere"].Keep() // keeps nothing
}

// Of a thousand programs at most 512 are left, and the one that is asked for all the time is among
// them.
func TestForgotten(t *testing.T) {
	folder := t.TempDir()
	often := checked.Of(folder, "run", bundle(t, map[string]string{"main.star": "x = 0\n"}), check.Project{})
	often.Keep()
	for i := range 1000 {
		checked.Of(folder, "run", bundle(t, map[string]string{"main.star": fmt.Sprintf("x = %d\n", i+1)}), check.Project{}).Keep()
		if !often.Clean() {
			t.Fatalf("forgotten after %d others", i+1)
		}
	}
	if files, err := os.ReadDir(folder); err != nil || len(files) > 512 || len(files) < 384 {
		t.Errorf("%d files, %v", len(files), err)
	}
}

// Where the folder cannot be made, a program is checked each time.
func TestNowhere(t *testing.T) {
	file := filepath.Join(t.TempDir(), "file")
	if err := os.WriteFile(file, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	p := checked.Of(filepath.Join(file, "checked"), "run", bundle(t, map[string]string{"main.star": ""}), check.Project{})
	p.Keep()
	if p.Clean() {
		t.Error("it is clean below a file")
	}
}

// A home that is not there is not made.
func TestNoHome(t *testing.T) {
	t.Setenv("XDG_CACHE_HOME", filepath.Join(t.TempDir(), "home", "cache"))
	if folder := checked.Folder(); folder != "" {
		t.Errorf("it is %s", folder)
	}
	t.Setenv("XDG_CACHE_HOME", filepath.Join(t.TempDir(), "cache"))
	if checked.Folder() == "" {
		t.Error("there is none in a home")
	}
}
