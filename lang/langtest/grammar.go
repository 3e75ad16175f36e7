package langtest

import (
	_ "embed"
	"strings"
)

//go:embed grammar.txt
var grammarText string

// grammar is the table of grammar.txt. It never changes.
var grammar = parseGrammar(grammarText)

// table holds the rows by the kind of their type; those whose type is a letter are under "".
type table struct {
	leaves    map[string][]row // rows without places, and the first of each kind
	compounds map[string][]row
	mistakes  map[string][]row
}

// row is one form of an expression: its text is text[0] places[0] text[1] places[1] ... text[n].
type row struct {
	typ    typ
	texts  []string
	places []place
}

// place is where another expression stands. A closed one has brackets or commas on both sides, so
// that an operator in it needs no brackets of its own; a broken one may begin on a new line.
type place struct {
	typ              typ
	closed, breaking bool
}

func parseGrammar(text string) table {
	t := table{make(map[string][]row), make(map[string][]row), make(map[string][]row)}
	text = strings.ReplaceAll(text, "\"\"\"long\n", "\"\"\"long\x00")
	for line := range strings.SplitSeq(text, "\n") {
		if line == "" || strings.HasPrefix(line, "#") {
			continue
		}
		line = strings.ReplaceAll(line, "\x00", "\n")
		head, form, ok := strings.Cut(line, " | ")
		if !ok {
			panic("langtest: grammar.txt: not a row: " + line)
		}
		head, mistake := strings.CutPrefix(head, "! ")
		r := parseRow(typ(head), form)
		kind := r.typ.kind()
		if r.typ.variable() {
			kind = ""
		}
		switch {
		case mistake:
			t.mistakes[kind] = append(t.mistakes[kind], r)
		case len(r.places) == 0 || t.leaves[kind] == nil && kind != "":
			t.leaves[kind] = append(t.leaves[kind], r)
		default:
			t.compounds[kind] = append(t.compounds[kind], r)
		}
	}
	return t
}

// parseRow splits a form at its places. "<" begins a place only if a type and ">" follow.
func parseRow(head typ, form string) row {
	r := row{typ: head}
	text := ""
	for form != "" {
		end := strings.IndexByte(form, '>')
		if form[0] != '<' || end < 0 || !isType(form[1:end]) {
			text, form = text+form[:1], form[1:]
			continue
		}
		p := place{typ: typ(form[1:end])}
		before, after := text, form[end+1:]
		bracket := strings.HasSuffix(before, "(") || strings.HasSuffix(before, "[") || strings.HasSuffix(before, ", ")
		p.closed = (bracket || strings.HasSuffix(before, " = ")) && after != "" && strings.ContainsAny(after[:1], ",)];")
		p.breaking = p.closed && bracket
		r.texts, r.places = append(r.texts, text), append(r.places, p)
		text, form = "", after
	}
	r.texts = append(r.texts, text)
	return r
}

// isType tells whether a text is one whole type.
func isType(text string) bool {
	for word := range strings.SplitSeq(text, " ") {
		if _, known := arity[word]; !known && !typ(word).variable() {
			return false
		}
	}
	return prefix(text) == text
}

// operator tells whether the form needs brackets among other operators: it begins with one, or has
// a space that is in no bracket.
func (r row) operator() bool {
	text := strings.Join(r.texts, "x")
	for _, word := range []string{"not ", "-", "+", "~", "lambda"} {
		if strings.HasPrefix(text, word) {
			return true
		}
	}
	if len(r.places) == 0 && strings.ContainsAny(text, "\"'") {
		return false // a text
	}
	depth := 0
	for _, c := range text {
		switch {
		case strings.ContainsRune("([{", c):
			depth++
		case strings.ContainsRune(")]}", c):
			depth--
		case c == ' ' && depth == 0:
			return true
		}
	}
	return false
}

// transparent tells whether the form is one place and nothing else.
func (r row) transparent() bool { return len(r.places) == 1 && r.texts[0] == "" && r.texts[1] == "" }

// rows lists those of a class for a type, those of letters included; letters tells whether they
// count at all.
func (t typ) rows(class map[string][]row, letters bool) []row {
	if letters {
		return class[""]
	}
	return class[t.kind()]
}
