package secret

import (
	"fmt"
	"slices"
	"strings"
)

// Redactor replaces values of secrets by their names, also as JSON strings have them. The zero one replaces nothing.
type Redactor struct{ pairs []string }

// leastHidden is the length from which a value is replaced: shorter ones are no keys, and every "1" would be taken for one.
const leastHidden = 5

// Hide has a value replaced by its name in brackets.
func (r *Redactor) Hide(name, value string) {
	if len(value) < leastHidden {
		return
	}
	for _, text := range Spellings(value) {
		r.pairs = append(r.pairs, text, "["+name+"]")
	}
}

// escapes are the letters that encoders of JSON write in other ways than they need, and how: of Go, PHP, Gson and .NET.
var escapes = [...]struct{ letters, format string }{{"", ""}, {"&<>", `\u%04x`}, {"/", `\%c`}, {"=&<>'", `\u%04x`}, {"+&<>'\"`", `\u%04X`}}

// Spellings are a value and what it may look like within a JSON string, each once, the value first. It looks otherwise where it has letters such as " / + & =, which keys in base64 have.
func Spellings(value string) []string {
	list := []string{value}
	for _, e := range escapes {
		if text := spelled(value, e.letters, e.format); !slices.Contains(list, text) {
			list = append(list, text)
		}
	}
	return list
}

func spelled(value, letters, format string) string {
	var b strings.Builder
	for i := range len(value) {
		switch c := value[i]; {
		case strings.IndexByte(letters, c) >= 0:
			fmt.Fprintf(&b, format, c)
		case c == '"' || c == '\\':
			b.WriteByte('\\')
			b.WriteByte(c)
		case c == '\n':
			b.WriteString(`\n`) // of a key in several lines
		case c == '\r':
			b.WriteString(`\r`)
		case c == '\t':
			b.WriteString(`\t`)
		default:
			b.WriteByte(c)
		}
	}
	return b.String()
}

// Redact is a text without the values.
func (r Redactor) Redact(text string) string { return strings.NewReplacer(r.pairs...).Replace(text) }
