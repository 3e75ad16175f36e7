package project

import (
	"bytes"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/pelletier/go-toml/v2"
	"github.com/pelletier/go-toml/v2/unstable"
)

// Setting is one key of a project file as it stands there.
type Setting struct {
	Path  []string
	Value any // as the decoder gives it: string, bool, int64, float64, []any
	Line  int // from 1
}

// Settings are all the keys of a valid project file that have a value, in the order of the file. An
// inline table is its keys.
func Settings(text []byte) ([]Setting, error) {
	var root map[string]any
	if err := toml.Unmarshal(text, &root); err != nil {
		return nil, err
	}
	var list []Setting
	places := locate(text)
	var walk func(path []string, values map[string]any)
	walk = func(path []string, values map[string]any) {
		for key, v := range values {
			at := append(path[:len(path):len(path)], key)
			if inner, ok := v.(map[string]any); ok {
				walk(at, inner)
				continue
			}
			start := places[pathKey(at)].key.start
			list = append(list, Setting{at, v, 1 + bytes.Count(text[:start], []byte("\n"))})
		}
	}
	walk(nil, root)
	slices.SortFunc(list, func(a, b Setting) int {
		return places[pathKey(a.Path)].key.start - places[pathKey(b.Path)].key.start
	})
	return list, nil
}

// Dotted is a path as TOML writes it.
func Dotted(path []string) string {
	var parts []string
	for _, part := range path {
		if strings.Trim(part, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-") != "" || part == "" {
			part = strconv.Quote(part)
		}
		parts = append(parts, part)
	}
	return strings.Join(parts, ".")
}

// Set gives a key of a valid file another value, which is written in TOML, and leaves all else as
// it is: a value that is there is replaced in its place, another goes behind the last key of its
// table, or into a table of its own at the end. A value with comments in it is refused, for who
// knows what of them still holds. What comes of it is for [Parse] to judge.
func Set(text []byte, path []string, value string) ([]byte, error) {
	if err := toml.Unmarshal(text, new(map[string]any)); err != nil {
		return nil, err
	}
	table := path[:len(path)-1]
	var found *entry
	headers, all := entries(text)
	for _, e := range all {
		switch {
		case slices.Equal(e.path, path) && e.remarks:
			return nil, fmt.Errorf("there are comments within the value of %s, which begins in line %d, and they would be lost; change it there",
				Dotted(e.path), 1+bytes.Count(text[:e.value.start], []byte("\n")))
		case slices.Equal(e.path, path):
			return slices.Concat(text[:e.value.start], []byte(value), text[e.value.end:]), nil
		case len(e.path) <= len(table) && slices.Equal(e.path, table[:len(e.path)]):
			return nil, fmt.Errorf("%s is written as one value, in line %d; change it there",
				Dotted(e.path), 1+bytes.Count(text[:e.value.start], []byte("\n")))
		case len(e.path) == len(path) && slices.Equal(e.path[:len(table)], table):
			found = &e
		}
	}
	if found != nil { // beside those of its table, in their way
		return insert(text, found.value.end, Dotted(path[len(found.header):])+" = "+value, indent(text, found.start)), nil
	}
	for _, h := range headers {
		if slices.Equal(h.path, table) {
			return insert(text, h.value.end, Dotted(path[len(table):])+" = "+value, indent(text, h.start)), nil
		}
	}
	line := Dotted(path[len(table):]) + " = " + value + "\n"
	if len(table) == 0 {
		return atTop(text, headers, line), nil
	}
	gap := "\n"
	if len(bytes.TrimSpace(text)) == 0 {
		gap = ""
	} else if !bytes.HasSuffix(text, []byte("\n")) {
		gap = "\n\n"
	}
	return fmt.Appendf(slices.Clip(text), "%s[%s]\n%s", gap, Dotted(table), line), nil
}

// entry is a key with its value, or the header of a table, whose value is the header itself.
type entry struct {
	path    []string
	header  []string // of the table that it stands under
	start   int      // of its key
	value   span
	remarks bool // there are comments in its value
}

// entries are the headers and the keys of a valid file.
func entries(text []byte) (headers, keys []entry) {
	p := unstable.Parser{KeepComments: true}
	p.Reset(text)
	var header []string
	for p.NextExpression() {
		n := p.Expression()
		if n.Kind == unstable.Comment {
			continue
		}
		path, at := keyOf(n)
		switch n.Kind {
		case unstable.Table, unstable.ArrayTable:
			header = path
			end := at.end + bytes.IndexByte(text[at.end:], ']') + 1
			headers = append(headers, entry{path, nil, at.start, span{at.start, end}, false})
		case unstable.KeyValue:
			from := at.end + bytes.IndexByte(text[at.end:], '=') + 1
			from += len(text[from:]) - len(bytes.TrimLeft(text[from:], " \t"))
			keys = append(keys, entry{slices.Concat(header, path), header, at.start, span{from, valueEnd(text, from)}, remarksIn(n.Value())})
		}
	}
	return headers, keys
}

