package project

import (
	"strconv"
	"strings"

	"github.com/pelletier/go-toml/v2/unstable"
)

// The decoder gives values without their places, and its strict mode tells of unknown keys but of
// nothing else. So the places are taken from the parser underneath, in a second walk over a text
// that is known to be valid. (The package is called unstable because its types may change with a
// minor version; this file is all that touches it.)

// span is a range of bytes of the file.
type span struct{ start, end int }

// place says where a key or an element of a list stands and where its value does. Where the parser
// does not say, it is the place of the key.
type place struct{ key, value span }

// pathKey makes a map key of a path; dots would not do, since keys may hold them.
func pathKey(path []string) string { return strings.Join(path, "\x00") }

// dotted is a path as messages show it.
func dotted(path []string) string { return strings.ReplaceAll(strings.Join(path, "."), ".[", "[") }

// index is the last part of the path of an element of a list.
func index(i int) string { return "[" + strconv.Itoa(i) + "]" }

// locate finds every key of a valid file.
func locate(text []byte) map[string]place {
	places := map[string]place{}
	var p unstable.Parser
	p.Reset(text)
	var prefix []string
	for p.NextExpression() {
		n := p.Expression()
		switch n.Kind {
		case unstable.Table, unstable.ArrayTable:
			prefix = mark(places, nil, n)
		case unstable.KeyValue:
			markValue(places, prefix, n)
		}
	}
	return places
}

// mark notes the keys of a header or of a key-value pair, each part once, and returns the whole
// path.
func mark(places map[string]place, prefix []string, n *unstable.Node) []string {
	path := prefix[:len(prefix):len(prefix)]
	for it := n.Key(); it.Next(); {
		path = append(path, string(it.Node().Data))
		if _, known := places[pathKey(path)]; !known || it.IsLast() {
			at := spanOf(it.Node())
			places[pathKey(path)] = place{at, at}
		}
	}
	return path
}

func markValue(places map[string]place, prefix []string, n *unstable.Node) {
	path := mark(places, prefix, n)
	value := n.Value()
	at := places[pathKey(path)]
	if value.Raw.Length > 0 {
		at.value = spanOf(value)
		places[pathKey(path)] = at
	}
	switch value.Kind {
	case unstable.InlineTable:
		for it := value.Children(); it.Next(); {
			markValue(places, path, it.Node())
		}
	case unstable.Array:
		for i, it := 0, value.Children(); it.Next(); i++ {
			if it.Node().Raw.Length > 0 {
				at.value = spanOf(it.Node())
			}
			places[pathKey(append(path, index(i)))] = at
		}
	}
}

func spanOf(n *unstable.Node) span {
	start := int(n.Raw.Offset)
	return span{start, start + int(n.Raw.Length)}
}
