// Package config is the verb config: what is set, and where each value comes from: a flag, the
// environment, a line of starling.toml, or the default.
//
// What may be a secret is never shown: starling.toml has names of secrets and no values, but for an
// address with a token in it that somebody has written all the same.
package config

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"net/url"
	"os"
	"regexp"
	"slices"
	"strings"

	"github.com/pelletier/go-toml/v2"

	"starling/cmd/starling/place"
	"starling/lang/diagnostic"
	"starling/runtime"
	"starling/runtime/postgres"
	"starling/stdlib/project"
)

// Where a value comes from.
const (
	fromFlag        = "flag"
	fromEnvironment = "environment"
	fromFile        = "file"
	fromDefault     = "default"
)

// Source is where a value comes from.
type Source struct {
	Kind string `json:"kind"`
	Name string `json:"name,omitempty"` // of the flag, the variable, or the key whose value it is
	File string `json:"file,omitempty"`
	Line int    `json:"line,omitempty"`
}

func (s Source) String() string {
	text := s.Kind
	switch s.Kind {
	case fromFile:
		text = fmt.Sprintf("%s:%d", s.File, s.Line)
	case fromFlag, fromEnvironment:
		return s.Name
	}
	if s.Name != "" {
		text += " of " + s.Name
	}
	return text
}

// Value is a key with what it is set to.
type Value struct {
	Key    string `json:"key"`
	Value  any    `json:"value"` // null where there is none
	Source Source `json:"source"`
}

// text is a value as people read it: a text by itself, anything else as TOML has it.
func (v Value) text() string {
	if s, ok := v.Value.(string); ok {
		return s
	}
	return literal(v.Value)
}

// literal is a value in TOML, on one line.
func literal(v any) string {
	switch v := v.(type) {
	case string:
		var b strings.Builder
		e := json.NewEncoder(&b)
		e.SetEscapeHTML(false)
		if e.Encode(v) == nil { // what JSON escapes is an escape of TOML, too
			return strings.ReplaceAll(strings.TrimSpace(b.String()), "\x7f", `\u007f`)
		}
	case []any:
		parts := make([]string, len(v))
		for i, e := range v {
			parts[i] = literal(e)
		}
		return "[" + strings.Join(parts, ", ") + "]"
	}
	return fmt.Sprint(v)
}

// outside are the settings that are not, or not only, keys of starling.toml.
func outside() []project.Key {
	return []project.Key{
		{Path: "store", Takes: "folder or address", Default: `".starling"`, Doc: "where runs are kept: --store, else STARLING_STORE, else store.url of starling.toml, else .starling beside that file"},
		{Path: "server", Takes: "address", Default: "none", Doc: "the server whose store is used instead, in the name of a token: --server"},
		{Path: "token", Takes: "secret", Default: "none", Doc: "the token in whose name a server is asked: STARLING_TOKEN"},
		{Path: "pager", Takes: "command", Default: `"less"`, Doc: "what shows what is longer than the terminal: STARLING_PAGER, else PAGER; cat for none"},
	}
}

// Flags are what was given on the command line.
type Flags struct{ Store, Server string }

// book is all that is known of the settings of one call.
type book struct {
	place    *place.Place
	flags    Flags
	getenv   func(string) (string, bool)
	text     []byte // of starling.toml
	settings []project.Setting
}

func read(p *place.Place, flags Flags, getenv func(string) (string, bool)) (*book, error) {
	b := &book{place: p, flags: flags, getenv: getenv}
	if p.Project == "" {
		return b, nil
	}
	var err error
	if b.text, err = os.ReadFile(p.Project); err != nil {
		return nil, runtime.Refusef(runtime.ErrUsage, "cannot read %s: %v", p.Project, runtime.Reason(err))
	}
	if _, err = project.Parse(place.ProjectFile, b.text); err != nil {
		return nil, err
	}
	b.settings, err = project.Settings(b.text)
	return b, err
}

// all are the values that somebody has set, and those outside of the file.
func (b *book) all() (list []Value) {
	for _, k := range outside() {
		if v := b.outer(k); v.Value != nil {
			list = append(list, v)
		}
	}
	for _, s := range b.settings {
		list = append(list, b.value(s))
	}
	return list
}

func (b *book) value(s project.Setting) Value {
	return Value{project.Dotted(s.Path), shown(s.Path, s.Value), Source{Kind: fromFile, File: place.ProjectFile, Line: s.Line}}
}

// below are the values of the keys that begin with a path.
func (b *book) below(path []string) (list []Value) {
	for _, s := range b.settings {
		if len(s.Path) > len(path) && slices.Equal(s.Path[:len(path)], path) {
			list = append(list, b.value(s))
		}
	}
	return list
}

// outer is a setting that is not of the file alone.
func (b *book) outer(k project.Key) Value {
	v := Value{Key: k.Path, Source: Source{Kind: fromDefault}}
	env := func(names ...string) {
		for _, name := range names {
			if text, ok := b.getenv(name); ok && text != "" {
				v.Value, v.Source = text, Source{Kind: fromEnvironment, Name: name}
				return
			}
		}
	}
	switch k.Path {
	case "store":
		if env("STARLING_STORE"); b.flags.Store != "" {
			v.Value, v.Source = b.flags.Store, Source{Kind: fromFlag, Name: "--store"}
		}
		if v.Value == nil {
			v.Value, v.Source = b.place.Name(), b.source("store", "url")
		} else if postgres.IsAddress(v.text()) {
			v.Value = postgres.Name(v.text())
		}
	case "server":
		if b.flags.Server != "" {
			v.Value, v.Source = shownURL(b.flags.Server), Source{Kind: fromFlag, Name: "--server"}
		}
	case "token":
		if env("STARLING_TOKEN"); v.Value != nil {
			v.Value = hidden
		}
	case "pager":
		if env("STARLING_PAGER", "PAGER"); v.Value == nil {
			v.Value = "less"
		}
	}
	return v
}

