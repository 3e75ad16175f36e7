package lsp_test

import (
	"encoding/json"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"go.starlark.net/syntax"

	"starling/lang"
	"starling/lang/check"
	"starling/lang/vm"
	"starling/stdlib"
)

// The editor is told what check says, of scripts with and without mistakes; and each name in them
// can be asked about.
func TestEditorSaysWhatCheckSays(t *testing.T) {
	files := map[string]string{}
	for _, pattern := range []string{"../../../scripts/*.star", "../../../testdata/check/*.star"} {
		found, err := filepath.Glob(pattern)
		if err != nil || len(found) == 0 {
			t.Fatalf("%s: %d files: %v", pattern, len(found), err)
		}
		for _, path := range found {
			text, err := os.ReadFile(path)
			if err != nil {
				t.Fatal(err)
			}
			chunks := strings.Split("\n"+string(text), "\n---\n")
			files[filepath.Base(filepath.Dir(path))+"_"+filepath.Base(path)] = chunks[len(chunks)/2]
		}
	}
	c := start(t, files)
	env := stdlib.Environment(stdlib.Options{Natives: vm.Natives()})
	told := 0
	for name, text := range files {
		var got, want []string
		for _, d := range c.open(name) {
			got = append(got, d.Code)
		}
		bundle, err := lang.Read(name, func(name string) ([]byte, error) { return os.ReadFile(filepath.Join(c.dir, name)) }, stdlib.Library)
		if err != nil {
			continue // what cannot be read has no study
		}
		for _, d := range lang.Check(bundle, env, check.Project{}) {
			if d.File == name {
				want = append(want, d.Kind)
			}
		}
		told += len(want)
		slices.Sort(got)
		slices.Sort(want)
		if !slices.Equal(got, want) {
			t.Errorf("%s: the editor is told of %q, check says %q", name, got, want)
		}
		askEach(t, c, name, text)
	}
	if told < 20 {
		t.Errorf("there were %d mistakes, which cannot be all", told)
	}
}

// askEach asks for what each name of a file is: an answer comes, and it is of the name.
func askEach(t *testing.T, c *client, name, text string) {
	t.Helper()
	tree, err := lang.Parse(name, []byte(text))
	if err != nil {
		return
	}
	syntax.Walk(tree, func(n syntax.Node) bool {
		id, ok := n.(*syntax.Ident)
		if !ok {
			return true
		}
		at := place{int(id.NamePos.Line) - 1, int(id.NamePos.Col) - 1}
		p := map[string]any{"textDocument": map[string]any{"uri": c.uri(name)}, "position": at}
		var hover struct{ Range area }
		json.Unmarshal(c.ask("textDocument/hover", p), &hover)
		if hover.Range != (area{}) && hover.Range.Start != at {
			t.Errorf("%s:%d: hover over %s is of %v", name, id.NamePos.Line, id.Name, hover.Range)
		}
		c.ask("textDocument/definition", p)
		return true
	})
}
