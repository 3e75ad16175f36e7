package agent

import (
	"cmp"
	"maps"
	"regexp"
	"slices"
	"strings"

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
	return replacer(q, func(name, value string) bool { return len(value) >= leastKey && keyName.MatchString(name) })
}

// replacer replaces values, the longest first.
func replacer(q Question, hidden func(name, value string) bool) *strings.Replacer {
	names := map[string]string{}
	for _, name := range q.Definition.Env {
		if value, ok := q.Env(name); ok && hidden(name, value) {
			names[value] = "[" + name + "]"
		}
	}
	if q.Token != "" {
		names[q.Token] = "[STARLING_TOKEN]"
	}
	if q.Endpoint != nil {
		names[q.Endpoint.Token] = "[" + tool.TokenVariable + "]"
	}
	values := slices.SortedFunc(maps.Keys(names), func(a, b string) int { return cmp.Or(len(b)-len(a), cmp.Compare(a, b)) })
	pairs := make([]string, 0, 2*len(values))
	for _, v := range values {
		pairs = append(pairs, v, names[v])
	}
	return strings.NewReplacer(pairs...)
}
