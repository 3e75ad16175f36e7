package query

import (
	"strings"

	"starling/runtime"
	"starling/runtime/journal"
)

// Branch is a node of the tree that the addresses of a run's steps make: the steps of one branch,
// and the branches below it.
type Branch struct {
	Name  string // "" of the run's own
	Fans  bool   // a parallel: what is below goes on beside each other
	Nodes []Node // in the order in which they were first seen
	below map[string]*Branch

	Failed *runtime.FailedBranch // nil unless it has ended with an error
}

// Node is a step or a branch; the other is nil.
type Node struct {
	Step   *runtime.Step
	Branch *Branch
}

// Tree puts steps into the tree of their addresses. In those each parallel has a segment, and below
// it each of its branches one. A branch that has failed is there also without a step.
func Tree(page *runtime.StepPage) *Branch {
	root := &Branch{below: map[string]*Branch{}}
	for i := range page.Steps {
		st := &page.Steps[i]
		at := root.at(journal.BranchOf(st.Step))
		at.Nodes = append(at.Nodes, Node{Step: st})
	}
	for i := range page.Failed {
		root.at(page.Failed[i].Branch).Failed = &page.Failed[i]
	}
	return root
}

// at is the branch with an address.
func (b *Branch) at(address string) *Branch {
	if address == "" {
		return b
	}
	for name := range strings.SplitSeq(address, "/") {
		b = branchUnder(b, name)
	}
	return b
}

// Why is why a branch has failed, as long as a drawing has room for; "" if it has not.
func (b *Branch) Why() string {
	if b.Failed == nil {
		return ""
	}
	const most = 60
	why := []rune(b.Failed.Why())
	if len(why) > most {
		why = append(why[:most-1], '…')
	}
	return string(why)
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
