package stdlib

import (
	"fmt"

	"go.starlark.net/starlark"

	"starling/lang/effect"
	"starling/stdlib/yamltext"
)

// MaxYAML bounds a YAML text in bytes: the tree that it is read into takes some hundred times as
// much.
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
			Size:   func(c *effect.Call) (int64, error) { return yamltext.Size(c.Get("x")), nil },
			Pure: func(c *effect.Call) (starlark.Value, error) {
				text, err := yamltext.Encode(c.Get("x"))
				c.Steps += int64(len(text))
				if err != nil {
					return nil, fmt.Errorf("yaml.encode: %w", err)
				}
				return starlark.String(text), nil
			},
		},
	}
}

// yamlDecodedSize bounds what a text can mean: each sign that may begin a dict, a list or an entry
// counts as one.
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
	text := c.Text("text", "")
	c.Steps += int64(len(text))
	v, err := yamltext.Decode(text)
	if err == nil {
		return v, nil
	}
	if otherwise := c.Get("default"); otherwise != nil {
		return otherwise, nil
	}
	return nil, fmt.Errorf("yaml.decode: %w", err)
}
