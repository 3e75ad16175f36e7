package cli

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"testing"
)

// A run whose journal takes several commits is forked and imported by real processes that are
// killed before and after each of them. What is left is the whole run or nothing, and the same
// command typed again ends with one.
func TestSIGKILLWhileAdopting(t *testing.T) {
	p := &telling{t: t, dir: t.TempDir(), end: &ending{}}
	p.write("large.star", `
def main():
    for i in range(5):
        print(str(i) * 300000)
    gate("last", options = ["on"])
`)
	var run struct{ ID string }
	if err := json.Unmarshal(p.do(killer{}, "run", "large.star", "--json"), &run); err != nil {
		t.Fatal(err)
	}
	p.do(killer{}, "export", run.ID, "-o", "large.export")
	for name, c := range map[string]struct {
		args   []string
		before int // runs that the store has
	}{
		"rerun":  {[]string{"rerun", run.ID, "--from", "last", "--key", "k", "--json"}, 1},
		"import": {[]string{"import", "large.export", "--json"}, 0},
	} {
		for _, moment := range []string{"before", "after"} {
			t.Run(name+" "+moment, func(t *testing.T) { p.adopts(t, c.args, moment, c.before) })
		}
	}
}

// adopts kills a command at its first, second, ... commit, until it has no more.
func (p *telling) adopts(t *testing.T, args []string, moment string, before int) {
	p.t = t
	for n := 1; ; n++ {
		store := fmt.Sprintf("%s-%s-%d", args[0], moment, n)
		if before > 0 {
			if err := os.CopyFS(filepath.Join(p.dir, store), os.DirFS(filepath.Join(p.dir, ".starling"))); err != nil {
				t.Fatal(err)
			}
		}
		command := append([]string{"--store", store}, args...)
		_, state := p.exec(killer{crash: fmt.Sprintf("%s %d", moment, n)}, command...)
		if left := len(p.runs(store)); left != before && left != before+1 {
			t.Errorf("killed %s commit %d: %d runs are left, want %d or one more", moment, n, left, before)
		}
		p.do(killer{}, command...)
		found := p.runs(store)
		if len(found) != before+1 {
			t.Errorf("killed %s commit %d and typed again: %d runs, want %d", moment, n, len(found), before+1)
		}
		for _, id := range found {
			p.do(killer{}, "--store", store, "replay", id, "--verify")
		}
		if !state.killed {
			if n < 4 {
				t.Errorf("%s made %d commits, want several", args[0], n-1)
			}
			return
		}
	}
}

// runs lists the runs of a store.
func (p *telling) runs(store string) []string {
	p.t.Helper()
	var listed struct{ Runs []struct{ ID string } }
	if err := json.Unmarshal(p.do(killer{}, "--store", store, "ps", "-a", "--json"), &listed); err != nil {
		p.t.Fatal(err)
	}
	var ids []string
	for _, r := range listed.Runs {
		ids = append(ids, r.ID)
	}
	return ids
}
