package form

import (
	"cmp"
	"encoding/json"
	"strconv"
	"strings"

	"go.starlark.net/starlark"

	"starling/lang/contract"
	"starling/runtime"
)

// A Sheet is a form that lies open as a whole, as on a screen: its lines are filled in in any
// order, and each says what is wrong with it. A line is read as at a prompt. It belongs to one
// goroutine.
type Sheet struct {
	Lines []*Line // none where there is nothing to fill in

	root     *entry
	editable bool
}

// A Line is a field with the text that stands in it.
type Line struct {
	Path   string // as violations write it, "" where the sheet is one value
	Want   string // what fits
	Text   string // what stands there; "" is nothing
	Absent string // what comes of nothing: "", the default as JSON, or that it may be left out
	Secret bool   // nobody but who types it may see or keep the text

	entry  *entry
	before string // the text as it stood there at first
}

// SheetFor is the form of what a gate wants beside a choice.
func SheetFor(g runtime.Gate) (*Sheet, error) {
	s := &Sheet{editable: g.Editable}
	if len(g.Options) > 0 && g.Contract == "" && !g.Editable {
		return s, nil
	}
	root, err := entryOf(g)
	if err != nil {
		return nil, err
	}
	s.root = root
	s.spread(root, 0)
	return s, nil
}

// How deep records in records have lines of their own, and up to how many lines there are.
const deepest, mostLines = 8, 500

// spread makes lines of the places of a record, but of a record that may be left out: that is one
// line, as JSON.
func (s *Sheet) spread(e *entry, depth int) {
	fields := e.fields()
	if len(fields) == 0 || depth > deepest || len(s.Lines) >= mostLines {
		s.Lines = append(s.Lines, lineOf(e))
		return
	}
	for _, field := range fields {
		if field.gathered() {
			s.spread(field, depth+1)
		} else {
			s.Lines = append(s.Lines, lineOf(field))
		}
	}
}

// gathered tells whether the lines of a record stand for it.
func (e *entry) gathered() bool {
	return len(e.fields()) > 0 && (e.present != nil || e.preset == nil && !e.absent)
}

func lineOf(e *entry) *Line {
	l := &Line{Path: e.path, Want: e.contract.Brief(), Secret: Secret(e.name), entry: e}
	switch {
	case e.preset != nil:
		l.Absent = brief(e.preset)
	case e.absent && e.path != "":
		l.Absent = "may be left out"
	}
	l.before = e.typed()
	l.Text = l.before
	return l
}

// Secret tells whether the name of a field says that what stands there is for nobody's eyes.
func Secret(name string) bool {
	name = strings.NewReplacer("-", "_", ".", "_", " ", "_").Replace(strings.ToLower(name))
	for _, word := range []string{"password", "passphrase", "passwd", "secret", "token", "credential", "credentials", "apikey", "api_key", "private_key"} {
		if name == word || strings.HasSuffix(name, "_"+word) {
			return true
		}
	}
	return false
}

// typed is the text that is read as what stands there.
func (e *entry) typed() string {
	if e.present == nil {
		return ""
	}
	if text, ok := starlark.AsString(e.present); ok && text != "" && text == strings.TrimSpace(text) {
		if v, wrong := e.read(text); len(wrong) == 0 && v == e.present {
			return text
		}
	}
	text, err := contract.ToJSON(e.present)
	if err != nil {
		return ""
	}
	return string(text)
}

// Changed tells whether another text stands there than at first.
func (l *Line) Changed() bool { return l.Text != l.before }

// Check says what is wrong with a line, nil where its text fits.
func (l *Line) Check() error {
	_, wrong := l.value()
	return wrong.Err()
}

// value is what the text stands for, nil for nothing.
func (l *Line) value() (starlark.Value, contract.Violations) {
	text, e := strings.TrimSpace(l.Text), l.entry
	switch {
	case !l.Changed() && e.present != nil:
		return e.present, nil
	case text == "" && (e.absent || e.preset != nil), text == "null" && e.absent:
		return nil, nil
	case text == "":
		return nil, contract.Violations{{Path: e.path, Got: "nothing", Want: l.Want, Hint: `"" is the empty text`}}
	}
	return e.read(text)
}

// Choices are the few texts that fit a line, nil where there are others.
func (l *Line) Choices() (texts []string) {
	if l.Want == "bool" {
		return []string{"true", "false"}
	}
	for _, part := range strings.Split(l.Want, " | ") {
		text, err := strconv.Unquote(part)
		if err != nil {
			return nil
		}
		texts = append(texts, text)
	}
	return texts
}

// untouched tells whether nothing is to be sent: what may be edited or left out is as it was.
func (s *Sheet) untouched() bool {
	if s.root == nil {
		return true
	}
	for _, l := range s.Lines {
		if l.Changed() {
			return false
		}
	}
	return s.editable || s.root.absent
}

// Value is the payload that the lines make, nil where none is to be sent. The error says what does
// not fit.
func (s *Sheet) Value() (json.RawMessage, error) {
	if s.untouched() {
		return nil, nil
	}
	v, wrong := s.gather(s.root, s.values())
	if len(wrong) > 0 {
		return nil, wrong
	}
	if v == nil {
		return nil, nil
	}
	if _, wrong := s.root.contract.Check(v); len(wrong) > 0 { // of several lines together
		return nil, wrong
	}
	return contract.ToJSON(v)
}

// reading is what a line stands for.
type reading struct {
	value starlark.Value
	wrong contract.Violations
}

func (s *Sheet) values() map[string]reading {
	all := map[string]reading{}
	for _, l := range s.Lines {
		v, wrong := l.value()
		all[l.Path] = reading{v, wrong}
	}
	return all
}

// gather makes the value of a place of what its lines stand for.
func (s *Sheet) gather(e *entry, lines map[string]reading) (starlark.Value, contract.Violations) {
	if one, ok := lines[e.path]; ok {
		return one.value, one.wrong
	}
	d, wrong := e.undeclared(), contract.Violations(nil)
	for _, field := range e.fields() {
		v, bad := s.gather(field, lines)
		wrong = append(wrong, bad...)
		if v != nil {
			_ = d.SetKey(starlark.String(field.name), v) // a fresh dict takes any string
		}
	}
	return d, wrong
}

// Shown is a payload for people to look at: texts that nobody may see are left out.
func (s *Sheet) Shown(data json.RawMessage) string {
	text := string(data)
	for _, l := range s.Lines {
		if v, _ := l.value(); l.Secret && v != nil {
			if written, err := contract.ToJSON(v); err == nil {
				text = strings.ReplaceAll(text, string(written), `"…"`)
			}
		}
	}
	return cmp.Or(text, "null")
}
