// Package yamltext reads and writes Starlark's values as YAML: plain data only, such as JSON could
// hold too.
package yamltext

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

	"starling/lang/crowd"
	"starling/lang/effect"
)

// MaxDigits bounds the ints of a text, whose reading takes more than linear time.
const MaxDigits = 1_000_000

// Decode reads a text that is one document; an empty one is None. Ints are exact, timestamps and
// the bools of YAML 1.1 stay text. Aliases, tags of one's own, merge keys and keys that are lists
// are refused, with line and column. It does not bound the size of the text.
func Decode(text string) (starlark.Value, error) {
	loader, err := yaml.NewLoader(strings.NewReader(text))
	if err != nil {
		return nil, err
	}
	var document, more yaml.Node
	switch err := loader.Load(&document); {
	case errors.Is(err, io.EOF):
		return starlark.None, nil
	case err != nil:
		return nil, located(err)
	}
	switch err := loader.Load(&more); {
	case err == nil:
		return nil, fmt.Errorf("line %d: a second document begins; want one", more.Line)
	case !errors.Is(err, io.EOF):
		return nil, located(err)
	}
	return valueOf(&document)
}

// located says where a text is wrong.
func located(err error) error {
	var e *yaml.LoadError
	if errors.As(err, &e) && e.Mark.Line > 0 {
		return fmt.Errorf("line %d, column %d: %s", e.Mark.Line, e.Mark.Column, e.Message)
	}
	return err
}

func valueOf(n *yaml.Node) (starlark.Value, error) {
	switch n.Kind {
	case yaml.DocumentNode:
		return valueOf(n.Content[0])
	case yaml.SequenceNode:
		if tag := n.ShortTag(); tag != "!!seq" {
			return nil, refusal(n, "the tag "+tag)
		}
		items := make([]starlark.Value, len(n.Content))
		for i, item := range n.Content {
			v, err := valueOf(item)
			if err != nil {
				return nil, err
			}
			items[i] = v
		}
		return starlark.NewList(items), nil
	case yaml.MappingNode:
		return dictOf(n)
	case yaml.AliasNode:
		return nil, refusal(n, "the alias *"+n.Value)
	}
	return scalar(n)
}

func refusal(n *yaml.Node, what string) error {
	return fmt.Errorf("line %d, column %d: %s cannot be read here; want plain data", n.Line, n.Column, what)
}

// distinct refuses a mapping whose keys were chosen to collide.
func distinct(n *yaml.Node) error {
	keys := func(yield func(starlark.Value) bool) {
		for i := 0; i < len(n.Content); i += 2 {
			if k, err := scalar(n.Content[i]); n.Content[i].Kind == yaml.ScalarNode && err == nil && !yield(k) {
				return
			}
		}
	}
	if err := crowd.Check(len(n.Content)/2, keys); err != nil {
		return fmt.Errorf("line %d, column %d: %w", n.Line, n.Column, err)
	}
	return nil
}

func dictOf(n *yaml.Node) (starlark.Value, error) {
	if tag := n.ShortTag(); tag != "!!map" {
		return nil, refusal(n, "the tag "+tag)
	}
	if err := distinct(n); err != nil {
		return nil, err
	}
	d := starlark.NewDict(len(n.Content) / 2)
	for i := 0; i+1 < len(n.Content); i += 2 {
		key := n.Content[i]
		if key.Kind != yaml.ScalarNode {
			return nil, refusal(key, "a key that is no text or number")
		}
		k, err := valueOf(key)
		if err != nil {
			return nil, err
		}
		if _, twice, _ := d.Get(k); twice {
			return nil, fmt.Errorf("line %d, column %d: the key %s is there twice", key.Line, key.Column, k)
		}
		v, err := valueOf(n.Content[i+1])
		if err != nil {
			return nil, err
		}
		if err := d.SetKey(k, v); err != nil {
			return nil, fmt.Errorf("line %d, column %d: %w", key.Line, key.Column, err)
		}
	}
	return d, nil
}

// scalar reads a scalar by its tag. An int that does not fit 64 bits is a float for the library;
// its digits are here.
func scalar(n *yaml.Node) (starlark.Value, error) {
	switch tag := n.ShortTag(); tag {
	case "!!str", "!!timestamp":
		return starlark.String(n.Value), nil
	case "!!null":
		return starlark.None, nil
	case "!!bool":
		return starlark.Bool(strings.EqualFold(n.Value, "true")), nil
	case "!!int", "!!float":
		return number(n)
	case "!!merge":
		return nil, refusal(n, "the merge key <<")
	default:
		return nil, refusal(n, "the tag "+tag)
	}
}

func number(n *yaml.Node) (starlark.Value, error) {
	digits := strings.TrimPrefix(n.Value, "+")
	if len(digits) > MaxDigits {
		return nil, effect.Errorf(effect.KindLimit, "line %d: a number of %d digits: the limit is %d", n.Line, len(digits), MaxDigits)
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
		return nil, refusal(n, "the number "+n.Value)
	}
	return starlark.Float(f), nil
}
