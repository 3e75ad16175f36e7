package stdlib

import (
	"context"

	"starling/lang/effect"
)

// journalModule lets a script see what its run has done: the facts, not what the script remembers
// of them.
func journalModule() []*effect.Builtin {
	of := effect.Param{Name: "of", Type: "string", Default: "None", KeywordOnly: true, Doc: "Address of the step that started a child run, to see its journal; this run's by default."}
	types := effect.Param{Name: "types", Type: "list", Default: "[]", KeywordOnly: true, Doc: "Only events of these types, such as \"output.emit\"."}
	return []*effect.Builtin{
		journalBuiltin("steps", "The steps that the run has made before this call, in the order of their requests. "+
			"They are dicts with step, kind, agent, status, attempts, started_at, ended_at and tries.", of),
		journalBuiltin("events", "The events of the run before this call, in order: dicts with seq, time, branch, step, type and data.", of, types),
	}
}

func journalBuiltin(name, doc string, params ...effect.Param) *effect.Builtin {
	return &effect.Builtin{
		FullName: "journal." + name, Doc: doc, Params: append(params, nameParam("the function's name")), Result: "list", Class: effect.Waiting,
		Request: func(c *effect.Call) (*effect.Request, error) {
			step, err := stepName(c, c.Builtin.FullName)
			if err != nil {
				return nil, err
			}
			var wanted []string
			if name == "events" {
				if wanted, err = texts(c, "types"); err != nil {
					return nil, err
				}
			}
			var o effect.Object
			args := o.Text("do", name).Text("of", c.Text("of", "")).Texts("types", wanted).Payload()
			return &effect.Request{Class: effect.Waiting, Kind: "journal", Name: step, Args: args}, nil
		},
	}
}

// journalHandler reads what the engine shows. Reading twice does no harm: an attempt that a crash
// cut is made again.
func journalHandler() *effect.Handler {
	return &effect.Handler{Perform: func(_ context.Context, a *effect.Attempt) effect.Reply {
		args := effect.ViewOf(a.Args)
		v, err := a.Journal(effect.Look{Child: args.Text("of"), Events: args.Text("do") == "events", Types: args.Texts("types")})
		return effect.Reply{Value: v, Err: err}
	}}
}
