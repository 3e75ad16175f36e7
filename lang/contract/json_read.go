package contract

import (
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"math/big"
	"strconv"
	"strings"
	"unicode/utf8"

	"go.starlark.net/starlark"

	"starling/lang/crowd"
	"starling/lang/diagnostic"
)

// FromJSON reads one JSON value (RFC 8259): objects are dicts in their order, numbers without a
// point or exponent are ints of any size, all others floats.
//
// The error is a diagnostic.Diagnostic of kind "json" with line and column. Refused besides what is
// not JSON: a key that stands twice in one object, a number beyond the range of a float, text that
// is not UTF-8, nesting of more than 512 levels. Half of a surrogate pair, as in "\ud83d", reads as
// U+FFFD.
func FromJSON(data []byte) (v starlark.Value, err error) {
	v, _, err = fromJSON(data)
	return v, err
}

// FromOutside is FromJSON for what others send. Its errors have the path of the value that is
// wrong, too. (Scripts see the errors of FromJSON, which therefore stay as they are.)
func FromOutside(data []byte) (starlark.Value, error) {
	v, path, err := fromJSON(data)
	if d := (diagnostic.Diagnostic{}); errors.As(err, &d) && path != "" {
		d.Path = path
		err = d
	}
	return v, err
}

func fromJSON(data []byte) (v starlark.Value, path string, err error) {
	r := &jsonReader{text: string(data)}
	if valid := len(validPrefix(r.text)); valid < len(r.text) {
		return nil, "", r.wrong(valid, valid+1, "this is not UTF-8", "", "")
	}
	v, err = r.value()
	if err != nil {
		return nil, strings.TrimPrefix(r.path, "."), err
	}
	if r.blank(); r.at < len(r.text) {
		return nil, "", r.unexpected("the end")
	}
	return v, "", nil
}

// A jsonReader is a recursive-descent reader over the whole text; at is the offset of the next
// byte.
type jsonReader struct {
	text  string
	at    int
	depth int
	path  string // of the value that is wrong, made on the way out to it
}

// wrong is an error with a place.
func (r *jsonReader) wrong(start, end int, message, got, want string) error {
	d := diagnostic.Diagnostic{Kind: "json", Message: message, Got: got, Want: want}
	return d.At("", r.text, start, end)
}

// unexpected speaks of what stands at the cursor: a whole word or number, or one rune.
func (r *jsonReader) unexpected(want string) error {
	rest := r.text[r.at:]
	if rest == "" {
		return r.wrong(r.at, r.at, "this is not JSON", "the end", want)
	}
	n := prefix(rest, func(c byte) bool { return isLetter(c) || isDigit(c) || strings.IndexByte("+-.", c) >= 0 })
	if n == 0 {
		_, n = utf8.DecodeRuneInString(rest)
	}
	return r.wrong(r.at, r.at+n, "this is not JSON", quote(shorten(rest[:n], 40)), want)
}

func (r *jsonReader) blank() {
	for r.at < len(r.text) && strings.IndexByte(" \t\r\n", r.text[r.at]) >= 0 {
		r.at++
	}
}

// take moves past c and blanks before it, if c is what comes next.
func (r *jsonReader) take(c byte) bool {
	r.blank()
	if r.at < len(r.text) && r.text[r.at] == c {
		r.at++
		return true
	}
	return false
}

func (r *jsonReader) value() (starlark.Value, error) {
	r.blank()
	rest := r.text[r.at:]
	switch {
	case rest == "":
		return nil, r.unexpected("a value")
	case rest[0] == '{':
		return r.nested(r.object)
	case rest[0] == '[':
		return r.nested(r.array)
	case rest[0] == '"':
		s, err := r.string()
		return starlark.String(s), err
	case rest[0] == '-' || isDigit(rest[0]):
		return r.number()
	}
	return r.word()
}

// word reads null, true or false, and is also where all that begins no value ends up.
func (r *jsonReader) word() (starlark.Value, error) {
	words := [...]struct {
		text  string
		value starlark.Value
	}{{"null", starlark.None}, {"true", starlark.True}, {"false", starlark.False}}
	n := prefix(r.text[r.at:], isLetter)
	for _, w := range words {
		if r.text[r.at:r.at+n] == w.text {
			r.at += n
			return w.value, nil
		}
	}
	return nil, r.unexpected("a value")
}

