package stdlib

import (
	"encoding/json"
	"math/big"
	"strconv"
	"strings"
	"unicode/utf8"

	"go.starlark.net/starlark"

	"starling/lang/crowd"
	"starling/lang/effect"
)

// jsonDecoder reads JSON texts as go.starlark.net does, with less memory: a list and a dict are
// made when their elements are known, and a key that comes again is the same value. What it gives
// up on is read by the reference, whose words the error then has.
type jsonDecoder struct {
	text  string
	pos   int
	stack []starlark.Value // the elements, keys and values of the lists and dicts around
	err   error            // why the text is refused
	keys  [64]starlark.Value
}

// decodeJSON is the value of a JSON text; ok is false if the reference is to be asked. It recurses:
// see jsonCost. What the reference must not be asked either, because of colliding keys, is an
// error.
func decodeJSON(text string) (v starlark.Value, ok bool, err error) {
	d := jsonDecoder{text: text}
	v = d.value()
	d.space()
	if ok = v != nil && d.pos == len(text); !ok && d.err == nil {
		d.err = crowdedKeys(text)
	}
	return v, ok, d.err
}

// crowdedKeys refuses a text of which nothing is known but that it is not read quickly.
func crowdedKeys(text string) error {
	d := jsonDecoder{text: text}
	known := map[string]bool{}
	var pairs []starlark.Value
	for {
		next := strings.IndexByte(text[d.pos:], '"')
		if next < 0 {
			return distinct(pairs)
		}
		d.pos += next
		start := d.pos
		key, ok := d.quoted()
		if d.pos = max(d.pos, start+1); ok && d.space() == ':' && !known[key] {
			known[key] = true
			pairs = append(pairs, starlark.String(key), nil)
		}
	}
}

// space skips white space and gives the byte behind it, 0 at the end.
func (d *jsonDecoder) space() byte {
	for ; d.pos < len(d.text); d.pos++ {
		switch b := d.text[d.pos]; b {
		case ' ', '\t', '\n', '\r':
		default:
			return b
		}
	}
	return 0
}

// value reads a value, nil for what it gives up on.
func (d *jsonDecoder) value() starlark.Value {
	switch b := d.space(); b {
	case '"':
		if s, ok := d.quoted(); ok {
			return starlark.String(s)
		}
	case '[':
		return d.list()
	case '{':
		return d.dict()
	case 'n':
		return d.word("null", starlark.None)
	case 't':
		return d.word("true", starlark.True)
	case 'f':
		return d.word("false", starlark.False)
	case '-', '0', '1', '2', '3', '4', '5', '6', '7', '8', '9':
		return d.number()
	}
	return nil
}

func (d *jsonDecoder) word(word string, v starlark.Value) starlark.Value {
	if !strings.HasPrefix(d.text[d.pos:], word) {
		return nil
	}
	d.pos += len(word)
	return v
}

func (d *jsonDecoder) list() starlark.Value {
	first := len(d.stack)
	d.pos++ // '['
	if d.space() == ']' {
		d.pos++
		return starlark.NewList(nil)
	}
	for {
		v := d.value()
		if v == nil {
			return nil
		}
		d.stack = append(d.stack, v)
		switch d.space() {
		case ',':
			d.pos++
		case ']':
			d.pos++
			elems := append([]starlark.Value(nil), d.stack[first:]...)
			d.stack = d.stack[:first]
			return starlark.NewList(elems)
		default:
			return nil
		}
	}
}

func (d *jsonDecoder) dict() starlark.Value {
	first := len(d.stack)
	d.pos++ // '{'
	if d.space() == '}' {
		d.pos++
		return new(starlark.Dict)
	}
	for {
		if !d.entry() {
			return nil
		}
		switch d.space() {
		case ',':
			d.pos++
		case '}':
			d.pos++
			if d.err = distinct(d.stack[first:]); d.err != nil {
				return nil
			}
			dict := starlark.NewDict((len(d.stack) - first) / 2)
			for i := first; i < len(d.stack); i += 2 {
				_ = dict.SetKey(d.stack[i], d.stack[i+1]) // a new dict and a text: cannot fail
			}
			d.stack = d.stack[:first]
			return dict
		default:
			return nil
		}
	}
}

// distinct refuses pairs whose keys were chosen to collide.
func distinct(pairs []starlark.Value) error {
	keys := func(yield func(starlark.Value) bool) {
		for i := 0; i < len(pairs) && yield(pairs[i]); i += 2 {
		}
	}
	if err := crowd.Check(len(pairs)/2, keys); err != nil {
		return effect.Errorf(effect.KindLimit, "%v", err)
	}
	return nil
}

func (d *jsonDecoder) entry() bool {
	if d.space() != '"' {
		return false
	}
	key, ok := d.quoted()
	if !ok || d.space() != ':' {
		return false
	}
	d.stack = append(d.stack, d.key(key))
	d.pos++ // ':'
	v := d.value()
	d.stack = append(d.stack, v)
	return v != nil
}

// key is a text as a value, the same as the last time where the text is.
func (d *jsonDecoder) key(s string) starlark.Value {
	if s == "" {
		return starlark.String(s)
	}
	slot := &d.keys[(len(s)*7+int(s[0])+int(s[len(s)-1])*3)%len(d.keys)]
	if known, ok := (*slot).(starlark.String); !ok || string(known) != s {
		*slot = starlark.String(s)
	}
	return *slot
}

// quoted reads a text in quotes. Text without escapes is a part of what is read.
func (d *jsonDecoder) quoted() (string, bool) {
	start := d.pos
	escapes, high, control := false, false, false
	for i := start + 1; i < len(d.text); i++ {
		switch b := d.text[i]; {
		case b == '\\':
			escapes = true
			i++ // what is escaped
		case b == '"':
			d.pos = i + 1
			s := d.text[start+1 : i]
			if escapes || high && (control || !utf8.ValidString(s)) {
				return unquoteJSON(d.text[start : i+1])
			}
			return s, true
		case b >= utf8.RuneSelf:
			high = true
		case b < ' ':
			control = true // the reference takes these where all is ASCII
		}
	}
	return "", false
}

func unquoteJSON(quoted string) (s string, ok bool) {
	err := json.Unmarshal([]byte(quoted), &s)
	return s, err == nil
}

func (d *jsonDecoder) number() starlark.Value {
	start, float := d.pos, false
	for d.pos++; d.pos < len(d.text); d.pos++ {
		b := d.text[d.pos]
		if b == '.' || b == 'e' || b == 'E' || b == '+' || b == '-' {
			float = true
		} else if b < '0' || b > '9' {
			break
		}
	}
	num := d.text[start:d.pos]
	digits := strings.TrimPrefix(num, "-")
	if digits == "" || digits[0] == '0' && len(digits) > 1 && '0' <= digits[1] && digits[1] <= '9' {
		return nil
	}
	if float {
		x, err := strconv.ParseFloat(num, 64)
		if err != nil {
			return nil
		}
		return starlark.Float(x)
	}
	if n, err := strconv.ParseInt(num, 10, 64); err == nil {
		return starlark.MakeInt64(n)
	}
	x, ok := new(big.Int).SetString(num, 10)
	if !ok {
		return nil
	}
	return starlark.MakeBigInt(x)
}
