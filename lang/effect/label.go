package effect

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"

	"go.starlark.net/starlark"
)

// Labels are what people tell runs apart by, as names and values. The syntax is that of Kubernetes:
// a name has 63 letters, digits, '-', '_' and '.' at most, begins and ends with a letter or a
// digit, and may stand behind a domain and a slash; a value is the same without the domain, or
// empty.
type Labels map[string]string

// The bounds of labels.
const (
	MaxLabels      = 32
	maxLabelPart   = 63
	maxLabelDomain = 253
)

// ParseLabels reads labels as they are written one by one, NAME=VALUE.
func ParseLabels(list []string) (Labels, error) {
	var ls Labels
	for _, text := range list {
		name, value, ok := strings.Cut(text, "=")
		if !ok {
			return nil, fmt.Errorf("got the label %q, want NAME=VALUE, such as team=web", text)
		}
		if other, twice := ls[name]; twice && other != value {
			return nil, fmt.Errorf("got the label %s twice, with %q and %q, want one value", name, other, value)
		}
		if ls == nil {
			ls = Labels{}
		}
		ls[name] = value
	}
	return ls, ls.Check()
}

// ReadLabels reads what String has written.
func ReadLabels(text string) Labels {
	if text == "" {
		return nil
	}
	ls := Labels{}
	for one := range strings.SplitSeq(text, ",") {
		name, value, _ := strings.Cut(one, "=")
		ls[name] = value
	}
	return ls
}

// String writes labels in the order of their names, NAME=VALUE with commas between: neither sign
// can be part of one.
func (ls Labels) String() string {
	var b strings.Builder
	for i, name := range slices.Sorted(maps.Keys(ls)) {
		if i > 0 {
			b.WriteByte(',')
		}
		b.WriteString(name + "=" + ls[name])
	}
	return b.String()
}

// Check says what is wrong with labels.
func (ls Labels) Check() error {
	if len(ls) > MaxLabels {
		return fmt.Errorf("got %d labels, want %d at most", len(ls), MaxLabels)
	}
	for _, name := range slices.Sorted(maps.Keys(ls)) {
		if err := cmp.Or(CheckLabelName(name), checkLabelValue(name, ls[name])); err != nil {
			return err
		}
	}
	return nil
}

// CheckLabelName says what is wrong with the name of a label.
func CheckLabelName(name string) error {
	domain, last, has := strings.Cut(name, "/")
	if !has {
		domain, last = "", name
	}
	switch {
	case last == "":
		return fmt.Errorf("got the label name %q, want at least one letter or digit", name)
	case has && !labelDomain(domain):
		return fmt.Errorf("got the label name %q, want a domain in small letters before the slash, such as example.org/team", name)
	case !labelPart(last):
		return fmt.Errorf("got the label name %q, want at most %d letters, digits, '-', '_' and '.', a letter or a digit first and last", name, maxLabelPart)
	}
	return nil
}

func checkLabelValue(name, value string) error {
	if value == "" || labelPart(value) {
		return nil
	}
	return fmt.Errorf("got the value %q of the label %s, want nothing or at most %d letters, digits, '-', '_' and '.', a letter or a digit first and last", value, name, maxLabelPart)
}

// labelPart tells whether a text that is not empty is a name or a value.
func labelPart(s string) bool {
	if len(s) > maxLabelPart || !letterOrDigit(s[0]) || !letterOrDigit(s[len(s)-1]) {
		return false
	}
	for i := range len(s) {
		if c := s[i]; !letterOrDigit(c) && c != '-' && c != '_' && c != '.' {
			return false
		}
	}
	return true
}

// labelDomain tells whether a text is a domain as RFC 1123 has them.
func labelDomain(s string) bool {
	if len(s) > maxLabelDomain {
		return false
	}
	for part := range strings.SplitSeq(s, ".") {
		if part == "" || !labelPart(part) || strings.ContainsAny(part, "_") || strings.ToLower(part) != part {
			return false
		}
	}
	return true
}

// Payload is a dict of labels, nil for none.
func (ls Labels) Payload() Payload {
	if len(ls) == 0 {
		return nil
	}
	var b Object
	for _, name := range slices.Sorted(maps.Keys(ls)) {
		b.Raw(name, MustEncode(starlark.String(ls[name]))) // an empty one, too
	}
	return b.Payload()
}

// LabelsOf reads a dict of labels, nil for an empty one.
func LabelsOf(v View) (ls Labels) {
	v.Each(func(name string, _ View) {
		if ls == nil {
			ls = Labels{}
		}
		ls[name] = v.Text(name)
	})
	return ls
}
