package tool

import (
	"path"
	"slices"
	"strings"
	"time"

	"go.starlark.net/starlark"

	"starling/lang/effect"
	"starling/stdlib/project"
)

// What holds where a definition is silent.
const (
	DefaultTimeout  = time.Minute
	DefaultMaxBytes = 256 << 10
)

// Definition says how a tool server is reached and bounded. It is recorded with the request that
// uses it, and holds no credential.
type Definition struct {
	Name        string
	Command     []string
	Dir         string // folder that a relative program is relative to
	URL         string
	Env         []string
	Secrets     []project.SecretUse
	Allow       []string      // patterns of the tools that anybody may use; nil is all
	Timeout     time.Duration // of one call
	MaxBytes    int64         // of one result
	Definitions string        // hash that the definitions must have, "" for any
	Sandbox     *Sandbox      // of a command that a script names; nil for one of the project's
}

// Sandbox is what a command may use that a script names: what sh.run would allow it.
type Sandbox struct {
	Read    []string
	Write   []string
	Network bool
	Level   string // as [sh] sandbox says it; "" in definitions of before there was a choice
}

// Grant is a tool server with those of its tools that somebody may use.
type Grant struct {
	Definition
	Tools   []string // patterns of what was asked for; nil is all that the definition allows
	Granted []string // patterns of what a script of others is granted; nil is all
}

// Allows tells whether a tool may be used.
func (g Grant) Allows(tool string) bool {
	return allows(g.Allow, tool) && allows(g.Tools, tool) && allows(g.Granted, tool)
}

// Denies is the fault of a tool that is named and may not be used; nil for one that may be, and for
// a pattern of several.
func (g Grant) Denies(tool string) *Fault {
	g.Tools = nil
	if g.Allows(tool) || strings.ContainsAny(tool, `*?[`) {
		return nil
	}
	return faultf(NotAllowed, g.Name, tool, "denied: %s", mayUse(g, true))
}

func allows(patterns []string, tool string) bool {
	return patterns == nil || slices.ContainsFunc(patterns, func(p string) bool {
		ok, err := path.Match(p, tool)
		return p == tool || ok && err == nil
	})
}

func definitionOf(t project.Tool, dir string) Definition {
	d := Definition{Name: t.Name, Command: t.Command, Dir: dir, URL: t.URL, Env: t.Env, Secrets: t.Secrets, Allow: t.Allow, Timeout: t.Timeout, MaxBytes: t.MaxBytes,
		Definitions: t.Definitions}
	return d.withDefaults()
}

func (d Definition) withDefaults() Definition {
	if d.Timeout == 0 {
		d.Timeout = DefaultTimeout
	}
	if d.MaxBytes == 0 {
		d.MaxBytes = DefaultMaxBytes
	}
	return d
}

// Payload is what is recorded of a grant.
func (g Grant) Payload() effect.Payload {
	var o effect.Object
	o.Raw("server", g.Definition.payload())
	return texts(texts(&o, "tools", g.Tools), "granted", g.Granted).Payload()
}

func (d Definition) payload() effect.Payload {
	var o, uses, sandbox effect.Object
	o.Text("name", d.Name).Texts("command", d.Command).Text("dir", d.Dir).Text("url", d.URL).Texts("env", d.Env)
	if len(d.Secrets) > 0 {
		for _, u := range d.Secrets {
			uses.Text(u.Key, u.Text)
		}
		o.Raw("secrets", uses.Payload())
	}
	texts(&o, "allow", d.Allow).Int("timeout_ms", d.Timeout.Milliseconds()).Int("max_bytes", d.MaxBytes).Text("definitions", d.Definitions)
	if s := d.Sandbox; s != nil {
		o.Raw("sandbox", sandbox.Texts("read", s.Read).Texts("write", s.Write).Flag("network", s.Network).Text("level", s.Level).Payload())
	}
	return o.Payload()
}

// texts adds a list of which the empty one is not the missing one: no tool is not all tools.
func texts(o *effect.Object, key string, list []string) *effect.Object {
	if list != nil && len(list) == 0 {
		empty, _ := effect.Encode(starlark.NewList(nil)) // cannot fail
		return o.Raw(key, empty)
	}
	return o.Texts(key, list)
}

// GrantOf reads what [Grant.Payload] wrote.
func GrantOf(v starlark.Value) Grant {
	grant := effect.ViewOf(v)
	s := effect.ViewOf(grant.Value("server"))
	g := Grant{Tools: patterns(grant, "tools"), Granted: patterns(grant, "granted"), Definition: Definition{Name: s.Text("name"), Command: s.Texts("command"), Dir: s.Text("dir"), URL: s.Text("url"), Env: s.Texts("env"),
		Allow: patterns(s, "allow"), Timeout: time.Duration(s.Int("timeout_ms")) * time.Millisecond, MaxBytes: s.Int("max_bytes"), Definitions: s.Text("definitions")}}
	if uses, ok := s.Value("secrets").(*starlark.Dict); ok {
		for k, v := range uses.Entries() {
			key, _ := starlark.AsString(k)
			text, _ := starlark.AsString(v)
			g.Secrets = append(g.Secrets, project.SecretUse{Key: key, Text: text})
		}
	}
	if s.Has("sandbox") {
		box := effect.ViewOf(s.Value("sandbox"))
		g.Sandbox = &Sandbox{Read: box.Texts("read"), Write: box.Texts("write"), Network: box.Flag("network"), Level: box.Text("level")}
	}
	return g
}

func patterns(v effect.View, key string) []string {
	if _, ok := v.Value(key).(*starlark.List); !ok {
		return nil
	}
	return append([]string{}, v.Texts(key)...)
}
