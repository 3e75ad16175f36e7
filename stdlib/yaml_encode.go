package stdlib

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

// MaxYAMLDepth bounds the nesting of what is encoded: a value that contains itself has no end. The library reads no deeper texts.
const MaxYAMLDepth = 500

// yamlNode is a value as the library writes it.
func yamlNode(v starlark.Value, depth int) (*yaml.Node, error) {
	if depth > MaxYAMLDepth {
		return nil, fmt.Errorf("the value is nested deeper than %d levels, or contains itself", MaxYAMLDepth)
	}
	switch v := v.(type) {
	case starlark.NoneType:
		return yamlPlain("!!null", "null"), nil
	case starlark.Bool:
		return yamlPlain("!!bool", strings.ToLower(v.String())), nil
	case starlark.Int:
		return yamlPlain("!!int", v.String()), nil
	case starlark.Float:
		return yamlPlain("!!float", yamlFloat(float64(v), v.String())), nil
	case starlark.String:
		if !utf8.ValidString(string(v)) {
			return nil, fmt.Errorf("a string that is not UTF-8 cannot be encoded")
		}
		return yamlText(string(v)), nil
	case *starlark.Dict:
		return yamlMapping(v, depth)
	case *effect.Record:
		return yamlNode(v.Plain(), depth)
	case *starlark.List, starlark.Tuple:
		n := &yaml.Node{Kind: yaml.SequenceNode, Tag: "!!seq"}
		for e := range starlark.Elements(v.(starlark.Iterable)) {
			item, err := yamlNode(e, depth+1)
			if err != nil {
				return nil, err
			}
			n.Content = append(n.Content, item)
		}
		return n, nil
	}
	return nil, fmt.Errorf("cannot encode %s as YAML", v.Type())
}

func yamlMapping(d *starlark.Dict, depth int) (*yaml.Node, error) {
	n := &yaml.Node{Kind: yaml.MappingNode, Tag: "!!map"}
	for k, v := range d.Entries() {
		if _, container := k.(starlark.Tuple); container {
			return nil, fmt.Errorf("cannot encode a key that is a %s as YAML", k.Type())
		}
		key, err := yamlNode(k, depth+1)
		if err != nil {
			return nil, err
		}
		value, err := yamlNode(v, depth+1)
		if err != nil {
			return nil, err
		}
		n.Content = append(n.Content, key, value)
	}
	return n, nil
}

func yamlPlain(tag, text string) *yaml.Node {
	return &yaml.Node{Kind: yaml.ScalarNode, Tag: tag, Value: text}
}

// yamlText is a string: as lines in a block where that keeps it, else with quotes where it needs them.
func yamlText(s string) *yaml.Node {
	n := yamlPlain("!!str", s)
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

func yamlFloat(f float64, text string) string {
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

// yamlEncodedSize bounds the text of a value. That of the value as Starlark prints it is bounded before, so that going through it is.
func yamlEncodedSize(c *effect.Call) (int64, error) { return yamlSize(c.Get("x"), 0), nil }

func yamlSize(v starlark.Value, depth int) int64 {
	indent := int64(2*depth + 8)
	if depth > MaxYAMLDepth {
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
		return yamlSize(v.Plain(), depth)
	case *starlark.Dict:
		n := indent
		for k, e := range v.Entries() {
			n += yamlSize(k, depth+1) + yamlSize(e, depth+1)
		}
		return n
	case *starlark.List, starlark.Tuple:
		n := indent
		for e := range starlark.Elements(v.(starlark.Iterable)) {
			n += yamlSize(e, depth+1)
		}
		return n
	case starlark.Int:
		return indent + int64(v.BigInt().BitLen())/3
	}
	return indent + 32
}
