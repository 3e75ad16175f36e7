package filter

import (
	"errors"
	"fmt"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/alecthomas/participle/v2"
	"github.com/alecthomas/participle/v2/lexer"

	"starling/lang/diagnostic"
)

// Bounds: filters come from other agents too.
const (
	MaxText  = 4 << 10 // bytes
	MaxDepth = 64      // brackets and nots in one another
)

// Filter says which runs and gates are meant.
type Filter struct {
	text   string
	holds  test
	fields map[string]bool // those that it names
	output bool            // one of them is the output, or of it
	facts  bool            // one of them speaks of facts
	terms  [][]string      // what it means meets one of each of these
}

// String is the text that it was parsed from.
func (f *Filter) String() string { return f.text }

// Parse reads a filter. An empty text is every run. The error is a diagnostic.List with everything
// that is wrong, of the kind "usage".
func Parse(text string) (*Filter, error) {
	r := &reading{fields: fields(), elsewhere: decisionFields(), hint: "decisions have it: starling decisions --help"}
	return r.filterOf(text)
}

// Check gives the error of Parse alone.
func Check(text string) error {
	_, err := Parse(text)
	return err
}

func everything(*subject) bool { return true }

// reading is one text on its way to a filter.
type reading struct {
	fields    []field // those that the filter may name
	elsewhere []field // those of other lists, and what is said where it names one of them
	hint      string

	text   string
	tree   *anyOf // nil for the empty text
	filter *Filter
	found  diagnostic.List
}

func (r *reading) filterOf(text string) (*Filter, error) {
	r.text, r.filter = text, &Filter{text: text, holds: everything, fields: map[string]bool{}}
	r.read()
	if err := r.found.Err(); err != nil {
		return nil, err
	}
	return r.filter, nil
}

// read goes through the stages, each of which is reached only by what passed the one before.
func (r *reading) read() {
	if len(r.text) > MaxText {
		r.refuse(0, 0, diagnostic.Diagnostic{Message: "the filter is too long", Got: fmt.Sprintf("%d bytes", len(r.text)), Want: fmt.Sprintf("at most %d", MaxText)})
		return
	}
	if !utf8.ValidString(r.text) {
		r.refuse(0, 0, diagnostic.Diagnostic{Message: "the filter is not UTF-8"})
		return
	}
	if strings.TrimSpace(r.text) == "" || r.tooDeep() {
		return
	}
	tree, err := parser().ParseString("", r.text)
	if err != nil {
		r.syntax(err)
		return
	}
	r.tree, r.filter.holds = tree, r.anyOf(tree)
	if r.found == nil {
		r.filter.terms = r.narrow()
	}
}

func (r *reading) refuse(start, end int, d diagnostic.Diagnostic) {
	d.Kind = "usage"
	r.found = append(r.found, d.At("", r.text, start, end))
}

// under refuses what stands at a token.
func (r *reading) under(t lexer.Token, d diagnostic.Diagnostic) {
	r.refuse(t.Pos.Offset, t.Pos.Offset+len(t.Value), d)
}

// tooDeep refuses a text that nests more deeply than the parser's stack should.
func (r *reading) tooDeep() bool {
	lex, err := words().LexString("", r.text)
	if err != nil {
		return false // the parser says it
	}
	depth := 0
	for {
		t, err := lex.Next()
		if err != nil || t.EOF() {
			return false
		}
		switch {
		case t.Value == "(" || strings.EqualFold(t.Value, "not"):
			depth++
		case t.Value == ")":
			depth--
		case strings.EqualFold(t.Value, "and") || strings.EqualFold(t.Value, "or"):
			continue
		}
		if depth > MaxDepth {
			r.under(t, diagnostic.Diagnostic{Message: fmt.Sprintf("there are more than %d brackets and nots before this one", MaxDepth)})
			return true
		}
	}
}

// syntax puts what participle says into words.
func (r *reading) syntax(err error) {
	var unexpected *participle.UnexpectedTokenError
	if !errors.As(err, &unexpected) {
		r.refuse(0, 0, diagnostic.Diagnostic{Message: err.Error()})
		return
	}
	t := unexpected.Unexpected
	d := diagnostic.Diagnostic{Message: "this is not a filter", Got: strconv.Quote(clip(t.Value)), Want: wanted(unexpected.Message())}
	switch {
	case t.EOF():
		d.Got = "the end"
	case t.Value == "!":
		d.Hint = `a value with "!" in front is quoted; the operators are = != ~ !~ < <= > >= in`
	case t.Value == `"`:
		d.Message, d.Got, d.Want = "the quoted text does not end", "", ""
	case t.Value == "&" || t.Value == "&&" || t.Value == "|" || t.Value == "||":
		d.Hint = "write and, or, not"
	case d.Want == "the end":
		d.Want = `"and", "or" or the end`
		if t.Type == words().Symbols()["Word"] {
			d.Hint = "an operator stands between a field and its value; a value with blanks is quoted"
		}
	}
	r.under(t, d)
}

// wanted is what the parser expected, in words.
func wanted(message string) string {
	_, expected, _ := strings.Cut(message, "(expected ")
	first, _, _ := strings.Cut(strings.TrimSuffix(expected, ")"), " ")
	switch {
	case first == "":
		return "the end"
	case first == "AnyOf" || first == "AllOf" || first == "Term" || first == "Condition":
		return "a condition"
	case first == "Literal" || strings.HasPrefix(first, "(<word>") || first == "<word>" || first == "<text>":
		return "a value"
	}
	return strings.TrimSuffix(first, ")")
}

func clip(s string) string {
	const most = 40
	if utf8.RuneCountInString(s) <= most {
		return s
	}
	return string([]rune(s)[:most]) + "…"
}