// nested reads what follows an opening bracket.
func (r *jsonReader) nested(read func() (starlark.Value, error)) (starlark.Value, error) {
	if r.depth == maxJSONDepth {
		message := fmt.Sprintf("nested more than %d deep", maxJSONDepth)
		return nil, r.wrong(r.at, r.at+1, message, "", "")
	}
	r.depth++
	r.at++ // the bracket
	v, err := read()
	r.depth--
	return v, err
}

func (r *jsonReader) array() (starlark.Value, error) {
	var elems []starlark.Value
	if r.take(']') {
		return starlark.NewList(nil), nil
	}
	for {
		v, err := r.value()
		if err != nil {
			r.path = fmt.Sprintf("[%d]%s", len(elems), r.path)
			return nil, err
		}
		elems = append(elems, v)
		if r.take(']') {
			return starlark.NewList(elems), nil
		}
		if !r.take(',') {
			return nil, r.unexpected(`"," or "]"`)
		}
	}
}

func (r *jsonReader) object() (starlark.Value, error) {
	d := new(starlark.Dict)
	if r.take('}') {
		return d, nil
	}
	for {
		if err := r.entry(d); err != nil {
			return nil, err
		}
		if r.take('}') {
			return d, nil
		}
		if !r.take(',') {
			return nil, r.unexpected(`"," or "}"`)
		}
	}
}

// entry reads one key and its value. A key that stands twice is refused: which of the two was
// meant, and which of them another reader would take, nobody can say.
func (r *jsonReader) entry(d *starlark.Dict) error {
	r.blank()
	start := r.at
	if !strings.HasPrefix(r.text[start:], `"`) {
		return r.unexpected("a key in double quotes")
	}
	key, err := r.string()
	if err != nil {
		return err
	}
	end := r.at
	if !r.take(':') {
		return r.unexpected(`":"`)
	}
	v, err := r.value()
	if err != nil {
		r.path = "." + shorten(key, 40) + r.path
		return err
	}
	before := d.Len()
	put(d, key, v)
	if d.Len() == before {
		r.path = "." + shorten(key, 40)
		return r.wrong(start, end, "key "+quote(shorten(key, 40))+" stands twice in one object", "", "")
	}
	if n := d.Len(); n&(n-1) == 0 { // a table that has doubled
		if err := crowd.Check(n, starlark.Elements(d)); err != nil {
			return r.wrong(start, end, err.Error(), "", "keys that nobody has chosen so")
		}
	}
	return nil
}

// string reads a text. One without escapes is a copy of the source, so that it does not keep all of
// that alive.
func (r *jsonReader) string() (string, error) {
	start := r.at
	escaped := false
	for r.at++; r.at < len(r.text); r.at++ {
		switch c := r.text[r.at]; {
		case c == '"':
			r.at++
			return r.unquoted(start, escaped)
		case c == '\\':
			escaped = true
			r.at++
		case c < ' ':
			return "", r.wrong(r.at, r.at+1, "a control character in a string must be escaped", fmt.Sprintf("U+%04X", c), "")
		}
	}
	return "", r.wrong(start, start+1, `the string that begins here has no closing "`, "", "")
}

// unquoted is the string whose source began at start and has just ended. The standard library knows
// the escapes.
func (r *jsonReader) unquoted(start int, escaped bool) (string, error) {
	raw := r.text[start:r.at]
	if !escaped {
		return strings.Clone(raw[1 : len(raw)-1]), nil
	}
	var s string
	if err := json.Unmarshal([]byte(raw), &s); err != nil {
		return "", r.wrong(start, r.at, `an escape is none of \" \\ \/ \b \f \n \r \t \u1234`, "", "")
	}
	return s, nil
}

// number reads with the scanner of contracts, whose numbers are JSON's but for leading zeros.
func (r *jsonReader) number() (starlark.Value, error) {
	start := r.at
	kind, n := numberToken(r.text[start:])
	digits := strings.TrimPrefix(r.text[start:start+n], "-")
	if kind != tokenNumber || len(digits) > 1 && digits[0] == '0' && isDigit(digits[1]) {
		return nil, r.unexpected("a number")
	}
	r.at += n
	text := r.text[start:r.at]
	if strings.ContainsAny(text, ".eE") {
		f, _ := strconv.ParseFloat(text, 64) // the only error there can be is an infinite f
		if math.IsInf(f, 0) {
			return nil, r.wrong(start, r.at, "the number is beyond the range of a float", "", "")
		}
		return starlark.Float(f), nil
	}
	if i, err := strconv.ParseInt(text, 10, 64); err == nil {
		return starlark.MakeInt64(i), nil
	}
	i, _ := new(big.Int).SetString(text, 10) // digits only
	return starlark.MakeBigInt(i), nil
}
