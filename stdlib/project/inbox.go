package project

import (
	"errors"
	"strings"

	"starling/lang/diagnostic"
)

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

// checkSections has the filters of the inbox read, and says what is wrong with each where it
// stands.
func (r *reader) checkSections(f *File, reads func(filter string) error) {
	for _, s := range f.Inbox {
		err := reads(s.Filter)
		path := []string{"inbox", s.Name}
		var list diagnostic.List
		if err != nil && !errors.As(err, &list) {
			list = diagnostic.List{{Message: err.Error()}}
		}
		for _, d := range list {
			from := r.places[pathKey(path)].value
			if at := from.start + strings.Index(r.text[from.start:from.end], s.Filter); at >= from.start && d.Col > 0 { // it is written as it is
				from = span{at + diagnostic.Offset(s.Filter, d.Line, d.Col), at + diagnostic.Offset(s.Filter, d.Line, max(d.EndCol, d.Col+1))}
			}
			d.Path, d.File, d.Text = dotted(path), "", ""
			r.wrong = append(r.wrong, r.at(from, d))
		}
	}
}
