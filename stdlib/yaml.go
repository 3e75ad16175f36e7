package stdlib

import (
	"errors"
	"fmt"
	"io"
	"math"
	"math/big"
	"strconv"
	"strings"

	"go.starlark.net/starlark"
	"go.yaml.in/yaml/v4"

	"starling/lang/effect"
)

// MaxYAML bounds a YAML text in bytes: the tree that it is read into takes some hundred times as much.
const MaxYAML = 4 << 20

func yamlModule() []*effect.Builtin {
	return []*effect.Builtin{
		{
			FullName: "yaml.decode", Result: "any",
			Doc: "The value of a YAML text, which must be one document. Ints are exact, timestamps stay text, and yes, no, on and off are text too. Aliases, tags " +
				"of one's own and keys that are lists are refused.",
			Params: []effect.Param{
				{Name: "text", Type: "string", Doc: "The text."},
				{Name: "default", Default: "unset", Nullable: true, Doc: "What to give for a text that is not YAML, instead of failing."},
			},
			Size: yamlDecodedSize,
			Pure: yamlDecode,
		},
		{
			FullName: "yaml.encode", Result: "string",
			Doc:    "The YAML text of a value, in blocks indented by two spaces. What yaml.decode makes of it is equal to the value.",
			Params: []effect.Param{{Name: "x", Nullable: true, Doc: "None, a bool, number, string, list, tuple, dict whose keys are no containers, or record."}},
			Size:   yamlEncodedSize,
			Pure: func(c *effect.Call) (starlark.Value, error) {
				node, err := yamlNode(c.Get("x"), 0)
				if err != nil {
					return nil, fmt.Errorf("yaml.encode: %w", err)
				}
				text, err := yaml.Dump(node)
				return starlark.String(text), err
			},
		},
	}
}

// yamlDecodedSize bounds what a text can mean: each sign that may begin a dict, a list or an entry counts as one.
func yamlDecodedSize(c *effect.Call) (int64, error) {
	text := c.Text("text", "")
	if len(text) > MaxYAML {
		return 0, effect.Errorf(effect.KindLimit, "yaml.decode: a text of %d bytes: the limit is %d", len(text), MaxYAML)
	}
	n := int64(len(text)) + 640
	for i := range len(text) {
		switch text[i] {
		case ':', '{', '?':
			n += 512 + 96
		case '[', '-', ',', '\n':
			n += 56 + 40
		}
	}
	return n, nil
}

func yamlDecode(c *effect.Call) (starlark.Value, error) {
	v, err := decodeYAML(c.Text("text", ""))
	if err == nil {
		return v, nil
	}
	if otherwise := c.Get("default"); otherwise != nil {
		return otherwise, nil
	}
	return nil, fmt.Errorf("yaml.decode: %w", err)
}

func decodeYAML(text string) (starlark.Value, error) {
	loader, err := yaml.NewLoader(strings.NewReader(text))
	if err != nil {
		return nil, err
	}
	var document, more yaml.Node
	switch err := loader.Load(&document); {
	case errors.Is(err, io.EOF):
		return starlark.None, nil
	case err != nil:
		return nil, yamlError(err)
	}
	switch err := loader.Load(&more); {
	case err == nil:
		return nil, fmt.Errorf("line %d: a second document begins; want one", more.Line)
	case !errors.Is(err, io.EOF):
		return nil, yamlError(err)
	}
	return yamlValue(&document)
}

// yamlError says where a text is wrong.
func yamlError(err error) error {
	var e *yaml.LoadError
	if errors.As(err, &e) && e.Mark.Line > 0 {
		return fmt.Errorf("line %d, column %d: %s", e.Mark.Line, e.Mark.Column, e.Message)
	}
	return err
}

func yamlValue(n *yaml.Node) (starlark.Value, error) {
	switch n.Kind {
	case yaml.DocumentNode:
		return yamlValue(n.Content[0])
	case yaml.SequenceNode:
		if tag := n.ShortTag(); tag != "!!seq" {
			return nil, yamlRefusal(n, "the tag "+tag)
		}
		items := make([]starlark.Value, len(n.Content))
		for i, item := range n.Content {
			v, err := yamlValue(item)
			if err != nil {
				return nil, err
			}
			items[i] = v
		}
		return starlark.NewList(items), nil
	case yaml.MappingNode:
		return yamlDict(n)
	case yaml.AliasNode:
		return nil, yamlRefusal(n, "the alias *"+n.Value)
	}
	return yamlScalar(n)
}

func yamlRefusal(n *yaml.Node, what string) error {
	return fmt.Errorf("line %d, column %d: %s cannot be read here; want plain data", n.Line, n.Column, what)
}

func yamlDict(n *yaml.Node) (starlark.Value, error) {
	if tag := n.ShortTag(); tag != "!!map" {
		return nil, yamlRefusal(n, "the tag "+tag)
	}
	d := starlark.NewDict(len(n.Content) / 2)
	for i := 0; i+1 < len(n.Content); i += 2 {
		key := n.Content[i]
		if key.Kind != yaml.ScalarNode {
			return nil, yamlRefusal(key, "a key that is no text or number")
		}
		k, err := yamlValue(key)
		if err != nil {
			return nil, err
		}
		if _, twice, _ := d.Get(k); twice {
			return nil, fmt.Errorf("line %d, column %d: the key %s is there twice", key.Line, key.Column, k)
		}
		v, err := yamlValue(n.Content[i+1])
		if err != nil {
			return nil, err
		}
		if err := d.SetKey(k, v); err != nil {
			return nil, fmt.Errorf("line %d, column %d: %w", key.Line, key.Column, err)
		}
	}
	return d, nil
}

// yamlScalar reads a scalar by its tag. An int that does not fit 64 bits is a float for the library; its digits are here.
func yamlScalar(n *yaml.Node) (starlark.Value, error) {
	switch tag := n.ShortTag(); tag {
	case "!!str", "!!timestamp":
		return starlark.String(n.Value), nil
	case "!!null":
		return starlark.None, nil
	case "!!bool":
		return starlark.Bool(strings.EqualFold(n.Value, "true")), nil
	case "!!int", "!!float":
		return yamlNumber(n)
	case "!!merge":
		return nil, yamlRefusal(n, "the merge key <<")
	default:
		return nil, yamlRefusal(n, "the tag "+tag)
	}
}

func yamlNumber(n *yaml.Node) (starlark.Value, error) {
	digits := strings.TrimPrefix(n.Value, "+")
	if len(digits) > MaxJSONDigits {
		return nil, effect.Errorf(effect.KindLimit, "line %d: a number of %d digits: the limit is %d", n.Line, len(digits), MaxJSONDigits)
	}
	if i, ok := new(big.Int).SetString(digits, 0); ok {
		return starlark.MakeBigInt(i), nil
	}
	switch strings.ToLower(strings.TrimPrefix(digits, "-")) {
	case ".inf":
		return starlark.Float(math.Inf(1 - 2*strings.Count(digits[:1], "-"))), nil
	case ".nan":
		return starlark.Float(math.NaN()), nil
	}
	f, err := strconv.ParseFloat(strings.ReplaceAll(digits, "_", ""), 64)
	if err != nil {
		return nil, yamlRefusal(n, "the number "+n.Value)
	}
	return starlark.Float(f), nil
}
