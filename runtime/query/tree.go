package query

import (
	"strings"

	"starling/runtime"
)

// Branch is a node of the tree that the addresses of a run's steps make: the steps of one branch,
// and the branches below it.
type Branch struct {
	Name  string // "" of the run's own
	Fans  bool   // a parallel: what is below goes on beside each other
	Nodes []Node // in the order in which they were first seen
	below map[string]*Branch
}

// Node is a step or a branch; the other is nil.
type Node struct {
	Step   *runtime.Step
	Branch *Branch
}

// Tree puts steps into the tree of their addresses. In those each parallel has a segment, and below
// it each of its branches one.
func Tree(steps []runtime.Step) *Branch {
	root := &Branch{below: map[string]*Branch{}}
	for i := range steps {
		at := root
		segments := strings.Split(steps[i].Step, "/")
		for _, name := range segments[:len(segments)-1] {
			at = branchUnder(at, name)
		}
		at.Nodes = append(at.Nodes, Node{Step: &steps[i]})
	}
	return root
}

func branchUnder(b *Branch, name string) *Branch {
	next := b.below[name]
	if next == nil {
		next = &Branch{Name: name, Fans: !b.Fans, below: map[string]*Branch{}}
		b.below[name] = next
		b.Nodes = append(b.Nodes, Node{Branch: next})
	}
	return next
}
