package vm

import (
	"errors"
	"fmt"

	"go.starlark.net/starlark"

	"starling/lang/effect"
)

// treeNative is the bottom of a branch that works in a tree of its own: it opens the tree, calls
// the function, and closes the tree. Its state is the commit that the tree begins with, the
// function, its arguments, and what it has returned. It returns a tuple of that, the commit that
// holds what was made and a tuple of the paths that were changed; only its parallel sees it.
var treeNative = &Native{
	name:    "parallel",
	start:   startTree,
	resume:  resumeTree,
	restore: restoreTree,
}

const (
	treeOpening = 1 + iota
	treeCalling
	treeClosing
)

func startTree(c nativeCall, args starlark.Tuple, _ []starlark.Tuple) error {
	if len(args) != 3 {
		return fmt.Errorf("parallel: a tree of %d values", len(args))
	}
	c.act.state = []starlark.Value{args[0], args[1], args[2], starlark.None}
	return nil
}

func resumeTree(c nativeCall, result starlark.Value) step {
	s := c.act.state
	began, _ := starlark.AsString(s[0])
	c.act.phase++
	switch c.act.phase {
	case treeOpening:
		return c.outside(treeStep(effect.TreeOpen, new(effect.Object).Text("began", began).Text("branch", c.f.branch)))
	case treeCalling:
		args, _ := s[2].(starlark.Tuple)
		return step{fn: s[1], args: args}
	case treeClosing:
		s[3] = result
		return c.outside(treeStep(effect.TreeClose, new(effect.Object).Text("began", began).Text("branch", c.f.branch)))
	}
	commit, paths := closed(result)
	return step{value: starlark.Tuple{s[3], commit, paths}}
}

// outside makes a request one of the branch's surroundings: they have the repository.
func (c nativeCall) outside(s step) step {
	if c.f.parent == nil {
		return step{err: errors.New("parallel: a tree without a branch")}
	}
	s.request.Tree = c.f.parent.tree()
	return s
}

// closed reads what closing a tree gave: the commit and the paths.
func closed(v starlark.Value) (commit starlark.String, paths starlark.Tuple) {
	d, ok := v.(*starlark.Dict)
	if !ok {
		return "", nil
	}
	found, _, _ := d.Get(starlark.String("commit"))
	commit, _ = found.(starlark.String)
	found, _, _ = d.Get(starlark.String("files"))
	if list, ok := found.(*starlark.List); ok {
		for p := range list.Elements() {
			if p, ok := p.(starlark.String); ok {
				paths = append(paths, p)
			}
		}
	}
	return commit, paths
}

// unpacked takes apart what treeNative has returned: the value of the branch, and its change, None
// if it has changed nothing.
func unpacked(v starlark.Value) (value, change starlark.Value) {
	t, ok := v.(starlark.Tuple)
	if !ok || len(t) != 3 {
		return v, starlark.None
	}
	commit, isText := t[1].(starlark.String)
	paths, isTuple := t[2].(starlark.Tuple)
	if !isText || !isTuple || len(paths) == 0 {
		return t[0], starlark.None
	}
	return t[0], starlark.Tuple{commit, paths}
}

func restoreTree(act *activation) error {
	if act.phase < treeOpening || act.phase > treeClosing {
		return fmt.Errorf("a tree in phase %d", act.phase)
	}
	return act.hasShape("string", "callable", "tuple", "")
}

// tree is the address of the innermost branch with a tree of its own that the fiber is, or is
// below; "" for the workspace.
func (f *fiber) tree() string {
	for ; f.parent != nil; f = f.parent {
		if f.parent.frames[len(f.parent.frames)-1].act.isolated() {
			return f.branch
		}
	}
	return ""
}
