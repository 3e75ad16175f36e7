package langtest

import "strings"

// typ is the type of an expression, as the generator knows it: the first word is its kind, the
// others are its parts, in prefix notation. "dict str list int" is a dict from strings to lists of
// ints. In the grammar a capital letter stands for any type, and these only for types of a class:
//
//	K  hashable    O  ordered by <    N  a number
type typ string

// arity is the number of parts of each kind.
var arity = map[string]int{
	"int": 0, "float": 0, "str": 0, "bool": 0, "none": 0, "bytes": 0, "any": 0, "object": 0, "count": 0, "index": 0, "step": 0, "depth": 0, "name": 0, "line": 0,
	"list": 1, "tuple": 1, "set": 1, "iter": 1, "record": 1, "thunk": 1, "pair": 2, "dict": 2, "fn": 2,
}

// kind is the first word.
func (t typ) kind() string {
	kind, _, _ := strings.Cut(string(t), " ")
	return kind
}

// parts are the types that it is made of.
func (t typ) parts() []typ {
	_, rest, _ := strings.Cut(string(t), " ")
	var parts []typ
	for rest != "" {
		n := len(prefix(rest))
		parts = append(parts, typ(rest[:n]))
		rest = strings.TrimPrefix(rest[n:], " ")
	}
	return parts
}

func (t typ) part(i int) typ { return t.parts()[i] }

// prefix is the first whole type of a text.
func prefix(text string) string {
	end, wanted := 0, 1
	for wanted > 0 && end < len(text) {
		if end > 0 {
			end++
		}
		word, _, _ := strings.Cut(text[end:], " ")
		wanted += arity[word] - 1
		end += len(word)
	}
	return text[:end]
}

// variable tells whether the type is a letter of the grammar.
func (t typ) variable() bool { return len(t) == 1 && 'A' <= t[0] && t[0] <= 'Z' }

// plain tells whether the type is one of the grammar's own, of which there are only words. Some
// stand in the middle of a text.
func (t typ) plain() bool {
	switch t {
	case "count", "index", "step", "depth", "name":
		return true
	}
	return false
}

// hashable, ordered and number tell whether values of a type can be keys, can be compared with <,
// and can be computed with.
func (t typ) hashable() bool {
	switch t.kind() {
	case "int", "float", "str", "bool", "none", "bytes":
		return true
	case "pair", "tuple":
		for _, p := range t.parts() {
			if !p.hashable() {
				return false
			}
		}
		return true
	}
	return false
}

func (t typ) ordered() bool {
	switch t.kind() {
	case "int", "float", "str", "bool", "bytes":
		return true
	case "list", "tuple", "pair":
		for _, p := range t.parts() {
			if !p.ordered() {
				return false
			}
		}
		return true
	}
	return false
}

func (t typ) number() bool { return t == "int" || t == "float" }

// binding says what the letters of a row of the grammar stand for.
type binding map[typ]typ

// match binds the letters of a pattern so that it becomes t, if it can.
func (b binding) match(pattern, t typ) bool {
	if pattern.variable() {
		if known, ok := b[pattern]; ok {
			return known == t
		}
		b[pattern] = t
		return fits(pattern, t)
	}
	if pattern.kind() != t.kind() {
		return false
	}
	of := t.parts()
	for i, p := range pattern.parts() {
		if !b.match(p, of[i]) {
			return false
		}
	}
	return true
}

// fits tells whether a letter can stand for a type.
func fits(letter, t typ) bool {
	switch letter {
	case "K":
		return t.hashable()
	case "O":
		return t.ordered()
	case "N":
		return t.number()
	}
	return true
}

// apply replaces the letters of a pattern; choose says what an unbound one stands for.
func (b binding) apply(pattern typ, choose func(letter typ) typ) typ {
	if pattern.variable() {
		if _, ok := b[pattern]; !ok {
			b[pattern] = choose(pattern)
		}
		return b[pattern]
	}
	words := []string{pattern.kind()}
	for _, p := range pattern.parts() {
		words = append(words, string(b.apply(p, choose)))
	}
	return typ(strings.Join(words, " "))
}

var plainTypes = []typ{"int", "int", "int", "str", "str", "str", "float", "bool", "bytes", "none"}

// someType chooses a type that a letter may stand for, nested to the depth at most.
func (c *Choices) someType(letter typ, depth int) typ {
	switch {
	case letter == "N":
		return pick(c, []typ{"int", "int", "float"})
	case depth == 0 || c.below(5) < 3:
		t := pick(c, plainTypes)
		if !fits(letter, t) {
			return "int"
		}
		return t
	case letter == "K":
		return pick(c, []typ{"pair int str", "tuple int", "pair str pair bool int"})
	case letter == "O":
		return pick(c, []typ{"list int", "pair int str", "tuple str", "list list float"})
	}
	kind := pick(c, []string{"list", "list", "dict", "dict", "pair", "tuple", "set", "fn", "thunk", "record", "object"})
	words := []string{kind}
	for i := range arity[kind] {
		part := typ("A")
		if kind == "set" || kind == "dict" && i == 0 {
			part = "K"
		}
		words = append(words, string(c.someType(part, depth-1)))
	}
	return typ(strings.Join(words, " "))
}
