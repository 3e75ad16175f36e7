// Package graph draws what a script may do and what a run has done: as a tree for a terminal, as
// Mermaid, as DOT, and as an SVG picture.
//
// Both are a tree of nodes. What stands below a node follows one another, or goes on side by side
// where it fans. A script is read and never run ([OfScript]): a function of its own is drawn where
// it is called, a loop and a choice are boxes. A run has states and times ([OfRun]).
package graph

import (
	"strings"
	"time"

	"starling/runtime"
	"starling/runtime/query"
)

// A Graph is a script or a run.
type Graph struct {
	Title string  `json:"title"`
	State string  `json:"state,omitempty"` // of a run
	Nodes []*Node `json:"nodes"`
}

// A Node is a step, or a box around others.
type Node struct {
	Kind  string  `json:"kind"` // of a step as the journal has it; parallel, branch, loop, choice, call are boxes
	Name  string  `json:"name"`
	Note  string  `json:"note,omitempty"`  // who is asked, or what for; why a branch has failed
	Where string  `json:"where,omitempty"` // the line of a script's step, FILE:LINE
	State string  `json:"state,omitempty"` // of a step of a run: ok, running, exit 1, …; of a branch that has failed: error
	Took  string  `json:"took,omitempty"`
	Fans  bool    `json:"fans,omitempty"` // what is below goes on side by side
	Nodes []*Node `json:"nodes,omitempty"`
}

// box tells whether a node is drawn around others.
func (n *Node) box() bool { return len(n.Nodes) > 0 }

// words are the lines of a node.
func (n *Node) words() []string {
	lines := []string{n.Name}
	stands := strings.Trim(n.State+", "+n.Took, ", ")
	if n.Kind == "branch" {
		stands = "" // the note says why it has failed
	}
	for _, more := range []string{n.Note, stands} {
		if more != "" {
			lines = append(lines, more)
		}
	}
	return lines
}

// OfRun is the graph of a page of a run's steps.
func OfRun(r *runtime.Run, page *runtime.StepPage) *Graph {
	return &Graph{Title: r.ID + " " + r.Script, State: string(r.Status), Nodes: ofBranch(query.Tree(page))}
}

func ofBranch(b *query.Branch) (nodes []*Node) {
	for _, n := range b.Nodes {
		if n.Branch != nil {
			kind := "branch"
			if n.Branch.Fans {
				kind = "parallel"
			}
			box := &Node{Kind: kind, Name: query.Name(n.Branch.Name), Note: n.Branch.Why(), Fans: n.Branch.Fans, Nodes: ofBranch(n.Branch)}
			if box.Note != "" {
				box.State = "error"
			}
			nodes = append(nodes, box)
			continue
		}
		nodes = append(nodes, ofStep(n.Step))
	}
	return nodes
}

func ofStep(s *runtime.Step) *Node {
	name := query.Name(s.Step[strings.LastIndexByte(s.Step, '/')+1:])
	n := &Node{Kind: s.Kind, Name: name, State: s.Stands()}
	if bare, _, _ := strings.Cut(name, "#"); s.Agent != "" && s.Agent != bare {
		n.Note = s.Agent
	}
	if s.EndedAt != nil && s.Status != "withdrawn" {
		n.Took = s.EndedAt.Sub(s.StartedAt).Round(time.Millisecond).String()
	}
	return n
}

// class is what a state means: done, open, busy, bad, gone, or "" where there is none.
func class(state string) string {
	if state == "" {
		return ""
	}
	return query.Colour(state)
}
