package contract

import (
	"encoding/base64"
	"fmt"
	"math"
	"strings"
	"unicode/utf8"

	"go.starlark.net/starlark"
)

// JSON is at the edges only, and this package is where values cross: ToJSON here, FromJSON in
// json_read.go. What a value is survives the way there and back, as far as JSON can tell: an int is
// written without and a float with a point or an exponent, a dict keeps its order, and no int is
// too large. Bytes become base64 text and stay text; a tuple becomes a list.

// A Plainer is an immutable value with a plain form: what stands for it in JSON, made of plain
// values and other Plainers. A record gives a dict of its fields, which ToJSON then writes with its
// own care for cycles and paths.
type Plainer interface {
	starlark.Value
	Plain() starlark.Value
}

const (
	maxJSONDepth = 512
	maxJSON      = 32 << 20 // bytes
)

// ToJSON writes v on one line without blanks. The same value always gives the same bytes.
//
// The error is a Violation with the path of what JSON cannot say: NaN and the infinities, a string
// that is not UTF-8, a key that is not a string, a value that holds itself or is nested more than
// 512 deep, any value that is neither plain nor a Plainer. Nor is more than 32 MB written.
func ToJSON(v starlark.Value) ([]byte, error) {
	return written(v, false)
}

// Readable is ToJSON for those who only look: bytes of a text that are not UTF-8, such as those of
// a file's name, are shown as U+FFFD.
func Readable(v starlark.Value) ([]byte, error) {
	return written(v, true)
}

func written(v starlark.Value, lossy bool) ([]byte, error) {
	w := &jsonWriter{out: make([]byte, 0, 256), lossy: lossy} // what most values take
	if bad := w.value(v); !bad.none() {
		return nil, bad.list[0]
	}
	return w.out, nil
}

type jsonWriter struct {
	nest
	out   []byte
	lossy bool
}

// value appends v, or gives the one problem that ends the writing.
func (w *jsonWriter) value(v starlark.Value) problems {
	if len(w.out) > maxJSON {
		return problem("a larger value", fmt.Sprintf("at most %d bytes of JSON", maxJSON), "")
	}
	switch v := v.(type) {
	case starlark.NoneType, starlark.Bool:
		w.out = append(w.out, describe(v)...)
	case starlark.Int:
		w.out = append(w.out, v.String()...)
	case starlark.Float:
		return w.float(v)
	case starlark.String:
		return w.text(v)
	case starlark.Bytes:
		w.out = append(w.out, '"')
		w.out = base64.StdEncoding.AppendEncode(w.out, []byte(v))
		w.out = append(w.out, '"')
	case *starlark.List:
		return w.list(v)
	case starlark.Tuple:
		return w.list(v)
	case *starlark.Dict:
		return w.dict(v)
	case Plainer:
		return w.plain(v)
	default:
		return problem(describe(v), "plain data", "")
	}
	return problems{}
}

func (w *jsonWriter) float(f starlark.Float) problems {
	if math.IsNaN(float64(f)) || math.IsInf(float64(f), 0) {
		return problem(f.String(), "a finite number", "")
	}
	w.out = append(w.out, f.String()...) // always with a point or an exponent
	return problems{}
}

func (w *jsonWriter) text(s starlark.String) problems {
	if w.lossy {
		s = legible(s)
	}
	if !utf8.ValidString(string(s)) {
		return notText("text")
	}
	w.out = appendQuoted(w.out, string(s))
	return problems{}
}

func legible(s starlark.String) starlark.String {
	return starlark.String(strings.ToValidUTF8(string(s), "\uFFFD"))
}

func (w *jsonWriter) list(v starlark.Indexable) problems {
	if bad := w.enter(v, maxJSONDepth); !bad.none() {
		return bad
	}
	defer w.exit(v)
	w.out = append(w.out, '[')
	for i := range v.Len() {
		if i > 0 {
			w.out = append(w.out, ',')
		}
		if bad := w.value(v.Index(i)); !bad.none() {
			return inside(indexStep(i), bad)
		}
	}
	w.out = append(w.out, ']')
	return problems{}
}

func (w *jsonWriter) dict(d *starlark.Dict) problems {
	if bad := w.enter(d, maxJSONDepth); !bad.none() {
		return bad
	}
	defer w.exit(d)
	w.out = append(w.out, '{')
	first := true
	for k, v := range d.Entries() {
		if !first {
			w.out = append(w.out, ',')
		}
		first = false
		if s, ok := k.(starlark.String); ok && w.lossy {
			k = legible(s)
		}
		name, bad := keyOf(k)
		if !bad.none() {
			return bad
		}
		w.out = append(appendQuoted(w.out, name), ':')
		if bad := w.value(v); !bad.none() {
			return inside(KeyStep(name), bad)
		}
	}
	w.out = append(w.out, '}')
	return problems{}
}

// plain counts a Plainer as a level: one that stands for itself must end as well.
func (w *jsonWriter) plain(v Plainer) problems {
	if bad := w.enter(v, maxJSONDepth); !bad.none() {
		return bad
	}
	defer w.exit(v)
	return w.value(v.Plain())
}

// quote is a text as a JSON string, which is also how contracts and messages write it.
func quote(s string) string { return string(appendQuoted(nil, s)) }

// appendQuoted escapes what JSON says must be escaped, and nothing else.
func appendQuoted(out []byte, s string) []byte {
	const hex = "0123456789abcdef"
	out = append(out, '"')
	for i := range len(s) {
		switch c := s[i]; {
		case c == '"' || c == '\\':
			out = append(out, '\\', c)
		case c == '\n':
			out = append(out, '\\', 'n')
		case c == '\t':
			out = append(out, '\\', 't')
		case c == '\r':
			out = append(out, '\\', 'r')
		case c < ' ':
			out = append(out, '\\', 'u', '0', '0', hex[c>>4], hex[c&15])
		default:
			out = append(out, c)
		}
	}
	return append(out, '"')
}