// source is the place of a key in the file, or the default.
func (b *book) source(path ...string) Source {
	for _, s := range b.settings {
		if slices.Equal(s.Path, path) {
			return b.value(s).Source
		}
	}
	return Source{Kind: fromDefault}
}

// one is the value of a key; its default where nobody has set it, nil where it has none.
func (b *book) one(k project.Key, path []string) Value {
	for _, s := range b.settings {
		if slices.Equal(s.Path, path) {
			return b.value(s)
		}
	}
	if k.Default == "defaults" { // of an agent
		of := append([]string{"defaults"}, path[len(path)-1])
		inherited, _, _ := project.FindKey(project.Dotted(of))
		v := b.one(inherited, of)
		v.Key, v.Source.Name = project.Dotted(path), project.Dotted(of)
		return v
	}
	v := Value{Key: project.Dotted(path), Source: Source{Kind: fromDefault}}
	var root map[string]any
	if err := toml.Unmarshal([]byte("x = "+k.Default), &root); err == nil {
		v.Value = root["x"]
	}
	return v
}

// find finds what a key means: one of the file, or of those outside. A path that is no key, and
// that keys of the file begin with, is a table.
func (b *book) find(dotted string) (k project.Key, path []string, table bool, _ error) {
	for _, k := range outside() {
		if k.Path == dotted && (dotted != "store" || len(b.below([]string{dotted})) == 0) {
			return k, []string{dotted}, false, nil
		}
	}
	k, path, err := project.FindKey(dotted)
	switch {
	case err == nil && len(b.below(path)) > 0: // a price, written as a table
		return k, path, true, nil
	case err == nil:
		return k, path, false, nil
	case !errors.Is(err, project.ErrNoKey):
		return k, nil, false, runtime.Refusef(runtime.ErrUsage, "config: %v", err)
	case len(b.below(path)) > 0 || isTable(path):
		return k, path, true, nil
	}
	return k, nil, false, runtime.Refuse(runtime.ErrUnknownName, b.meant(path), "config: there is no key %s", dotted)
}

// isTable tells whether keys may stand below a path.
func isTable(path []string) bool {
	return slices.ContainsFunc(project.Keys(), func(k project.Key) bool {
		want := strings.Split(k.Path, ".")
		if len(path) >= len(want) {
			return false
		}
		for i, part := range path {
			if part != want[i] && want[i] != strings.ToUpper(want[i]) {
				return false
			}
		}
		return true
	})
}

// meant is what a key that there is not was perhaps meant to be: names are taken as they were
// written.
func (b *book) meant(path []string) string {
	var known []string
	for _, k := range slices.Concat(outside(), project.Keys()) {
		parts := strings.Split(k.Path, ".")
		if len(parts) != len(path) {
			continue
		}
		for i, part := range parts {
			if part == strings.ToUpper(part) {
				parts[i] = path[i]
			}
		}
		known = append(known, project.Dotted(parts))
	}
	return cmp.Or(diagnostic.Meant(project.Dotted(path), known), "starling doc starling.toml lists them")
}

// hidden stands where a secret is.
const hidden = "(set, not shown)"

// confidential is what looks like a secret in the arguments of a command.
var confidential = regexp.MustCompile(`(?i)((?:token|secret|passw(?:or)?d|api[-_]?key)[=:]\s*)\S+`)

// shown is a value without what may be secret in it. What stands in braces is the name of a secret.
func shown(path []string, v any) any {
	switch v := v.(type) {
	case string:
		switch last := path[len(path)-1]; {
		case last == "webhook":
			return shownHook(v)
		case last == "url":
			return shownURL(v)
		}
		return confidential.ReplaceAllString(v, "$1…")
	case []any:
		list := make([]any, len(v))
		for i, e := range v {
			list[i] = shown(path, e)
			if s, ok := e.(string); ok && i > 0 && confidential.MatchString(fmt.Sprint(v[i-1], "=", s)) && strings.HasPrefix(fmt.Sprint(v[i-1]), "-") {
				list[i] = "…"
			}
		}
		return list
	}
	return v
}

// shownHook is the address of a webhook: what is behind the host is often the right to post there.
func shownHook(address string) string {
	u, err := url.Parse(address)
	if err != nil || project.Placeholder().ReplaceAllString(address, "") == "" {
		return address
	}
	if strings.Trim(u.Path, "/")+u.RawQuery == "" {
		return shownURL(address)
	}
	return u.Scheme + "://" + u.Host + "/…"
}

// shownURL is an address without a password and without the values of its query.
func shownURL(address string) string {
	u, err := url.Parse(address)
	switch {
	case err != nil || u.Host == "":
		return address
	case u.User != nil:
		u.User = url.User(u.User.Username())
	}
	query := ""
	for name := range u.Query() {
		query += name + "=…"
	}
	if query != "" {
		u.RawQuery = ""
		return u.String() + "?" + query
	}
	return u.String()
}
