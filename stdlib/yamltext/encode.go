package yamltext

import (
	"fmt"
	"math"
	"strings"
	"unicode"
	"unicode/utf8"

	"go.starlark.net/starlark"
	"go.yaml.in/yaml/v4"

	"starling/lang/effect"
)

// MaxDepth bounds the nesting of what is encoded: a value that contains itself has no end. The
// library reads no deeper texts.
const MaxDepth = 500

// Encode writes a value in blocks indented by two spaces. What Decode makes of the text is equal to
// the value.
func Encode(v starlark.Value) (string, error) {
	node, err := nodeOf(v, 0)
	if err != nil {
		return "", err
	}
	text, err := yaml.Dump(node)
	return string(text), err
}

// nodeOf is a value as the library writes it.
func nodeOf(v starlark.Value, depth int) (*yaml.Node, error) {
	if depth > MaxDepth {
		return nil, fmt.Errorf("the value is nested deeper than %d levels, or contains itself", MaxDepth)
	}
	switch v := v.(type) {
	case starlark.NoneType:
		return plain("!!null", "null"), nil
	case starlark.Bool:
		return plain("!!bool", strings.ToLower(v.String())), nil
	case starlark.Int:
		return plain("!!int", v.String()), nil
	case starlark.Float:
		return plain("!!float", float(float64(v), v.String())), nil
	case starlark.String:
		if !utf8.ValidString(string(v)) {
			return nil, fmt.Errorf("a string that is not UTF-8 cannot be encoded")
		}
		return textOf(string(v)), nil
	case *starlark.Dict:
		return mapping(v, depth)
	case *effect.Record:
		return nodeOf(v.Plain(), depth)
	case *starlark.List, starlark.Tuple:
		n := &yaml.Node{Kind: yaml.SequenceNode, Tag: "!!seq"}
		for e := range starlark.Elements(v.(starlark.Iterable)) {
			item, err := nodeOf(e, depth+1)
			if err != nil {
				return nil, err
			}
			n.Content = append(n.Content, item)
		}
		return n, nil
	}
	return nil, fmt.Errorf("cannot encode %s as YAML", v.Type())
}

func mapping(d *starlark.Dict, depth int) (*yaml.Node, error) {
	n := &yaml.Node{Kind: yaml.MappingNode, Tag: "!!map"}
	for k, v := range d.Entries() {
		if _, container := k.(starlark.Tuple); container {
			return nil, fmt.Errorf("cannot encode a key that is a %s as YAML", k.Type())
		}
		key, err := nodeOf(k, depth+1)
		if err != nil {
			return nil, err
		}
		value, err := nodeOf(v, depth+1)
		if err != nil {
			return nil, err
		}
		n.Content = append(n.Content, key, value)
	}
	return n, nil
}

func plain(tag, text string) *yaml.Node {
	return &yaml.Node{Kind: yaml.ScalarNode, Tag: tag, Value: text}
}

// textOf is a string: as lines in a block where that keeps it, else with quotes where it needs
// them.
func textOf(s string) *yaml.Node {
	n := plain("!!str", s)
	switch {
	case awkward(s) || oldBool(s):
		n.Style = yaml.DoubleQuotedStyle
	case strings.Contains(s, "\n") && strings.TrimSpace(s) != "" && s[0] != ' ' && s[0] != '\n':
		n.Style = yaml.LiteralStyle
	}
	return n
}

// awkward tells whether a string holds what only an escape keeps.
func awkward(s string) bool {
	return strings.ContainsFunc(s, func(r rune) bool { return r != '\n' && (!unicode.IsPrint(r) || r == '\ufeff') }) ||
		strings.HasSuffix(s, "\n\n") || strings.Contains(s, " \n")
}

// oldBool tells whether readers of YAML 1.1 take a word for a bool.
func oldBool(s string) bool {
	switch strings.ToLower(s) {
	case "y", "n", "yes", "no", "on", "off":
		return true
	}
	return false
}

func float(f float64, text string) string {
	switch {
	case math.IsNaN(f):
		return ".nan"
	case math.IsInf(f, 1):
		return ".inf"
	case math.IsInf(f, -1):
		return "-.inf"
	}
	return text
}

// Size bounds the text of a value in bytes. It goes through all of it, as often as its parts are
// reached.
func Size(v starlark.Value) int64 { return sizeOf(v, 0) }

func sizeOf(v starlark.Value, depth int) int64 {
	indent := int64(2*depth + 8)
	if depth > MaxDepth {
		return 0 // the call itself finds the words
	}
	switch v := v.(type) {
	case starlark.String:
		n := int64(len(v)) + indent*int64(1+strings.Count(string(v), "\n"))
		if awkward(string(v)) {
			n += 5 * int64(len(v))
		}
		return n
	case *effect.Record:
		return sizeOf(v.Plain(), depth)
	case *starlark.Dict:
		n := indent
		for k, e := range v.Entries() {
			n += sizeOf(k, depth+1) + sizeOf(e, depth+1)
		}
		return n
	case *starlark.List, starlark.Tuple:
		n := indent
		for e := range starlark.Elements(v.(starlark.Iterable)) {
			n += sizeOf(e, depth+1)
		}
		return n
	case starlark.Int:
		return indent + int64(v.BigInt().BitLen())/3
	}
	return indent + 32
}
