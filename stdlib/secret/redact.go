package secret

import (
	"encoding/json"
	"strings"
)

// Redactor replaces values of secrets by their names, also as a JSON string has them. The zero one replaces nothing.
type Redactor struct{ pairs []string }

// leastHidden is the length from which a value is replaced: shorter ones are no keys, and every "1" would be taken for one.
const leastHidden = 5

// Hide has a value replaced by its name in brackets.
func (r *Redactor) Hide(name, value string) {
	if len(value) < leastHidden {
		return
	}
	r.pairs = append(r.pairs, value, "["+name+"]")
	if quoted, err := json.Marshal(value); err == nil {
		r.pairs = append(r.pairs, string(quoted[1:len(quoted)-1]), "["+name+"]")
	}
}

// Redact is a text without the values.
func (r Redactor) Redact(text string) string { return strings.NewReplacer(r.pairs...).Replace(text) }
