package project

import (
	"fmt"
	"slices"
	"sort"
	"strings"

	"starling/lang/diagnostic"
)

// onlyKeys complains of every key that is not one of these.
func (r *reader) onlyKeys(t table, known ...string) {
	for key := range t.values {
		if slices.Contains(known, key) {
			continue
		}
		hint := diagnostic.Meant(key, known)
		if hint == "" {
			hint = "the keys here are " + strings.Join(known, ", ")
		}
		path := t.at(key)
		d := diagnostic.Diagnostic{Message: "unknown key " + dotted(path), Hint: hint}
		r.wrong = append(r.wrong, r.at(r.places[pathKey(path)].key, d))
	}
}

// inOrder lists the keys of a table as they stand in the file.
func (r *reader) inOrder(t table) []string {
	keys := make([]string, 0, len(t.values))
	for key := range t.values {
		keys = append(keys, key)
	}
	sort.Slice(keys, func(i, j int) bool {
		return r.places[pathKey(t.at(keys[i]))].key.start < r.places[pathKey(t.at(keys[j]))].key.start
	})
	return keys
}

func (r *reader) table(t table, key string) (table, bool) {
	v, given := t.values[key]
	if !given {
		return table{}, false
	}
	values, ok := v.(map[string]any)
	if !ok {
		r.refuse(t.at(key), show(v), "a table", fmt.Sprintf("write [%s]", dotted(t.at(key))))
	}
	return table{t.at(key), values}, ok
}

// string gives the value of a key; ok is false where it was left out or is none.
func (r *reader) string(t table, key string) (s string, ok bool) {
	v, given := t.values[key]
	if !given {
		return "", false
	}
	s, ok = v.(string)
	if !ok {
		r.refuse(t.at(key), show(v), "a string", "")
	}
	return s, ok
}

// strings gives the value of a key; it is nil where it was left out or is no list of strings.
func (r *reader) strings(t table, key string) []string {
	v, given := t.values[key]
	if !given {
		return nil
	}
	items, ok := v.([]any)
	if !ok {
		r.refuse(t.at(key), show(v), "a list of strings", "")
		return nil
	}
	out := make([]string, 0, len(items))
	for i, item := range items {
		s, ok := item.(string)
		if !ok {
			r.refuse(t.element(key, i), show(item), "a string", "")
			return nil
		}
		out = append(out, s)
	}
	return out
}

// refuse complains of the value at a path.
func (r *reader) refuse(path []string, got, want, hint string) {
	r.complain(path, diagnostic.Diagnostic{Got: got, Want: want, Hint: hint})
}

func (r *reader) complain(path []string, d diagnostic.Diagnostic) {
	d.Path = dotted(path)
	r.wrong = append(r.wrong, r.at(r.places[pathKey(path)].value, d))
}

func (r *reader) at(s span, d diagnostic.Diagnostic) diagnostic.Diagnostic {
	d.Kind = "project"
	return d.At(r.file, r.text, s.start, s.end)
}

// show is a value as messages name it.
func show(v any) string {
	switch v := v.(type) {
	case string:
		return fmt.Sprintf("%q", v)
	case map[string]any:
		return "a table"
	case []any:
		return "a list"
	}
	return fmt.Sprint(v)
}
