package filter

import (
	"math"
	"slices"
	"strconv"
	"strings"
	"time"

	"starling/lang/contract"
	"starling/lang/diagnostic"
	"starling/runtime"
)

// relation is how a field's value stands to the one that the filter names.
type relation int

const (
	equal relation = iota
	like           // has the parts, in their order, whatever their case
	less
	atMost
	more
	atLeast
)

// operators are the relations as they are written. The negated ones hold where the relation does
// not.
var operators = map[string]struct {
	relation relation
	negated  bool
}{
	"=": {equal, false}, "!=": {equal, true}, "~": {like, false}, "!~": {like, true},
	"<": {less, false}, "<=": {atMost, false}, ">": {more, false}, ">=": {atLeast, false},
}

// kind is what values a field has.
type kind int

const (
	text     kind = iota
	status        // one of runtime.Statuses
	number        // a count
	duration      // microseconds
	moment        // microseconds since 1970
	flag          // "true" or "false"
	scalar        // a text or a number: what scripts are given and return
	money         // millionths of a dollar
)

// value is one value of a field: a text, or a number of what the kind counts.
type value struct {
	text   string
	number int64
}

// ordered tells whether the kind's values are numbers.
func (k kind) ordered() bool { return k == number || k == duration || k == moment || k == money }

func (k kind) admits(r relation) bool {
	return k == scalar || r == equal || r == like && k == text || r > like && k.ordered()
}

// noun is the kind in words.
func (k kind) noun() string {
	return [...]string{"a text: it has no order", "one of a few words: it has no order and no parts to look for", "a number: it has no parts to look for",
		"a duration: it has no parts to look for", "a time: it has no parts to look for", "yes or no: it has no order and no parts to look for",
		"a text or a number", "an amount: it has no parts to look for"}[k]
}

// operators are those that the kind admits, for messages.
func (k kind) operators() string {
	switch {
	case k == text:
		return "=, !=, ~, !~ or in (…)"
	case k.ordered():
		return "=, !=, <, <=, >, >= or in (…)"
	}
	return "=, != or in (…)"
}

// read makes a value of the kind from how it is written.
func (k kind) read(word string) (value, *diagnostic.Diagnostic) {
	switch k {
	case status:
		return readStatus(word)
	case flag:
		return readFlag(word)
	case number:
		n, err := strconv.ParseInt(word, 10, 64)
		return value{number: n}, wrong(err, word, "a number, such as 2")
	case duration:
		d, err := contract.ParseDuration(word)
		return value{number: d.Microseconds()}, wrong(err, word, "a duration, such as 90s, 2h or 1d")
	case moment:
		return readMoment(word)
	case money:
		usd, err := strconv.ParseFloat(word, 64)
		if err == nil && !(usd >= 0 && usd < maxMoney) {
			err = strconv.ErrRange
		}
		return value{number: int64(math.Round(usd * 1e6))}, wrong(err, word, "an amount in US dollars, such as 0.50")
	}
	return value{text: word}, nil
}

// maxMoney is more than anything costs, and has room for millionths.
const maxMoney = 1e12

func wrong(err error, got, want string) *diagnostic.Diagnostic {
	if err == nil {
		return nil
	}
	return &diagnostic.Diagnostic{Got: strconv.Quote(clip(got)), Want: want}
}

func readStatus(word string) (value, *diagnostic.Diagnostic) {
	var names []string
	for _, s := range runtime.Statuses() {
		names = append(names, string(s))
	}
	if slices.Contains(names, word) {
		return value{text: word}, nil
	}
	hint := diagnostic.DidYouMean(word, names)
	if hint == "" {
		hint = "a run is one of " + strings.Join(names, ", ")
	}
	return value{}, &diagnostic.Diagnostic{Message: strconv.Quote(clip(word)) + " is not a status", Hint: hint}
}

func readFlag(word string) (value, *diagnostic.Diagnostic) {
	if word == "true" || word == "false" {
		return value{text: word}, nil
	}
	return value{}, &diagnostic.Diagnostic{Got: strconv.Quote(clip(word)), Want: "true or false"}
}

// readMoment reads a day, which begins at midnight in UTC as all times of Starling are written, or
// an instant.
func readMoment(word string) (value, *diagnostic.Diagnostic) {
	t, err := time.Parse(time.DateOnly, word)
	if err != nil {
		t, err = time.Parse(time.RFC3339Nano, word)
	}
	return value{number: t.UnixMicro()}, wrong(err, word, "a day or an instant, such as 2026-11-21 or 2026-11-21T15:04:05Z")
}

// stands tells whether v stands in relation r to want.
func (k kind) stands(v value, r relation, want value) bool {
	if k == scalar && r != like {
		return scalarStands(v.text, r, want.text)
	}
	switch r {
	case equal:
		return v == want
	case like:
		return hasParts(strings.ToLower(v.text), strings.ToLower(want.text))
	case less:
		return v.number < want.number
	case atMost:
		return v.number <= want.number
	case more:
		return v.number > want.number
	}
	return v.number >= want.number
}

// scalarStands compares numbers as numbers, and anything else as it is written. A text has no
// order.
func scalarStands(v string, r relation, want string) bool {
	if r == equal {
		return runtime.Canonical(v) == runtime.Canonical(want)
	}
	a, failed := strconv.ParseFloat(v, 64)
	b, err := strconv.ParseFloat(want, 64)
	if failed != nil || err != nil {
		return false
	}
	switch r {
	case less:
		return a < b
	case atMost:
		return a <= b
	case more:
		return a > b
	}
	return a >= b
}

// hasParts tells whether s has the parts of a pattern, between its stars, one after the other.
func hasParts(s, pattern string) bool {
	for part := range strings.SplitSeq(pattern, "*") {
		at := strings.Index(s, part)
		if at < 0 {
			return false
		}
		s = s[at+len(part):]
	}
	return true
}
