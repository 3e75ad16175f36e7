package stdlib

import (
	"go.starlark.net/lib/json"
	"go.starlark.net/starlark"

	"starling/lang/effect"
)

// The functions of json and math are go.starlark.net's own, declared once more as data: with
// documentation, checked arguments and names that say their module. Their results are the
// reference's by construction, or, where json has a quicker way, by test.

func jsonModule() []*effect.Builtin {
	prefix := effect.Param{Name: "prefix", Type: "string", Default: `""`, KeywordOnly: true, Doc: "What each line but the first begins with."}
	indent := effect.Param{Name: "indent", Type: "string", Default: `"\t"`, KeywordOnly: true, Doc: "One level of indentation."}
	encode := reference(json.Module.Members["encode"], "json.encode", "The JSON text of a value, on one line.", "string",
		effect.Param{Name: "x", Nullable: true, Doc: "None, a bool, number, string, list, tuple, dict with string keys, or record."})
	encode.Pure = quicker(encode.Pure, func(c *effect.Call) (starlark.Value, bool) {
		text, ok := encodeJSON(c.Get("x"))
		return starlark.String(text), ok
	})
	encodeIndent := reference(json.Module.Members["encode_indent"], "json.encode_indent", "The JSON text of a value, on many lines.", "string",
		effect.Param{Name: "x", Nullable: true, Doc: "As for encode."}, prefix, indent)
	encodeIndent.Size = encodedIndentedSize
	decode := reference(json.Module.Members["decode"], "json.decode", "The value of a JSON text. Numbers with a point or an exponent are floats.", "any",
		effect.Param{Name: "x", Type: "string", Doc: "The text."},
		effect.Param{Name: "default", Default: "unset", Nullable: true, Doc: "What to give for a text that is not JSON, instead of failing."})
	slow := decode.Pure
	decode.Pure = func(c *effect.Call) (starlark.Value, error) {
		if v, ok, err := decodeJSON(c.Text("x", "")); ok || err != nil {
			return v, err
		}
		return slow(c)
	}
	decode.Size = decodedSize
	indented := reference(json.Module.Members["indent"], "json.indent", "A JSON text on many lines.", "string",
		effect.Param{Name: "str", Type: "string", Doc: "The text."}, prefix, indent)
	indented.Size = indentedSize
	return []*effect.Builtin{encode, encodeIndent, decode, indented}
}

type pure = func(*effect.Call) (starlark.Value, error)

// quicker tries a quicker way first.
func quicker(slow pure, quick func(*effect.Call) (starlark.Value, bool)) pure {
	return func(c *effect.Call) (starlark.Value, error) {
		if v, ok := quick(c); ok {
			return v, nil
		}
		return slow(c)
	}
}

// reference declares a pure function of go.starlark.net.
func reference(fn starlark.Value, name, doc, result string, params ...effect.Param) *effect.Builtin {
	call := fn.(*starlark.Builtin)
	return &effect.Builtin{
		FullName: name, Doc: doc, Params: params, Result: result,
		Pure: func(c *effect.Call) (starlark.Value, error) {
			var args starlark.Tuple
			var kwargs []starlark.Tuple
			for _, p := range params {
				switch v := c.Get(p.Name); {
				case v == nil:
				case p.KeywordOnly:
					kwargs = append(kwargs, starlark.Tuple{starlark.String(p.Name), v})
				default:
					args = append(args, v)
				}
			}
			return call.CallInternal(new(starlark.Thread), args, kwargs)
		},
	}
}
