package stdlib

import (
	"regexp"
	"strings"
	"sync"
	"time"

	"go.starlark.net/starlark"

	"starling/lang/effect"
	"starling/stdlib/jail"
)

// shTimeout is what a command has, unless said otherwise.
const shTimeout = 5 * time.Minute

// shBuiltin runs a program that the project allows.
func shBuiltin() *effect.Builtin {
	return &effect.Builtin{
		FullName: "sh.run",
		Doc: "Run a program that [sh] of the project file allows, without a shell, in a sandbox. " +
			"It may change the workspace and read the system's files, and has no network. " +
			"Every exit code gives a Completed, which is true when the code is 0, but 126 and 127, by which shells say that there was nothing to run; only what was not run to its end raises.",
		Params: []effect.Param{
			{Name: "argv", Type: "list|tuple", Doc: "The program and its arguments, each as it is: nothing is expanded."},
			{Name: "dir", Type: "string", Default: `"."`, KeywordOnly: true, Doc: "The folder of the workspace to run it in."},
			{Name: "env", Type: "dict", Default: "{}", KeywordOnly: true, Doc: "Further environment variables. They are recorded; keys belong into env of [sh]."},
			{Name: "stdin", Type: "string|bytes", Default: "None", KeywordOnly: true, Doc: "What it reads; nothing by default."},
			timeoutParam("When it is ended with all that it has started, \"5m\" by default."),
			onUncertainParam(`"ask"`),
			{Name: "idempotent", Type: "bool", Default: "False", KeywordOnly: true, Doc: "That a repetition does no harm: what a crash has cut is run again."},
			nameParam("the function's name"),
		},
		Result:  "Completed",
		Class:   effect.Waiting,
		Request: shRequest,
	}
}

// shRequest asks people about a command that a crash has cut, unless it says that a repetition does
// no harm: nobody can tell from outside how far a program came.
func shRequest(c *effect.Call) (*effect.Request, error) {
	name, err := stepName(c, c.Builtin.FullName)
	if err != nil {
		return nil, err
	}
	for _, err := range []error{checkProgram(c, "argv"), checkFolder(c), checkVariables(c), positive(c, "timeout")} {
		if err != nil {
			return nil, err
		}
	}
	r, err := request(c, "sh", name, "argv", "dir", "env", "stdin")
	if err != nil {
		return nil, err
	}
	r.Policy = effect.Policy{Timeout: c.Duration("timeout", shTimeout), OnUncertain: effect.Ask, Idempotent: c.Flag("idempotent", false)}
	if r.Policy.Idempotent {
		r.Policy.OnUncertain = effect.Retry
	}
	r.Policy.OnUncertain = onUncertain(c, r.Policy.OnUncertain)
	return r, nil
}

// checkProgram checks a program and its arguments.
func checkProgram(c *effect.Call, param string) error {
	argv, err := texts(c, param)
	if err != nil {
		return err
	}
	if len(argv) == 0 || argv[0] == "" {
		return wrong(c, param, "got an empty list, want a program and its arguments")
	}
	for i, a := range argv {
		if strings.IndexByte(a, 0) >= 0 {
			return wrong(c, param, "[%d]: an argument holds no NUL byte", i)
		}
	}
	return nil
}

func checkFolder(c *effect.Call) error {
	if err := jail.Check(c.Text("dir", ".")); err != nil {
		return wrong(c, "dir", "%w", err)
	}
	return nil
}

var variableName = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`^[A-Za-z_][A-Za-z0-9_]*$`) })

func checkVariables(c *effect.Call) error {
	env, ok := c.Get("env").(*starlark.Dict)
	if !ok {
		return nil
	}
	for k, v := range env.Entries() {
		name, _ := starlark.AsString(k)
		value, ok := starlark.AsString(v)
		switch {
		case !variableName().MatchString(name):
			return wrong(c, "env", "got the name %s, want letters, digits and '_', not beginning with a digit", k)
		case strings.HasPrefix(name, "STARLING_"):
			return wrong(c, "env", "got the name %s; these are set for every command", k)
		case !ok:
			return wrong(c, "env", "%s: got %s, want string", name, v.Type())
		case strings.IndexByte(value, 0) >= 0:
			return wrong(c, "env", "%s: a value holds no NUL byte", name)
		}
	}
	return nil
}
