package engine

import (
	"errors"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"starling/lang/effect"
	"starling/runtime"
	"starling/runtime/journal"
	"starling/runtime/run"
)

func (e *Local) trees(s *effect.Settings) string {
	if dir := e.folder(); dir != "" {
		return dir + "-trees"
	}
	return filepath.Join(s.Workspace, ".starling-trees")
}

// rooted refuses a cut where a branch is at work in a tree of its own: a tree is of its run, and
// the files that were made there by then are nowhere else.
func rooted(records []journal.Record, c *run.Cut) error {
	var g worktreeSet
	for i := range records {
		if r := &records[i]; r.Seq < c.At {
			g.add(r)
		}
	}
	if do := c.Request.Sub("args").Text("do"); c.Request.Text("kind") == effect.KindWorkspace && slices.Contains([]string{effect.TreeCompare, effect.TreeFold, effect.TreeDrop}, do) {
		g.done(do, c.Request.Sub("args")) // what is left it would only remove
	}
	if len(g.open) == 0 {
		return nil
	}
	at := g.open[0]
	return runtime.Refusef(runtime.ErrClosed, "before %q the branch %s was at work in a worktree of its own, which another run does not have", c.Step, at.branch).
		WithHelp("go on from before its branches: --from %s", at.fork).WithCall("go on from before its branches: from %q", at.fork)
}

// worktreeSet is the worktrees of a run, as its journal tells of them.
type worktreeSet struct {
	asked map[string]effect.View // requests for trees, by their steps
	forks []string               // steps with which branches began
	open  []growth               // the oldest first
}

// growth is an open tree.
type growth struct{ branch, fork string }

func (g *worktreeSet) add(r *journal.Record) {
	switch v := r.View(); {
	case r.Type == journal.StepRequested && v.Text("kind") == effect.KindWorkspace:
		if g.asked == nil {
			g.asked = map[string]effect.View{}
		}
		g.asked[r.Step] = v.Sub("args")
		if v.Sub("args").Text("do") == effect.TreeFork {
			g.forks = append(g.forks, r.Step)
		}
	case r.Type == journal.StepSettled && g.asked != nil:
		if args, ok := g.asked[r.Step]; ok && !v.Has("error") {
			g.done(args.Text("do"), args)
		}
	}
}

// done takes what has been done for trees.
func (g *worktreeSet) done(do string, args effect.View) {
	switch branch, of := args.Text("branch"), args.Text("path"); do {
	case effect.TreeOpen:
		g.open = append(g.open, growth{branch, g.forkOf(branch)})
	case effect.TreeClose:
		g.open = slices.DeleteFunc(g.open, func(at growth) bool { return at.branch == branch })
	case effect.TreeCompare, effect.TreeFold, effect.TreeDrop:
		g.open = slices.DeleteFunc(g.open, func(at growth) bool { return strings.HasPrefix(at.branch, of+"/") })
	}
}

// forkOf is the step with which a branch began: the newest where its call of parallel stands.
func (g *worktreeSet) forkOf(branch string) string {
	at := path.Dir(path.Dir(branch))
	for _, step := range slices.Backward(g.forks) {
		if path.Dir(step) == at {
			return step
		}
	}
	return "workspace." + effect.TreeFork
}

// removeTrees removes the trees of a run that has ended, as soon as nobody is at work there.
func (e *Local) removeTrees(run string, s *effect.Settings) {
	if e.env.Tidy == nil || s == nil && e.folder() == "" || !e.enter() {
		return // the next owner does it; without a store and settings nobody knows where they are
	}
	go func() {
		defer e.exit()
		if err := e.env.Tidy(e.trees(s), func(other string) bool { return other == run }); err != nil {
			e.log("run %s: its worktrees: %v", run, err)
		}
	}()
}

// removeStaleTrees removes the trees of runs that have ended, which the last owner did not come to.
func (e *Local) removeStaleTrees() error {
	if e.env.Tidy == nil || e.folder() == "" {
		return nil
	}
	return e.env.Tidy(e.trees(nil), func(run string) bool {
		row, err := e.summary(run)
		if r := (*runtime.Refusal)(nil); errors.As(err, &r) && r.Kind == runtime.ErrUnknownRun {
			return true // it was pruned
		}
		return err == nil && row.Status.Ended()
	})
}
