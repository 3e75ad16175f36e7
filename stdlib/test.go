package stdlib

import (
	"slices"
	"strings"

	"go.starlark.net/starlark"

	"starling/lang/contract"
	"starling/lang/effect"
)

// testNames are what only test files see. The builtins that script the world ask for something like
// any other effect, of kind "test", so that they are known by the time they return, and are not
// said again when a crash has restored the test.
func testNames() starlark.StringDict {
	names := members(answerBuiltin(), playBuiltin(), respondBuiltin(), completeBuiltin(), crashBuiltin(), defineBuiltin())
	names["assert"] = assertModule()
	return names
}

func testBuiltin(name, doc string, request func(c *effect.Call) (effect.Payload, error), params ...effect.Param) *effect.Builtin {
	return &effect.Builtin{
		FullName: name, Doc: doc, Params: params, Result: "None", Class: effect.Waiting,
		Request: func(c *effect.Call) (*effect.Request, error) {
			args, err := request(c)
			if err != nil {
				return nil, err
			}
			var o effect.Object
			return &effect.Request{Class: effect.Waiting, Kind: "test", Name: name, Args: o.Text("do", name).Raw("with", args).Payload()}, nil
		},
	}
}

func copied(fields ...string) func(c *effect.Call) (effect.Payload, error) {
	return func(c *effect.Call) (effect.Payload, error) { return arguments(c, fields...) }
}

func answerBuiltin() *effect.Builtin {
	return testBuiltin("answer", "Let somebody answer a gate when it is open. Several answers to one gate are given in the order of the calls, one each time that it asks; an answer that "+
		"no gate takes fails the test.",
		copied("gate", "choice", "by", "reason", "data", "after", "override", "refused"),
		effect.Param{Name: "gate", Type: "string", Doc: "Address of the gate, or the end of it: \"review-gate\", \"child/review-gate\"."},
		effect.Param{Name: "choice", Type: "string", Default: "None", Doc: "The option."},
		effect.Param{Name: "by", Type: "string", Default: "None", KeywordOnly: true, Doc: "Who answers; by default whom the gate is for."},
		effect.Param{Name: "reason", Type: "string", Default: "None", KeywordOnly: true, Doc: "Why."},
		effect.Param{Name: "data", Default: "None", KeywordOnly: true, Doc: "The payload."},
		effect.Param{Name: "after", Type: "duration", Default: "None", KeywordOnly: true, Doc: "How long after the gate has opened; at once by default."},
		effect.Param{Name: "override", Type: "bool", Default: "False", KeywordOnly: true, Doc: "Answer a gate that is for somebody else, in one's own name."},
		effect.Param{Name: "refused", Type: "string", Default: "None", KeywordOnly: true,
			Doc: "The answer must be refused with an error of this kind, such as \"bad_choice\" or \"wrong_target\"; the gate stays open."},
	)
}

func playBuiltin() *effect.Builtin {
	return testBuiltin("play", "Say who plays an agent from now on in this test, instead of the file's function of its name.", playRequest,
		effect.Param{Name: "agent", Type: "string", Doc: "Name of the agent."},
		effect.Param{Name: "function", Type: "callable", Default: "None", Doc: "A function of the test file, called with the request as scripted agents are."},
		effect.Param{Name: "replies", Type: "list", Default: "None", KeywordOnly: true,
			Doc: "What it replies, one after the other: an output, a text, or reply(…). All of them must be asked for."},
	)
}

// playRequest takes one of the two ways to play, for a function with replies would leave open which
// counts.
func playRequest(c *effect.Call) (effect.Payload, error) {
	fn, _ := c.Get("function").(starlark.Callable)
	if (fn == nil) == (c.Get("replies") == nil) {
		return nil, wrong(c, "function", "want either a function or replies")
	}
	if err := effect.CheckName(c.Text("agent", "")); err != nil {
		return nil, wrong(c, "agent", "%w", err)
	}
	var o effect.Object
	o.Text("agent", c.Text("agent", ""))
	if fn != nil {
		return o.Text("function", fn.Name()).Payload(), nil
	}
	replies, err := arguments(c, "replies")
	if err != nil {
		return nil, err
	}
	view, err := replies.View()
	return o.Raw("replies", view.Raw("replies")).Payload(), err
}

func respondBuiltin() *effect.Builtin {
	return testBuiltin("respond", "Let an HTTP server answer. Several responses to one URL are given in the order of the calls, the last one again and again. Nothing reaches the network "+
		"in a test: a request without a response fails.", respondRequest,
		effect.Param{Name: "url", Type: "string", Doc: "The URL; one that ends with * is the beginning of many."},
		effect.Param{Name: "method", Type: "string", Default: "None", KeywordOnly: true, Doc: "Only requests of this method."},
		effect.Param{Name: "status", Type: "int", Least: 100, Most: 599, Default: "200", KeywordOnly: true, Doc: "The status."},
		effect.Param{Name: "json", Default: "None", KeywordOnly: true, Doc: "The body as a value, sent as JSON."},
		effect.Param{Name: "body", Type: "string", Default: "\"\"", KeywordOnly: true, Doc: "The body as it is."},
		effect.Param{Name: "error", Type: "string", Default: "None", KeywordOnly: true, Doc: "The request fails on its way, with this message."},
		effect.Param{Name: "delay", Type: "duration", Default: "None", KeywordOnly: true, Doc: "How long it takes, by the clock of the test: longer than the timeout of the call is an error of kind timeout."},
	)
}

