// Package diagnostic is the one form in which Starling says that something is wrong: syntax, names,
// contracts, filters, inputs and run-time errors alike.
//
// A [Diagnostic] is plain data: where (a position in a text, or a path in a value), what, what was
// got and wanted, and what to try. It carries the source line that it speaks of, so that it can be
// rendered far from the file, on the other end of a socket or a month later:
//
//	review.star:2:9: undefined: agnet
//	  | r = agnet("reviewer")
//	  |     ^^^^^
//	  = help: did you mean "agent"?
//
// Its short form, [Diagnostic.Error], is one line. Several of them are a [List], which is an error
// as well. Both are values: they may be copied, compared and shared between goroutines.
//
// Lines and columns are 1-based. A column counts runes, as go.starlark.net's positions do: a tab is
// one, a wide or a combining rune is one, a byte that is not UTF-8 is one. Display width is the
// renderer's business alone.
package diagnostic

import (
	"fmt"
	"strings"
)

// A Diagnostic says one thing about one place. The zero value of every field but Message means "not
// known".
type Diagnostic struct {
	Severity Severity `json:"severity"`
	Kind     string   `json:"kind,omitempty"` // a stable word for machines, such as "syntax" or "bad_input"

	File   string `json:"file,omitempty"`    // as the user would write it
	Line   int    `json:"line,omitempty"`    // 1-based
	Col    int    `json:"col,omitempty"`     // 1-based, in runes
	EndCol int    `json:"end_col,omitempty"` // first column after the range, on the same line; at most Col: one column
	Text   string `json:"text,omitempty"`    // the whole source line, without its line break

	Path string `json:"path,omitempty"` // the place inside a value, such as `findings[2].severity`

	Message string `json:"message,omitempty"` // a phrase without a final stop; may be empty if Got or Want says it all
	Got     string `json:"got,omitempty"`     // what was found, as the user wrote it
	Want    string `json:"want,omitempty"`    // what would have been right
	Hint    string `json:"hint,omitempty"`    // what to try
	Note    string `json:"note,omitempty"`    // where what was found comes from

	Fix Edit `json:"fix,omitzero"` // what mends it, where that is certain
}

// Error is the diagnostic on one line: `file:line:col: message: got …, want …; hint`.
func (d Diagnostic) Error() string {
	s := d.headline()
	if s != "" && d.Hint != "" {
		s += "; "
	}
	return s + d.Hint
}

// headline is everything but the hint.
func (d Diagnostic) headline() string {
	var parts []string
	for _, p := range []string{d.Where(), d.Severity.label(), d.Message, d.difference()} {
		if p != "" {
			parts = append(parts, p)
		}
	}
	return strings.Join(parts, ": ")
}

// Where is the place: `file:line:col`, as much of it as is known, followed by the path of the
// value, if any.
func (d Diagnostic) Where() string {
	var parts []string
	if d.File != "" {
		parts = append(parts, d.File)
	}
	if d.Line > 0 {
		parts = append(parts, fmt.Sprint(d.Line))
	}
	if d.Line > 0 && d.Col > 0 {
		parts = append(parts, fmt.Sprint(d.Col))
	}
	where := strings.Join(parts, ":")
	if where != "" && d.Path != "" {
		where += ": "
	}
	return where + d.Path
}

func (d Diagnostic) difference() string {
	switch {
	case d.Got != "" && d.Want != "":
		return "got " + d.Got + ", want " + d.Want
	case d.Got != "":
		return "got " + d.Got
	case d.Want != "":
		return "want " + d.Want
	}
	return ""
}

// A Severity says how bad it is. The zero value is Error.
type Severity uint8

// The severities. An Error refuses what it speaks of; a Warning and a Note do not.
const (
	Error Severity = iota
	Warning
	Note
)

// String is the severity in lower case; it is also its JSON form.
func (s Severity) String() string {
	switch s {
	case Error:
		return "error"
	case Warning:
		return "warning"
	case Note:
		return "note"
	}
	return fmt.Sprintf("severity(%d)", uint8(s))
}

// label is what a message shows: an error needs no word.
func (s Severity) label() string {
	if s == Error {
		return ""
	}
	return s.String()
}

// MarshalText writes the name.
func (s Severity) MarshalText() ([]byte, error) { return []byte(s.String()), nil }

// UnmarshalText reads a name that MarshalText wrote, and refuses any other.
func (s *Severity) UnmarshalText(text []byte) error {
	for _, known := range []Severity{Error, Warning, Note} {
		if known.String() == string(text) {
			*s = known
			return nil
		}
	}
	return fmt.Errorf("severity: got %q, want error, warning or note", text)
}
