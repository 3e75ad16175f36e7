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
)

// A branch of parallel(isolation = "worktree") works in a tree of its own: a folder that is there from when the branch begins until it ends, by requests of the machine that are recorded like
// any other. What the runtime adds is where the trees are, that what is asked for in a branch is done there, what the agents that were asked there may change, and that no tree outlives its run.

// trees is the folder of the trees of a run: beside the store, which sandboxes hide, in a folder of nothing else. Without a store it is in the workspace.
func (h *host) trees() string {
	return filepath.Join(h.world.Worktrees(h.settings), h.run)
}

func (e *Local) trees(s *effect.Settings) string {
	if dir := e.store.Info().Path; dir != "" {
		return dir + "-trees"
	}
	return filepath.Join(s.Workspace, ".starling-trees")
}

// within are the settings of a run as they hold in the tree of a branch, "" for the workspace.
func (h *host) within(tree string) *effect.Settings {
	if tree == "" {
		return h.settings
	}
	there := *h.settings
	there.Workspace = filepath.Join(h.trees(), effect.TreeName(tree))
	return &there
}

// own notes what a request in a tree may change. What a child run changes nobody has said.
func (s *state) own(st *step) {
	if st.Kind == effect.KindWorkspace {
		s.Trees = s.Trees || st.treeWork("do") == effect.TreeFork
	}
	changes := st.Changes
	if st.Kind == kindRun {
		changes = []string{effect.Everything}
	}
	if st.Tree == "" || st.Refused != nil {
		return
	}
	for _, pattern := range changes {
		if !slices.Contains(s.Owned[st.Tree], pattern) {
			put(&s.Owned, st.Tree, append(s.Owned[st.Tree], pattern))
		}
	}
}

// releasePaths forgets what was noted of a tree that is closed. Of one in another tree it counts for that as well.
func (s *state) releasePaths(st *step) {
	if st == nil || st.Kind != effect.KindWorkspace || st.Tree != "" || st.treeWork("do") != effect.TreeClose {
		return
	}
	for tree := range s.Owned {
		if inBranch(tree, st.treeWork("branch")) {
			delete(s.Owned, tree)
		}
	}
}

// owned lists what the agents asked in a branch, and in those below it, may change; nil where nobody has said.
func (s *state) owned(st *step) []string {
	if len(s.Owned) == 0 {
		return nil
	}
	var patterns []string
	branch := st.treeWork("branch")
	for tree, list := range s.Owned {
		if branch != "" && inBranch(tree, branch) {
			patterns = append(patterns, list...)
		}
	}
	slices.Sort(patterns)
	return slices.Compact(patterns)
}

func inBranch(tree, branch string) bool { return tree == branch || strings.HasPrefix(tree, branch+"/") }

// treeWork reads an argument of a request of the machine for its trees.
func (st *step) treeWork(field string) string {
	args, err := st.Args.View()
	if err != nil {
		return ""
	}
	return args.Text(field)
}

// rooted refuses a cut where a branch is at work in a tree of its own: a tree is of its run, and the files that were made there by then are nowhere else.
func rooted(records []journal.Record, c *cut) error {
	var g worktreeSet
	for i := range records {
		if r := &records[i]; r.Seq < c.at {
			g.add(r)
		}
	}
	if do := c.request.Sub("args").Text("do"); c.request.Text("kind") == effect.KindWorkspace && slices.Contains([]string{effect.TreeCompare, effect.TreeFold, effect.TreeDrop}, do) {
		g.done(do, c.request.Sub("args")) // what is left it would only remove
	}
	if len(g.open) == 0 {
		return nil
	}
	at := g.open[0]
	return runtime.Refusef(runtime.ErrClosed, "before %q the branch %s was at work in a worktree of its own, which another run does not have", c.step, at.branch).
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
		put(&g.asked, r.Step, v.Sub("args"))
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
	if e.env.Tidy == nil || s == nil && e.store.Info().Path == "" || !e.enter() {
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
	if e.env.Tidy == nil || e.store.Info().Path == "" {
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
