package agent

import (
	"cmp"
	"maps"
	"regexp"
	"slices"
	"strings"

	"starling/stdlib/secret"
	"starling/stdlib/tool"
)

// What an agent says goes into the journal and to people, and what it was given must not go with it. Errors and transcripts hide the value of every declared
// variable. In a reply a value may be what was asked for, a path or an address: there only what its name calls a key is hidden.

const (
	leastHidden = 4 // bytes: shorter values are no keys, and replacing every "1" would leave nothing to read
	leastKey    = 8 // bytes: a shorter one could be a word of JSON
)

var keyName = regexp.MustCompile(`(?i)key|token|secret|passw|credential|auth`)

// redactor replaces the values of declared variables by their names.
func redactor(q Question) *strings.Replacer {
	return replacer(q, func(_, value string) bool { return len(value) >= leastHidden })
}

// keyRedactor replaces the values of declared variables that are keys.
func keyRedactor(q Question) *strings.Replacer {
	return replacer(q, isKey)
}

func isKey(name, value string) bool { return len(value) >= leastKey && keyName.MatchString(name) }

// partOfKey is how many bytes at the end of a text may be the beginning of a key, of which the rest has not come yet.
func partOfKey(text string, keys []string) (n int) {
	for _, key := range keys {
		for i := max(0, len(text)-len(key)+1); i < len(text)-n; i++ {
			if strings.HasPrefix(key, text[i:]) {
				n = len(text) - i
			}
		}
	}
	return n
}

// keysOf are the values that keyRedactor replaces.
func keysOf(q Question) []string { return slices.Collect(maps.Keys(hiddenNames(q, isKey))) }

// replacer replaces values, the longest first.
func replacer(q Question, hidden func(name, value string) bool) *strings.Replacer {
	names := hiddenNames(q, hidden)
	values := slices.SortedFunc(maps.Keys(names), func(a, b string) int { return cmp.Or(len(b)-len(a), cmp.Compare(a, b)) })
	pairs := make([]string, 0, 2*len(values))
	for _, v := range values {
		pairs = append(pairs, v, names[v])
	}
	return strings.NewReplacer(pairs...)
}

// hiddenNames are the names of values, as they stand in their place. A value is there in each spelling that JSON may have it in.
func hiddenNames(q Question, hidden func(name, value string) bool) map[string]string {
	names := map[string]string{}
	hide := func(name, value string) {
		for _, text := range secret.Spellings(value) {
			names[text] = "[" + name + "]"
		}
	}
	for _, name := range q.Definition.Env {
		if value, ok := q.Env(name); ok && hidden(name, value) {
			hide(name, value)
		}
	}
	if q.Token != "" {
		hide("STARLING_TOKEN", q.Token)
	}
	if q.Endpoint != nil {
		hide(tool.TokenVariable, q.Endpoint.Token)
	}
	return names
}
