package stdlib

import (
	"go.starlark.net/lib/json"
	"go.starlark.net/starlark"

	"starling/lang/effect"
)

// Bounds of the texts that json reads. Going over one is an error of kind limit.
const (
	MaxJSONDepth  = 10_000    // levels of nesting: texts are read by recursion
	MaxJSONDigits = 1_000_000 // of one int: reading them takes more than linear time
)

// jsonCost goes through a text as a decoder would, without making anything.
type jsonCost struct {
	value  int64 // bytes that the value may take
	breaks int64 // line breaks of the indented text
	levels int64 // levels of indentation behind all of them
	depth  int
	digits int // of the number in which the text stands
}

// scan fails for a text that must not be read. Mistakes are not its business.
func (c *jsonCost) scan(text string) error {
	c.value = int64(len(text)) + 64
	for i := 0; i < len(text); i++ {
		b := text[i]
		if b == '"' {
			i = endOfQuoted(text, i)
			continue
		}
		if '0' <= b && b <= '9' {
			if c.digits++; c.digits > MaxJSONDigits {
				return effect.Errorf(effect.KindLimit, "a number of more than %d digits: the limit is %d digits", c.digits-1, MaxJSONDigits)
			}
			continue
		}
		c.digits = 0
		if err := c.sign(b); err != nil {
			return err
		}
	}
	return nil
}

// sign counts what a sign between values stands for.
func (c *jsonCost) sign(b byte) error {
	switch b {
	case '{':
		c.value += 512 + 96
		return c.open()
	case '[':
		c.value += 56 + 40
		return c.open()
	case '}', ']':
		c.depth--
		c.line()
	case ',':
		c.value += 40
		c.line()
	case ':':
		c.value += 96
	}
	return nil
}

func (c *jsonCost) open() error {
	if c.depth++; c.depth > MaxJSONDepth {
		return effect.Errorf(effect.KindLimit, "the text is nested deeper than %d levels", MaxJSONDepth)
	}
	c.line()
	return nil
}

func (c *jsonCost) line() {
	c.breaks++
	c.levels += int64(max(c.depth, 0))
}

// endOfQuoted is where the quotes that begin at i end.
func endOfQuoted(text string, i int) int {
	for i++; i < len(text) && text[i] != '"'; i++ {
		if text[i] == '\\' {
			i++
		}
	}
	return i
}

// decodedSize bounds what json.decode makes.
func decodedSize(c *effect.Call) (int64, error) {
	var cost jsonCost
	err := cost.scan(c.Text("x", ""))
	return cost.value, err
}

// indentedSize bounds what json.indent makes.
func indentedSize(c *effect.Call) (int64, error) { return sizeIndented(c, c.Text("str", "")) }

// encodedIndentedSize bounds what json.encode_indent makes. The text itself is bounded like that of
// json.encode.
func encodedIndentedSize(c *effect.Call) (int64, error) {
	text, ok := encodeJSON(c.Get("x"))
	if !ok {
		encode := json.Module.Members["encode"].(*starlark.Builtin)
		v, err := encode.CallInternal(new(starlark.Thread), starlark.Tuple{c.Get("x")}, nil)
		if err != nil {
			return 0, nil // the call itself finds the words
		}
		text = string(v.(starlark.String))
	}
	return sizeIndented(c, text)
}

func sizeIndented(c *effect.Call, text string) (int64, error) {
	var cost jsonCost
	err := cost.scan(text)
	return int64(len(text)) + cost.breaks*int64(2+len(c.Text("prefix", ""))) + cost.levels*int64(len(c.Text("indent", "\t"))), err
}
