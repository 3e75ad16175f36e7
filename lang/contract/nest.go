package contract

import (
	"fmt"
	"slices"

	"go.starlark.net/starlark"
)

// A nest is the way from a value down to the container that is being looked into. It is how cycles
// are found and depth is bounded, both when checking and when writing JSON.
type nest struct {
	lists []*starlark.List
	dicts []*starlark.Dict
	depth int // of all containers, those without identity included
}

// enter goes down into v, unless v is on the way already or there are limit levels.
func (n *nest) enter(v starlark.Value, limit int) problems {
	list, isList := v.(*starlark.List)
	dict, isDict := v.(*starlark.Dict)
	switch {
	case isList && slices.Contains(n.lists, list), isDict && slices.Contains(n.dicts, dict):
		return problem("a "+v.Type()+" that contains itself", "a value without cycles", "")
	case n.depth >= limit:
		return problem("a value nested deeper", fmt.Sprintf("at most %d levels", limit), "")
	case isList:
		n.lists = append(n.lists, list)
	case isDict:
		n.dicts = append(n.dicts, dict)
	}
	n.depth++
	return problems{}
}

// exit comes back up from v.
func (n *nest) exit(v starlark.Value) {
	switch v.(type) {
	case *starlark.List:
		n.lists = n.lists[:len(n.lists)-1]
	case *starlark.Dict:
		n.dicts = n.dicts[:len(n.dicts)-1]
	}
	n.depth--
}
