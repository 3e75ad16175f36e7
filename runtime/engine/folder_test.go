package engine_test

import (
	"context"
	"path/filepath"
	"slices"
	"testing"

	"starling/lang/effect"
	"starling/runtime"
	"starling/runtime/engine"
	"starling/runtime/memory"
)

// A store that lies elsewhere has a folder on this machine all the same: attempts have their locks
// there, and the worktrees of its runs, which are looked for when it is opened, lie beside it.
func TestAStoreElsewhereHasAFolderHere(t *testing.T) {
	folder := filepath.Join(t.TempDir(), "store")
	var attempts, trees []string
	env := environment(func(_ context.Context, a *effect.Attempt) effect.Reply {
		attempts = append(attempts, a.Store, filepath.Dir(a.Lock()))
		return effect.Reply{}
	})
	env.Tidy = func(folder string, _ func(run string) bool) error {
		trees = append(trees, folder)
		return nil
	}
	w := newWorld(t)
	w.engine.Close()
	e, err := engine.Open(memory.New(), env, engine.Options{Log: t.Logf, Folder: folder})
	if err != nil {
		t.Fatal(err)
	}
	w.engine, w.spoiled = e, true // it is in another store
	w.until(w.start("def main():\n    work(\"w\")\n", `{}`).ID, runtime.Completed)
	if want := []string{folder, folder + "/locks"}; !slices.Equal(attempts, want) {
		t.Errorf("the attempt was told %q, want %q", attempts, want)
	}
	if !slices.Contains(trees, folder+"-trees") {
		t.Errorf("worktrees are looked for in %q, want %s-trees", trees, folder)
	}
}
