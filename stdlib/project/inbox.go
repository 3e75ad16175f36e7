package project

import "strings"

// Section is one key of [inbox]: a part of the inbox that somebody looks at often.
type Section struct {
	Name   string
	Filter string // as inbox --filter has it; who lists it reads it
}

func (r *reader) inbox(root table) (sections []Section) {
	t, _ := r.table(root, "inbox")
	for _, name := range r.inOrder(t) {
		text, ok := r.string(t, name)
		switch {
		case !ok:
		case strings.TrimSpace(name) == "":
			r.refuse(t.at(name), "a section without a name", "a name", "")
		case strings.TrimSpace(text) == "":
			r.refuse(t.at(name), "an empty filter", `a filter, such as "target = reviewer and age > 2h"`, "starling query --help says what a filter is")
		default:
			sections = append(sections, Section{name, text})
		}
	}
	return sections
}
