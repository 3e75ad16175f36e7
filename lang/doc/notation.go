package doc

import (
	"slices"
	"strings"
	"unicode"
)

// Notation is a type as the table of builtins writes it:
//
//	string | None          alternatives; " or " is the same
//	list[T] dict[K, V]     what is in it; without brackets it may be anything
//	(K, V)                 a tuple by place
//	{path: string, at?: T} a dict by its keys, of which at may be missing; with … there may be more
//	"ok"                   that text
//	Result                 a record
//	json                   what JSON can say
//
// Letters stand for what the call is made with: T the elements of the receiver, K and V the keys
// and values of one that is a dict, E the elements of the first argument, X the first argument
// itself, D the argument called default, or None where there is none.
type Notation struct {
	Name  string // "" for alternatives
	Parts []*Notation
	Keys  []string // of a dict by its keys
	Open  bool     // there may be more keys
	Calls bool     // there are letters in it, or in its parts
}

// lettered tells whether a notation has letters that a call gives a meaning to.
func (n *Notation) lettered() bool {
	return len(n.Name) == 1 && n.Name[0] >= 'A' && n.Name[0] <= 'Z' || slices.ContainsFunc(n.Parts, (*Notation).lettered)
}

// ParseNotation reads a type of the table of builtins.
func ParseNotation(s string) *Notation {
	p := &notationReader{rest: strings.ReplaceAll(s, " or ", " | ")}
	n := p.either()
	n.Calls = n.lettered()
	return n
}

type notationReader struct{ rest string }

func (p *notationReader) space() { p.rest = strings.TrimLeftFunc(p.rest, unicode.IsSpace) }

// take passes over a mark if it comes next.
func (p *notationReader) take(mark string) bool {
	p.space()
	rest, ok := strings.CutPrefix(p.rest, mark)
	p.rest = rest
	return ok
}

func (p *notationReader) either() *Notation {
	n := &Notation{Parts: []*Notation{p.one()}}
	for p.take("|") {
		n.Parts = append(n.Parts, p.one())
	}
	if len(n.Parts) == 1 {
		return n.Parts[0]
	}
	return n
}

func (p *notationReader) one() *Notation {
	switch {
	case p.take("("):
		return &Notation{Name: "tuple by place", Parts: p.list(")")}
	case p.take("{"):
		return p.fields()
	case p.take(`"`):
		word, rest, _ := strings.Cut(p.rest, `"`)
		p.rest = rest
		return &Notation{Name: `"` + word}
	}
	n := &Notation{Name: p.word()}
	if p.take("[") {
		n.Parts = p.list("]")
	}
	return n
}

func (p *notationReader) word() string {
	p.space()
	i := strings.IndexFunc(p.rest, func(r rune) bool { return !unicode.IsLetter(r) && r != '_' && !unicode.IsDigit(r) })
	if i < 0 {
		i = len(p.rest)
	}
	if i == 0 && p.rest != "" {
		i = 1 // what is none is passed over
	}
	w := p.rest[:i]
	p.rest = p.rest[i:]
	return w
}

func (p *notationReader) list(end string) []*Notation {
	var parts []*Notation
	for p.rest != "" && !p.take(end) {
		parts = append(parts, p.either())
		p.take(",")
	}
	return parts
}

func (p *notationReader) fields() *Notation {
	n := &Notation{Name: "dict by keys"}
	for p.rest != "" && !p.take("}") {
		if p.take("…") {
			n.Open = true
			continue
		}
		key := p.word()
		if p.take("?") {
			key += "?"
		}
		n.Keys = append(n.Keys, key)
		p.take(":")
		n.Parts = append(n.Parts, p.either())
		p.take(",")
	}
	return n
}
