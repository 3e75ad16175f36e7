package stdlib

import (
	"fmt"

	"go.starlark.net/starlark"

	"starling/lang/contract"
	"starling/lang/effect"
)

// arguments copies the arguments of these parameters into a dict in this order. What was not passed
// is not in it.
func arguments(c *effect.Call, names ...string) (effect.Payload, error) {
	var o effect.Object
	size := 0
	for _, name := range names {
		v := c.Get(name)
		if v == nil {
			continue
		}
		p, err := effect.Encode(v)
		if err != nil {
			return nil, wrong(c, name, "%w", err)
		}
		if size += len(p); size > effect.MaxPayload {
			return nil, fmt.Errorf("%s: the arguments are larger than %d bytes together", c.Builtin.FullName, effect.MaxPayload)
		}
		o.Raw(name, p)
	}
	return o.Payload(), nil
}

// request copies the arguments into a request of a kind.
func request(c *effect.Call, kind, name string, fields ...string) (*effect.Request, error) {
	args, err := arguments(c, fields...)
	if err != nil {
		return nil, err
	}
	return &effect.Request{Class: c.Builtin.Class, Kind: kind, Name: name, Args: args}, nil
}

// wrong is the error of an argument.
func wrong(c *effect.Call, param, format string, args ...any) error {
	return fmt.Errorf("%s: for parameter %s: %w", c.Builtin.FullName, param, fmt.Errorf(format, args...))
}

// stepName is the name of the step that a call makes: the argument of its parameter name, or
// otherwise.
func stepName(c *effect.Call, otherwise string) (string, error) {
	name := c.Text("name", otherwise)
	if err := effect.CheckName(name); err != nil {
		return "", wrong(c, "name", "%w", err)
	}
	return name, nil
}

// positive refuses a duration of nothing.
func positive(c *effect.Call, params ...string) error {
	for _, p := range params {
		if c.Get(p) != nil && c.Duration(p, 0) <= 0 {
			return wrong(c, p, "got %s, want a duration longer than 0", c.Get(p))
		}
	}
	return nil
}

// texts reads a list of strings.
func texts(c *effect.Call, param string) ([]string, error) {
	v, ok := c.Get(param).(starlark.Iterable)
	if !ok {
		return nil, nil
	}
	var out []string
	i := 0
	for e := range starlark.Elements(v) {
		s, ok := starlark.AsString(e)
		if !ok {
			return nil, wrong(c, param, "[%d]: got %s, want string", i, e.Type())
		}
		out = append(out, s)
		i++
	}
	return out, nil
}

// contractOf reads a contract argument, nil when it was not passed.
func contractOf(c *effect.Call, param string) *contract.Contract {
	t, _ := c.Get(param).(*contract.Contract)
	return t
}

// onUncertain reads the arguments on_uncertain and idempotent.
func onUncertain(c *effect.Call, otherwise effect.OnUncertain) effect.OnUncertain {
	if u, ok := effect.ParseOnUncertain(c.Text("on_uncertain", "")); ok {
		return u
	}
	return otherwise
}

// onError reads the argument on_error.
func onError(c *effect.Call) effect.OnError {
	if c.Text("on_error", "fail") == "return" {
		return effect.Return
	}
	return effect.Raise
}

// The parameters that several builtins share.

func nameParam(otherwise string) effect.Param {
	return effect.Param{Name: "name", Type: "string", Default: "None", KeywordOnly: true, Doc: "Name of the step; " + otherwise + " by default."}
}

func timeoutParam(doc string) effect.Param {
	return effect.Param{Name: "timeout", Type: "duration", Default: "None", KeywordOnly: true, Doc: doc}
}

func onErrorParam(returns string) effect.Param {
	return effect.Param{Name: "on_error", Type: "string", Default: `"fail"`, OneOf: []string{"fail", "return"}, KeywordOnly: true,
		Doc: "fail raises the error at the call, return gives " + returns + " that is not ok."}
}

func onUncertainParam(otherwise string) effect.Param {
	return effect.Param{Name: "on_uncertain", Type: "string", Default: otherwise, OneOf: []string{"retry", "ask", "fail"}, KeywordOnly: true,
		Doc: "What to do about an attempt that a crash cut: retry with the same idempotency key, ask at a gate, or fail."}
}
