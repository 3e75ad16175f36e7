package effect

import (
	"path"
	"slices"
	"strings"

	"go.starlark.net/starlark"
)

// Everything is the pattern of all paths of a workspace.
const Everything = "**"

// What becomes of an agent that would change files which an agent in another branch of the same
// parallel may be changing.
const (
	OverlapRefuse    = "refuse"    // its request fails
	OverlapSerialize = "serialize" // it waits until the other is done
	OverlapAllow     = "allow"     // both go on
)

// Overlap is what a call of parallel says of agents that change the same files. Calls that say
// nothing refuse them.
type Overlap struct {
	Branch string // path of the branch of it that the request is in
	Mode   string
}

// Claims tells whether patterns claim a path. A pattern claims what it matches and all that is
// below: "docs" is as good as "docs/**".
func Claims(patterns []string, name string) bool {
	parts := components(name)
	for _, p := range patterns {
		if claims(components(p), parts) {
			return true
		}
	}
	return false
}

func claims(pattern, name []string) bool {
	switch {
	case len(pattern) == 0:
		return true
	case pattern[0] == Everything:
		return claims(pattern[1:], name) || len(name) > 0 && claims(pattern, name[1:])
	case len(name) == 0:
		return false
	}
	ok, err := path.Match(pattern[0], name[0])
	return ok && err == nil && claims(pattern[1:], name[1:])
}

// Overlapping finds two patterns, one of each list, that may claim the same path. What [a-z] stands
// for is not looked at: it may be any character.
func Overlapping(as, bs []string) (a, b string, ok bool) {
	for _, a := range as {
		for _, b := range bs {
			if meet(components(a), components(b)) {
				return a, b, true
			}
		}
	}
	return "", "", false
}

func components(name string) []string {
	if name = path.Clean(name); name == "." {
		return nil
	}
	return strings.Split(name, "/")
}

// meet tells whether some path is claimed by both. Where one pattern ends, it claims what the other
// goes on to.
func meet(a, b []string) bool {
	switch {
	case len(a) == 0 || len(b) == 0:
		return true
	case a[0] == Everything:
		return meet(a[1:], b) || meet(a, b[1:])
	case b[0] == Everything:
		return meet(b, a)
	}
	return meetName(tokens(a[0]), tokens(b[0])) && meet(a[1:], b[1:])
}

// Characters of a pattern that stand for others, as tokens has them.
const (
	anyText = -1 // *
	anyOne  = -2 // ?, [a-z] and \x
)

// tokens takes a pattern of one name apart.
func tokens(pattern string) []rune {
	var out []rune
	for text := []rune(pattern); len(text) > 0; {
		c, width := text[0], 1
		switch c {
		case '*':
			c = anyText
		case '?':
			c = anyOne
		case '\\':
			c, width = anyOne, min(2, len(text))
		case '[':
			if end := strings.IndexRune(string(text), ']'); end > 0 {
				c, width = anyOne, len([]rune(string(text)[:end+1]))
			}
		}
		out, text = append(out, c), text[width:]
	}
	return out
}

// meetName tells whether some name fits both. met[j] says it of what is left of a, and of b from j
// on.
func meetName(a, b []rune) bool {
	met := make([]bool, len(b)+1)
	for i := len(a); i >= 0; i-- {
		below := met // of what is left of a behind its next token
		met = make([]bool, len(b)+1)
		for j := len(b); j >= 0; j-- {
			star := i < len(a) && a[i] == anyText && (below[j] || j < len(b) && met[j+1])
			other := j < len(b) && b[j] == anyText && (met[j+1] || i < len(a) && below[j])
			same := i < len(a) && j < len(b) && (a[i] == b[j] || a[i] == anyOne || b[j] == anyOne) && below[j+1]
			met[j] = i == len(a) && j == len(b) || star || other || same
		}
	}
	return met[0]
}

// Identities reads who is meant by a name, a list of names, a Result (who was asked, and who
// served) or a Decision (who has decided). ok is false for anything else.
func Identities(v starlark.Value) (names []string, ok bool) {
	switch v := v.(type) {
	case nil, starlark.NoneType:
		return nil, true
	case starlark.String:
		return []string{string(v)}, true
	case *Record:
		var fields []string
		switch {
		case v.IsResult():
			fields = []string{"agent", "backend"}
		case v.typ == DecisionType:
			fields = []string{"by"}
		}
		for _, f := range fields {
			if name, _ := starlark.AsString(v.Field(f)); name != "" && !slices.Contains(names, name) {
				names = append(names, name)
			}
		}
		return names, len(fields) > 0
	case starlark.Iterable:
		for e := range starlark.Elements(v) {
			more, ok := Identities(e)
			if _, nested := e.(starlark.Sequence); !ok || nested || e == starlark.None {
				return nil, false
			}
			names = append(names, more...)
		}
		return names, true
	}
	return nil, false
}
