package run

import (
	"path/filepath"
	"slices"
	"strings"

	"starling/lang/effect"
	"starling/runtime/journal"
)

// A branch of parallel(isolation = "worktree") works in a tree of its own: a folder that is there
// from when the branch begins until it ends, by requests of the machine that are recorded like any
// other. What the runtime adds is where the trees are, that what is asked for in a branch is done
// there, what the agents that were asked there may change, and that no tree outlives its run.

// trees is the folder of the trees of a run: beside the store, which sandboxes hide, in a folder of
// nothing else. Without a store it is in the workspace.
func (h *Host) trees() string {
	return filepath.Join(h.World.Worktrees(h.Settings), h.Run)
}

// Within are the settings of a run as they hold in the tree of a branch, "" for the workspace.
func (h *Host) Within(tree string) *effect.Settings {
	if tree == "" {
		return h.Settings
	}
	there := *h.Settings
	there.Workspace = filepath.Join(h.trees(), effect.TreeName(tree))
	return &there
}

// own notes what a request in a tree may change. What a child run changes nobody has said.
func (s *State) own(st *Step) {
	if st.Kind == effect.KindWorkspace {
		s.Trees = s.Trees || st.treeWork("do") == effect.TreeFork
	}
	changes := st.Changes
	if st.Kind == journal.KindRun {
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

// releasePaths forgets what was noted of a tree that is closed. Of one in another tree it counts
// for that as well.
func (s *State) releasePaths(st *Step) {
	if st == nil || st.Kind != effect.KindWorkspace || st.Tree != "" || st.treeWork("do") != effect.TreeClose {
		return
	}
	for tree := range s.Owned {
		if inBranch(tree, st.treeWork("branch")) {
			delete(s.Owned, tree)
		}
	}
}

// owned lists what the agents asked in a branch, and in those below it, may change; nil where
// nobody has said.
func (s *State) owned(st *Step) []string {
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
func (st *Step) treeWork(field string) string {
	args, err := st.Args.View()
	if err != nil {
		return ""
	}
	return args.Text(field)
}
