package effect

import (
	"fmt"
	"strings"
	"time"

	"go.starlark.net/starlark"

	"starling/lang/contract"
	"starling/lang/diagnostic"
)

// Param is one parameter of a builtin.
type Param struct {
	Name        string
	Type        string   // the Starlark type wanted, alternatives separated by "|"; "" takes any: "string", "list|dict", "duration", "callable"
	Default     string   // how the default is written; "" means the argument is required
	OneOf       []string // for strings: the allowed ones
	Least, Most int      // for ints that [Call.Count] reads: from and to; Most is 0 where any will do
	Doc         string   // one sentence
	KeywordOnly bool
	Nullable    bool // None is an argument like any other, not the same as leaving it out
	Variadic    bool // collects the remaining positional arguments as a tuple
	Positional  bool // cannot be passed by name
	Keywords    bool // collects the remaining keyword arguments as a dict
}

// Call is a call of a builtin with its arguments bound to parameters. Get gives nil for an argument
// that was not passed, or was passed as None to a parameter that has a default and is not Nullable.
type Call struct {
	Builtin *Builtin
	// Steps is what a Pure call has done, in steps, beyond going through its arguments once: it
	// adds, and the machine charges it. It must follow from the arguments alone.
	Steps  int64
	values []starlark.Value
}

// Keyword is one named argument of a call.
type Keyword struct {
	Name  string
	Value starlark.Value
}

// Keywords are the named arguments of a call as go.starlark.net hands them over.
func Keywords(kwargs []starlark.Tuple) []Keyword {
	named := make([]Keyword, len(kwargs))
	for i, kv := range kwargs {
		named[i] = Keyword{string(kv[0].(starlark.String)), kv[1]}
	}
	return named
}

// Bind matches arguments with the parameters and checks the types that the parameters name. Errors
// read as those of starlark.UnpackArgs do.
func (b *Builtin) Bind(args starlark.Tuple, named []Keyword) (*Call, error) {
	c := &Call{Builtin: b, values: make([]starlark.Value, len(b.Params))}
	if err := c.bindPositional(args); err != nil {
		return nil, err
	}
	for _, kw := range named {
		if err := c.bindKeyword(kw.Name, kw.Value); err != nil {
			return nil, err
		}
	}
	for i := range b.Params {
		if err := c.check(i, &b.Params[i]); err != nil {
			return nil, err
		}
	}
	return c, nil
}

func (c *Call) bindPositional(args starlark.Tuple) error {
	n := 0
	for i := range c.Builtin.Params {
		switch p := &c.Builtin.Params[i]; {
		case p.Variadic:
			c.values[i] = append(starlark.Tuple(nil), args[min(n, len(args)):]...)
			return nil
		case p.KeywordOnly || p.Keywords:
			return c.tooMany(args, n)
		case n < len(args):
			c.values[i] = args[n]
			n++
		}
	}
	return c.tooMany(args, n)
}

func (c *Call) tooMany(args starlark.Tuple, want int) error {
	if len(args) <= want {
		return nil
	}
	return fmt.Errorf("%s: got %d arguments, want at most %d; the signature is %s", c.Builtin.FullName, len(args), want, c.Builtin.Signature())
}

func (c *Call) bindKeyword(name string, v starlark.Value) error {
	for i := range c.Builtin.Params {
		switch p := &c.Builtin.Params[i]; {
		case p.Keywords:
			d, _ := c.values[i].(*starlark.Dict)
			if d == nil {
				d = new(starlark.Dict)
				c.values[i] = d
			}
			return d.SetKey(starlark.String(name), v)
		case p.Name == name && !p.Variadic && !p.Positional:
			if c.values[i] != nil {
				return fmt.Errorf("%s: got multiple values for keyword argument %q", c.Builtin.FullName, name)
			}
			c.values[i] = v
			return nil
		}
	}
	names := make([]string, 0, len(c.Builtin.Params))
	for _, p := range c.Builtin.Params {
		names = append(names, p.Name)
	}
	err := fmt.Errorf("%s: unexpected keyword argument %q", c.Builtin.FullName, name)
	if near, ok := diagnostic.Nearest(name, names); ok {
		err = fmt.Errorf("%w (did you mean %s?)", err, near)
	}
	return err
}