func respondRequest(c *effect.Call) (effect.Payload, error) {
	status, err := c.Count("status", 200)
	if err != nil {
		return nil, err
	}
	body := c.Text("body", "")
	if v := c.Get("json"); v != nil {
		text, err := contract.ToJSON(v)
		if err != nil {
			return nil, wrong(c, "json", "%w", err)
		}
		body = string(text)
	}
	var o effect.Object
	return o.Text("url", c.Text("url", "")).Text("method", strings.ToUpper(c.Text("method", ""))).Int("status", int64(status)).Text("body", body).
		Text("error", c.Text("error", "")).Text("delay", c.Text("delay", "")).Payload(), nil
}

func completeBuiltin() *effect.Builtin {
	return testBuiltin("complete", "Let a program end as it is said here, for sh.run, measure.tests and measure.scan; it is not started, and the project need not allow it. Several ends of one command are given in the order of the calls, "+
		"the last one again and again.", func(c *effect.Call) (effect.Payload, error) {
		if err := checkProgram(c, "argv"); err != nil {
			return nil, err
		}
		return arguments(c, "argv", "code", "text", "stderr", "error", "delay")
	},
		effect.Param{Name: "argv", Type: "list|tuple", Doc: "The program and its arguments, as the script has them; where the last is \"*\" any may follow those before it."},
		effect.Param{Name: "code", Type: "int", Least: 0, Most: 255, Default: "0", KeywordOnly: true, Doc: "The exit code."},
		effect.Param{Name: "text", Type: "string", Default: "\"\"", KeywordOnly: true, Doc: "What it writes to standard output: with measure the report."},
		effect.Param{Name: "stderr", Type: "string", Default: "\"\"", KeywordOnly: true, Doc: "What it writes to standard error."},
		effect.Param{Name: "error", Type: "string", Default: "None", KeywordOnly: true, Doc: "It does not run to its end, with this message: an error of kind unavailable."},
		effect.Param{Name: "delay", Type: "duration", Default: "None", KeywordOnly: true, Doc: "How long it takes, by the clock of the test: longer than the timeout of the call is an error of kind timeout."},
	)
}

func crashBuiltin() *effect.Builtin {
	return testBuiltin("crash_at", "Let the power fail while a step is under way: the run goes on in another engine, from what the store has. An attempt in flight is cut, and nobody knows "+
		"whether it took effect. A step that is not reached fails the test.", func(c *effect.Call) (effect.Payload, error) {
		times, err := c.Count("times", 1)
		if err != nil {
			return nil, err
		}
		var o effect.Object
		return o.Text("step", c.Text("step", "")).Int("times", int64(times)).Payload(), nil
	},
		effect.Param{Name: "step", Type: "string", Doc: "Address of the step, or the end of it."},
		effect.Param{Name: "times", Type: "int", Least: 1, Most: 100, Default: "1", KeywordOnly: true, Doc: "How often it fails there; a step's second attempt is another time."},
	)
}

func defineBuiltin() *effect.Builtin {
	return testBuiltin("define", "Keep a script under a name in this test, as starling define does, so that "+
		"run() and the workflows of pipelines find it. It may load what the test file loads.",
		copied("name", "source"),
		effect.Param{Name: "name", Type: "string", Doc: "The name."},
		effect.Param{Name: "source", Type: "string", Doc: "Its text, with a main."},
	)
}

// snapshotBuiltin compares with what lies in a file. That is not in the store, so it is asked for
// as the world is.
func snapshotBuiltin() *effect.Builtin {
	return testBuiltin("assert.snapshot", "That a value is what it was when it was kept, in the file of snapshots beside the test, NAME_test.snap. "+
		"`starling test` keeps one that is new, but not where CI is set; `--update` keeps what there is now. A text is kept line by line, anything else as JSON.",
		func(c *effect.Call) (effect.Payload, error) {
			if name := c.Text("name", ""); name != "" {
				if err := effect.CheckName(name); err != nil {
					return nil, wrong(c, "name", "%w", err)
				}
			}
			return arguments(c, "got", "name", "message")
		},
		effect.Param{Name: "got", Nullable: true, Doc: "What there is."},
		effect.Param{Name: "name", Type: "string", Default: "None", Doc: "What it is called within the test; by default 1, 2, … in the order of the calls."},
		effect.Param{Name: "message", Type: "string", Default: "None", KeywordOnly: true, Doc: "What stands before the error."},
	)
}

// TestNames lists the names that only test files see, sorted.
func TestNames() []string {
	names := testNames().Keys()
	slices.Sort(names)
	return names
}