// remarksIn tells whether there are comments in a value.
func remarksIn(n *unstable.Node) bool {
	for it := n.Children(); it.Next(); {
		if inner := it.Node(); inner.Kind == unstable.Comment || remarksIn(inner) {
			return true
		}
	}
	return false
}

func keyOf(n *unstable.Node) (path []string, at span) {
	for it := n.Key(); it.Next(); {
		path = append(path, string(it.Node().Data))
		if part := spanOf(it.Node()); len(path) == 1 {
			at = part
		} else {
			at.end = part.end
		}
	}
	return path, at
}

// valueEnd is the end of the value that begins at from: the first place where what stands there is
// one by itself.
func valueEnd(text []byte, from int) int {
	for end := from; end < len(text); {
		stop := bytes.IndexAny(text[end:], "\n#")
		if stop < 0 {
			break
		}
		end += stop
		one := bytes.TrimRight(text[from:end], " \t\r")
		if toml.Unmarshal(append([]byte("x = "), one...), new(map[string]any)) == nil {
			return from + len(one)
		}
		end++
	}
	return from + len(bytes.TrimRight(text[from:], " \t\r\n"))
}

// indent is the white space in front of a place in its line.
func indent(text []byte, at int) string {
	begin := bytes.LastIndexByte(text[:at], '\n') + 1
	line := text[begin:at]
	return string(line[:len(line)-len(bytes.TrimLeft(line, " \t"))])
}

// insert puts a line behind the one of a place.
func insert(text []byte, at int, line, indent string) []byte {
	end := bytes.IndexByte(text[at:], '\n')
	if end < 0 {
		return fmt.Appendf(slices.Clip(text), "\n%s%s\n", indent, line)
	}
	if end > 0 && text[at+end-1] == '\r' {
		line += "\r"
	}
	at += end + 1
	return slices.Concat(text[:at], []byte(indent+line+"\n"), text[at:])
}

// atTop puts a line in front of the tables: behind the comment that a file begins with.
func atTop(text []byte, headers []entry, line string) []byte {
	if len(headers) == 0 {
		if len(text) > 0 && !bytes.HasSuffix(text, []byte("\n")) {
			line = "\n" + line
		}
		return append(slices.Clip(text), line...)
	}
	at := 0
	if bytes.HasPrefix(text, []byte("#")) {
		if gap := bytes.Index(text, []byte("\n\n")); gap >= 0 && gap < headers[0].start {
			at = gap + 2
		}
	}
	return slices.Concat(text[:at], []byte(line+"\n"), text[at:])
}

// ErrNoKey is what [FindKey] gives for a path that no key has.
var ErrNoKey = errors.New("there is no such key")

// FindKey is the key that a path, as TOML writes it, is one of, with the parts of the path: a name
// with dots, such as that of a model, need not be quoted where only one reading fits.
func FindKey(dotted string) (Key, []string, error) {
	parts := split(dotted)
	for _, k := range keys() {
		if path, ok := k.fits(parts); ok {
			return k, path, nil
		}
	}
	return Key{}, parts, ErrNoKey
}

// split takes a dotted key apart.
func split(dotted string) []string {
	var p unstable.Parser
	p.Reset([]byte(dotted + " = 0"))
	if !p.NextExpression() || p.Error() != nil || p.Expression().Kind != unstable.KeyValue {
		return strings.Split(dotted, ".") // as who has quoted nothing means it
	}
	path, _ := keyOf(p.Expression())
	return path
}

// fits tells whether parts are a path of the key; a name takes those that are too many.
func (k Key) fits(parts []string) ([]string, bool) {
	want := strings.Split(k.Path, ".")
	more := len(parts) - len(want)
	if more < 0 {
		return nil, false
	}
	var path []string
	for i, w := range want {
		switch {
		case w == strings.ToUpper(w) && more > 0:
			path = append(path, strings.Join(parts[i:i+more+1], "."))
			parts = slices.Delete(slices.Clone(parts), i, i+more)
			more = 0
		case w == strings.ToUpper(w) || w == parts[i]:
			path = append(path, parts[i])
		default:
			return nil, false
		}
	}
	return path, more == 0
}