func (c *Call) check(i int, p *Param) error {
	v := c.values[i]
	if v == nil || v == starlark.None && p.Default != "" && !p.Nullable {
		if p.Default == "" && !p.Variadic && !p.Keywords {
			return fmt.Errorf("%s: missing argument for %s", c.Builtin.FullName, p.Name)
		}
		c.values[i] = nil
		return nil
	}
	if p.Variadic || p.Keywords {
		return nil
	}
	is := func(class string) bool { _, ok := v.(starlark.Callable); return ok && class == "callable" } // parameters of the other classes are the machine's to check
	if !Admits(p.Type, v.Type(), is) {
		return fmt.Errorf("%s: for parameter %s: got %s, want %s", c.Builtin.FullName, p.Name, v.Type(), strings.ReplaceAll(p.Type, "|", " or "))
	}
	return c.checkText(p, v)
}

func (c *Call) checkText(p *Param, v starlark.Value) error {
	s, ok := v.(starlark.String)
	if !ok {
		return nil
	}
	if p.Type == "duration" {
		if _, err := contract.ParseDuration(string(s)); err != nil {
			return fmt.Errorf("%s: for parameter %s: %w", c.Builtin.FullName, p.Name, err)
		}
	}
	if len(p.OneOf) == 0 {
		return nil
	}
	for _, w := range p.OneOf {
		if string(s) == w {
			return nil
		}
	}
	err := fmt.Errorf("%s: for parameter %s: got %q, want one of %s", c.Builtin.FullName, p.Name, string(s), strings.Join(p.OneOf, ", "))
	if near, ok := diagnostic.Nearest(string(s), p.OneOf); ok {
		err = fmt.Errorf("%w (did you mean %q?)", err, near)
	}
	return err
}

// Admits tells whether a parameter of these types may take a value whose type has the name. Whether
// the value is "callable", "iterable", "hashable" or "sized", which no name says, is asked of is.
func Admits(types, name string, is func(class string) bool) bool {
	if types == "" {
		return true
	}
	for t := range strings.SplitSeq(types, "|") {
		fits := t == "any" || t == name
		switch t {
		case "duration":
			fits = name == "string"
		case "number":
			fits = name == "int" || name == "float"
		case "callable", "iterable", "hashable", "sized":
			fits = is(t)
		}
		if fits {
			return true
		}
	}
	return false
}

// Get returns the argument of a parameter, nil where it was left out or None was passed for a
// default.
func (c *Call) Get(name string) starlark.Value { return c.values[c.Builtin.index(name)] }

func (b *Builtin) index(name string) int {
	for i := range b.Params {
		if b.Params[i].Name == name {
			return i
		}
	}
	panic("effect: " + b.FullName + " has no parameter " + name) // a mistake in our own table
}

// Text returns a string argument, or otherwise.
func (c *Call) Text(name, otherwise string) string {
	if s, ok := c.Get(name).(starlark.String); ok {
		return string(s)
	}
	return otherwise
}

// Flag returns a bool argument, or otherwise.
func (c *Call) Flag(name string, otherwise bool) bool {
	if b, ok := c.Get(name).(starlark.Bool); ok {
		return bool(b)
	}
	return otherwise
}

// Count returns an int argument within the bounds of its parameter, or otherwise.
func (c *Call) Count(name string, otherwise int) (int, error) {
	i := c.Builtin.index(name)
	v, ok := c.values[i].(starlark.Int)
	if !ok {
		return otherwise, nil
	}
	p := &c.Builtin.Params[i]
	n, ok := v.Int64()
	if !ok || !p.Counts(n) {
		return 0, fmt.Errorf("%s: for parameter %s: got %s, want %s", c.Builtin.FullName, name, v, p.Range())
	}
	return int(n), nil
}

// Wanted is the type in words.
func (p *Param) Wanted() string {
	words := strings.Split(p.Type, "|")
	for i, w := range words {
		switch w {
		case "iterable":
			words[i] = "a list or something else to go through"
		case "sized":
			words[i] = "a text, list, dict or something else with a length"
		case "hashable":
			words[i] = "what can be a key"
		}
	}
	return strings.Join(words, " or ")
}

// Counts tells whether an int is within the bounds.
func (p *Param) Counts(n int64) bool { return p.Most == 0 || n >= int64(p.Least) && n <= int64(p.Most) }

// Range says in words which ints are within the bounds.
func (p *Param) Range() string { return fmt.Sprintf("an int from %d to %d", p.Least, p.Most) }

// Duration returns a duration argument such as "90s" or "1d", or otherwise.
func (c *Call) Duration(name string, otherwise time.Duration) time.Duration {
	if s, ok := c.Get(name).(starlark.String); ok {
		d, _ := contract.ParseDuration(string(s)) // checked by Bind
		return d
	}
	return otherwise
}
