package lsp

import (
	"cmp"
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"strings"

	"go.starlark.net/syntax"

	"starling/cmd/starling/place"
	"starling/lang/diagnostic"
	"starling/runtime/filter"
	"starling/stdlib/project"
)

// diagnose says what is wrong with a file: what check says of it, and of what it loads where that
// is why it cannot be run.
func (s *Server) diagnose(d *document) []diagnosed {
	if d.isProject() {
		return d.projectMistakes()
	}
	y := s.studyOf(d)
	s.outlineOf(d) // it is kept for when the text cannot be parsed
	name := nameOf(s.rootOf(d.path), d.path)
	list := []diagnosed{}
	for _, found := range y.list {
		switch {
		case found.File == name || found.File == "":
			list = append(list, shown(d.text, found))
		case found.Severity == diagnostic.Error:
			if at, ok := s.loadOf(d, found.File); ok {
				list = append(list, diagnosed{Range: at, Severity: 1, Code: found.Kind, Source: "starling", Message: found.Error()})
			}
		}
	}
	return list
}

// isProject tells whether a document is no script, but what describes a project.
func (d *document) isProject() bool { return filepath.Base(d.path) == place.ProjectFile }

// projectMistakes says what is wrong with the file of a project.
func (d *document) projectMistakes() []diagnosed {
	list := []diagnosed{}
	_, err := project.Check(place.ProjectFile, []byte(d.text.source), filter.Check)
	var found diagnostic.List
	if errors.As(err, &found) {
		for _, one := range found {
			list = append(list, shown(d.text, one))
		}
	}
	return list
}

// shown is a diagnostic as the editor shows it.
func shown(t *text, found diagnostic.Diagnostic) diagnosed {
	from := diagnostic.Offset(t.source, found.Line, found.Col)
	to := max(from, diagnostic.Offset(t.source, found.Line, found.EndCol))
	severities := map[diagnostic.Severity]int{diagnostic.Error: 1, diagnostic.Warning: 2, diagnostic.Note: 3}
	plain := found
	plain.File, plain.Line, plain.Col, plain.Severity, plain.Hint = "", 0, 0, diagnostic.Error, ""
	out := diagnosed{Range: t.span(from, to), Severity: severities[found.Severity], Code: found.Kind, Source: "starling", Message: plain.Error(), fix: cmp.Or(found.Fix, found.Mend())}
	for _, more := range []string{found.Note, found.Hint} {
		if more != "" {
			out.Message += "\n" + more
		}
	}
	const unnecessary = 1
	if strings.HasPrefix(found.Kind, "unused_") || found.Kind == "unreachable" {
		out.Tags = []int{unnecessary}
	}
	return out
}

// loadOf is where a document loads a file, or something that loads it.
func (s *Server) loadOf(d *document, name string) (span, bool) {
	o := s.outlineOf(d)
	if o == nil {
		return span{}, false
	}
	path := filepath.Join(s.rootOf(d.path), filepath.FromSlash(name))
	var first *syntax.Literal
	for _, st := range o.tree.Stmts {
		l, ok := st.(*syntax.LoadStmt)
		if !ok || strings.HasPrefix(l.ModuleName(), library) {
			continue
		}
		if first == nil {
			first = l.Module
		}
		if s.loadedFrom(d.path, l.ModuleName()) == path {
			return o.span(l.Module), true
		}
	}
	if first == nil {
		return span{}, false
	}
	return o.span(first), true
}

// codeActions are what can be done about diagnostics: to mend them as check --fix would, and to say
// of a warning why it is meant as it is.
func (s *Server) codeActions(d *document, p *params) (any, error) {
	actions := []codeAction{}
	for _, about := range s.diagnose(d) {
		if about.Range.End.Line < p.Range.Start.Line || about.Range.Start.Line > p.Range.End.Line {
			continue
		}
		if a, ok := mend(d, about); ok {
			actions = append(actions, a)
		}
		const warning = 2
		if about.Severity == warning && about.Code != "" {
			actions = append(actions, ignore(d, about))
		}
	}
	return actions, nil
}

// mend does what mends a diagnostic, where it says so for certain.
func mend(d *document, about diagnosed) (codeAction, bool) {
	fix := about.fix
	if fix == (diagnostic.Edit{}) {
		return codeAction{}, false
	}
	from, to := diagnostic.Offset(d.text.source, fix.Line, fix.Col), diagnostic.Offset(d.text.source, fix.EndLine, fix.EndCol)
	if _, made := diagnostic.Apply(d.text.source, []diagnostic.Edit{fix}); len(made) == 0 {
		return codeAction{}, false
	}
	title := "Write " + fix.Text
	if fix.Text == "" {
		title = "Leave out " + strings.TrimSpace(d.text.source[from:to])
	}
	return codeAction{title, "quickfix", []diagnosed{about}, true, d.edits(textEdit{d.text.span(from, to), fix.Text})}, true
}

// ignore puts the comment above a line that says why a warning is meant as it is. The reason is for
// the author to write.
func ignore(d *document, about diagnosed) codeAction {
	line := d.text.line(about.Range.Start.Line)
	indent := line[:len(line)-len(strings.TrimLeft(line, " \t"))]
	at := position{about.Range.Start.Line, 0}
	return codeAction{"Say why this is meant", "quickfix", []diagnosed{about}, false,
		d.edits(textEdit{span{at, at}, fmt.Sprintf("%s# check: ignore %s because it is meant: WHY\n", indent, about.Code)})}
}

func (d *document) edits(list ...textEdit) *workspaceEdit {
	return &workspaceEdit{map[string][]textEdit{d.uri: slices.Clone(list)}}
}
