package stdlib

import (
	"errors"
	"strings"

	"go.starlark.net/starlark"

	"starling/lang/effect"
)

func printBuiltin() *effect.Builtin {
	return &effect.Builtin{
		FullName: "print",
		Doc:      "Write a line to the run's journal and to whoever follows the run.",
		Params:   []effect.Param{argsParam("What to write; strings as they are."), sepParam()},
		Result:   "None",
		Class:    effect.Output,
		Request:  printRequest,
	}
}

// printRequest refuses a line that would not fit a record, so that a run fails at the print and not
// at its commit.
func printRequest(c *effect.Call) (*effect.Request, error) {
	text, err := sentence(c)
	if err != nil {
		return nil, err
	}
	if len(text) > effect.MaxPayload/2 {
		return nil, errors.New("print: the text is larger than half a megabyte")
	}
	var o effect.Object
	return &effect.Request{Class: effect.Output, Kind: "print", Name: "print", Args: o.Text("text", text).Payload()}, nil
}

// failBuiltin raises again what was caught as it was: a handler that only looks at an error must
// not hide where it arose.
func failBuiltin() *effect.Builtin {
	return &effect.Builtin{
		FullName: "fail",
		Doc: "Raise an error of kind script. attempt catches it. An error that was caught, as the only argument, is raised again: with its kind, its " +
			"data, and the place where it arose.",
		Params: []effect.Param{argsParam("The message; strings as they are."), sepParam()},
		Pure: func(c *effect.Call) (starlark.Value, error) {
			if args, _ := c.Get("args").(starlark.Tuple); len(args) == 1 {
				if e, ok := args[0].(*effect.Record); ok && e.RecordType() == effect.ErrorType {
					return nil, effect.ErrorOfRecord(e)
				}
			}
			text, err := sentence(c)
			if err != nil {
				return nil, err
			}
			return nil, effect.Errorf(effect.KindScript, "%s", text)
		},
	}
}

func argsParam(doc string) effect.Param { return effect.Param{Name: "args", Variadic: true, Doc: doc} }

func sepParam() effect.Param {
	return effect.Param{Name: "sep", Type: "string", Default: `" "`, KeywordOnly: true, Doc: "What stands between the arguments."}
}

// sentence joins the arguments as Starlark's own print does.
func sentence(c *effect.Call) (string, error) {
	var b strings.Builder
	args, _ := c.Get("args").(starlark.Tuple)
	for i, v := range args {
		if i > 0 {
			b.WriteString(c.Text("sep", " "))
		}
		switch v := v.(type) {
		case starlark.String:
			b.WriteString(string(v))
		case starlark.Bytes:
			b.WriteString(string(v))
		case *effect.Secret:
			return "", errors.New(c.Builtin.FullName + ": a secret cannot be shown")
		default:
			b.WriteString(v.String())
		}
	}
	return b.String(), nil
}

func emitBuiltin() *effect.Builtin {
	return &effect.Builtin{
		FullName: "emit",
		Doc:      "Put an event into the run's journal, for whoever follows the run.",
		Params: []effect.Param{
			{Name: "kind", Type: "string", Doc: "What kind of event: letters, digits, '.', '_' and '-'."},
			{Name: "fields", Keywords: true, Doc: "What it says."},
		},
		Result: "None",
		Class:  effect.Output,
		Request: func(c *effect.Call) (*effect.Request, error) {
			if err := effect.CheckName(c.Text("kind", "")); err != nil {
				return nil, wrong(c, "kind", "%w", err)
			}
			return request(c, "emit", "emit", "kind", "fields")
		},
	}
}

// logModule has one function per level.
func logModule() []*effect.Builtin {
	var all []*effect.Builtin
	for level, doc := range map[string]string{
		"debug": "what helps to find a mistake", "info": "what happened", "warn": "what may be wrong", "error": "what went wrong",
	} {
		all = append(all, logBuiltin(level, doc))
	}
	return all
}

func logBuiltin(level, what string) *effect.Builtin {
	return &effect.Builtin{
		FullName: "log." + level,
		Doc:      "Write a message of level " + level + " to the run's journal: " + what + ".",
		Params: []effect.Param{
			{Name: "message", Type: "string", Doc: "The message."},
			{Name: "fields", Keywords: true, Doc: "Values that belong to it."},
		},
		Result: "None",
		Class:  effect.Output,
		Request: func(c *effect.Call) (*effect.Request, error) {
			fields, err := arguments(c, "message", "fields")
			if err != nil {
				return nil, err
			}
			view, err := fields.View()
			if err != nil {
				return nil, err
			}
			var o effect.Object
			args := o.Text("level", level).Raw("message", view.Raw("message")).Raw("fields", view.Raw("fields")).Payload()
			return &effect.Request{Class: effect.Output, Kind: "log", Name: "log", Args: args}, nil
		},
	}
}
