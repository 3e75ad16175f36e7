package effect

import (
	"fmt"
	"strings"

	"go.starlark.net/starlark"
)

// Class says how the machine treats a call.
type Class uint8

// The classes.
const (
	Pure    Class = iota // a function of its arguments: nothing is recorded
	Answer               // answered inside the slice and recorded with it: now, uuid, random
	Output               // recorded with the slice, returns None: print, emit, log
	Waiting              // requested; the fiber waits at the call for the outcome: agent, gate, http, sleep
	Open                 // requested; the call returns a [Handle] at once: gate(wait = False)
	Await                // waits for a step that an Open call requested: handle.decision()
)

var classNames = [...]string{"pure", "answer", "output", "request", "open", "await"}

func (c Class) String() string { return classNames[c] }

// Builtin is a function that scripts see, declared as data: its documentation, its parameters and
// what a call of it asks for. It is immutable and may be shared by goroutines.
type Builtin struct {
	FullName string // the name scripts use, with its module: "http.get". Snapshots refer to it by this name
	Doc      string // one paragraph; the first sentence is the summary
	Params   []Param
	Result   string // what a call gives, for documentation: "Result", "list"
	Class    Class

	// Pure computes the result of a Pure builtin. It must be a function of its arguments alone.
	Pure func(c *Call) (starlark.Value, error)

	// Size bounds the bytes that the result of a Pure call may take, by the machine's count: a dict
	// is 512, a list 56, an element or an entry of them 16 or 96, a text 24 and its length. A call
	// that its run cannot afford fails before it is made. nil stands for a result that takes no
	// more than the arguments do as text. An error is as one of Pure.
	Size func(c *Call) (int64, error)

	// Request turns the bound arguments of any other class into what is asked. An error is the
	// caller's mistake and raises at the call. It may override the class of the builtin for this
	// call (gate(wait = False) is Open) through Request.Class.
	Request func(c *Call) (*Request, error)

	recv starlark.Value // bound receiver, for methods
	attr string         // the name under which recv gave it
}

// Method returns b bound to a receiver, as recv.Attr(name) must return it. Snapshots store (recv,
// name) and look it up again.
func (b *Builtin) Method(recv starlark.Value, name string) *Builtin {
	bound := *b
	bound.recv, bound.attr = recv, name
	return &bound
}

// Receiver is the value the builtin is a method of and the attribute name it has there, or nil.
func (b *Builtin) Receiver() (recv starlark.Value, attr string) { return b.recv, b.attr }

func (b *Builtin) String() string {
	if b.recv != nil {
		return fmt.Sprintf("<built-in method %s of %s value>", b.attr, b.recv.Type())
	}
	return fmt.Sprintf("<built-in function %s>", b.FullName)
}

// Type is the type of all builtins.
func (*Builtin) Type() string { return "builtin_function_or_method" }

// Freeze does nothing: a builtin is immutable.
func (*Builtin) Freeze() {}

// Truth of a function is true.
func (*Builtin) Truth() starlark.Bool { return true }

// Hash is by name.
func (b *Builtin) Hash() (uint32, error) { return starlark.String(b.FullName).Hash() }

// CallInternal runs a pure builtin. Any other class needs the machine: it is refused, because the
// caller is a Go function on whose stack nothing can wait.
func (b *Builtin) CallInternal(thread *starlark.Thread, args starlark.Tuple, kwargs []starlark.Tuple) (starlark.Value, error) {
	if b.Class != Pure {
		return nil, fmt.Errorf("%s cannot be called from inside a built-in function; call it from a def or a lambda", b.FullName)
	}
	c, err := b.Bind(args, Keywords(kwargs))
	if err != nil {
		return nil, err
	}
	return b.Pure(c)
}

// Signature is how the builtin is written in documentation: `sleep(d, *, name = None)`.
func (b *Builtin) Signature() string {
	var s strings.Builder
	s.WriteString(b.FullName)
	s.WriteByte('(')
	star := false
	for i, p := range b.Params {
		if i > 0 {
			s.WriteString(", ")
		}
		if i > 0 && b.Params[i-1].Positional && !p.Positional {
			s.WriteString("/, ")
		}
		if p.KeywordOnly && !star {
			s.WriteString("*, ")
		}
		star = star || p.KeywordOnly || p.Variadic
		switch {
		case p.Variadic:
			s.WriteString("*" + p.Name)
		case p.Keywords:
			s.WriteString("**" + p.Name)
		case p.Default != "":
			s.WriteString(p.Name + " = " + p.Default)
		default:
			s.WriteString(p.Name)
		}
	}
	if n := len(b.Params); n > 0 && b.Params[n-1].Positional {
		s.WriteString(", /")
	}
	s.WriteByte(')')
	if b.Result != "" {
		s.WriteString(" -> " + b.Result)
	}
	return s.String()
}

// Name is FullName: it makes a Builtin a starlark.Callable.
func (b *Builtin) Name() string { return b.FullName }
