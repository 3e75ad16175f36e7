package effect

import (
	"crypto/sha256"
	"encoding/hex"
	"strings"
)

// KindWorkspace is the kind of the requests that keep, compare and change the workspace as a whole.
// Those of parallel(isolation = "worktree") are of it as well: only the machine makes them, and
// their field "do" is one of the words below.
const (
	KindWorkspace = "workspace"

	TreeFork    = "fork"    // keep the files as they are, for branches to begin with; gives the commit
	TreeOpen    = "open"    // make the tree of a branch
	TreeClose   = "close"   // keep what a branch made, and remove its tree; gives the commit and the paths that it changed
	TreeCompare = "compare" // tell how branches that changed the same paths differ, and remove the trees that are left
	TreeFold    = "fold"    // put what branches made together, and remove the trees that are left; gives the commit
	TreeApply   = "apply"   // make the changes in the workspace
	TreeDrop    = "drop"    // remove the trees that are left
)

// IsolationWorktree is the isolation of branches that have a git worktree each.
const IsolationWorktree = "worktree"

// maxTreeName bounds the name of a tree, which is one part of a path.
const maxTreeName = 120

// TreeName is the name of what belongs to a branch or a step: of its folder, and of its reference
// in the repository. Names of what is below a branch begin with its own and a plus, unless they are
// too long.
func TreeName(address string) string {
	name := strings.NewReplacer("/", "+", "#", "=").Replace(address)
	if len(name) <= maxTreeName && !strings.Contains(name, "..") && !strings.HasSuffix(name, ".") && !strings.HasSuffix(name, ".lock") {
		return name
	}
	sum := sha256.Sum256([]byte(address))
	return strings.ReplaceAll(name[:min(len(name), maxTreeName)], ".", "_") + "-" + hex.EncodeToString(sum[:8])
}
