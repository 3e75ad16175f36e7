package lang_test

import (
	"strconv"
	"strings"

	"go.starlark.net/starlark"
	"go.starlark.net/starlarkstruct"

	"starling/lang/effect"
)

// environment declares enough builtins to check scripts against: some of the real ones, with the
// parameters that matter to a test. Nothing here can be called.
func environment() *effect.Environment {
	names := starlark.StringDict{
		"http": &starlarkstruct.Module{Name: "http", Members: starlark.StringDict{
			"get":  builtin("http.get(url, *, headers:dict, timeout:duration, name:string) -> Response", effect.Waiting),
			"post": builtin("http.post(url, *, json, headers:dict, timeout:duration, name:string)", effect.Waiting),
		}},
		"mcp": &starlarkstruct.Module{Name: "mcp", Members: starlark.StringDict{
			"server": builtin("mcp.server(name:string, *, cmd:list, url:string) -> ToolServer", effect.Pure),
			"call":   builtin("mcp.call(server, tool:string, arguments:dict=)", effect.Waiting),
		}},
		"json": &starlarkstruct.Module{Name: "json", Members: starlark.StringDict{"encode": starlark.NewBuiltin("encode", nil)}},
	}
	for _, name := range []string{"parallel", "attempt", "budget", "forever"} {
		names[name] = starlark.NewBuiltin(name, nil) // the machine's own
	}
	for _, b := range []*effect.Builtin{
		builtin("agent(who, task:string=, *, input, context, output, timeout:duration, retries:int<=100, on_error:fail/return, backend, tools:list, on_event:function, owns:list, name:string) -> Result", effect.Waiting),
		builtin("handoff(to:string, payload, *, tools:list, on_event:function, owns:list, name:string) -> Result", effect.Waiting),
		builtin("gate(name:string, *, prompt:string, options:list|dict, target:string, data, timeout:duration, fallback:string, on_timeout:fail/return, escalate:list|tuple, quorum:int, wait:bool) -> Decision", effect.Waiting),
		builtin("run(script:string, inputs:dict=, *, name:string, timeout:duration)", effect.Waiting),
		builtin("sleep(d:duration)", effect.Waiting),
		builtin("now()", effect.Answer),
		builtin("print(*args, sep:string)", effect.Output),
		builtin("emit(kind:string, **fields)", effect.Output),
		builtin("steer(message:string)", effect.Pure),
		builtin("stop(reason:string=)", effect.Pure),
		builtin("contract(text:string)", effect.Pure),
		builtin("role(name:string, *, instructions:string, backend, tools:list, output:contract, modifies:bool, owns:list) -> role", effect.Pure),
	} {
		names[b.FullName] = b
	}
	return &effect.Environment{Names: names}
}

// builtin reads a declaration: NAME:TYPE= is an optional parameter of a type, after * all are
// optional, A/B are the texts allowed, <=N bounds an int.
func builtin(text string, class effect.Class) *effect.Builtin {
	text, result, _ := strings.Cut(text, " -> ")
	name, params, _ := strings.Cut(strings.TrimSuffix(text, ")"), "(")
	b := &effect.Builtin{FullName: name, Class: class, Result: result}
	star := false
	for p := range strings.SplitSeq(params, ", ") {
		if p == "*" || p == "" {
			star = true
			continue
		}
		q := effect.Param{KeywordOnly: star}
		if star {
			q.Default = "None"
		}
		p, most, _ := strings.Cut(p, "<=")
		q.Most, _ = strconv.Atoi(most)
		p, optional := strings.CutSuffix(p, "=")
		if optional {
			q.Default = "None"
		}
		p, q.Keywords = strings.CutPrefix(p, "**")
		p, q.Variadic = strings.CutPrefix(p, "*")
		star = star || q.Variadic
		q.Name, q.Type, _ = strings.Cut(p, ":")
		if strings.Contains(q.Type, "/") {
			q.Type, q.OneOf = "string", strings.Split(q.Type, "/")
		}
		b.Params = append(b.Params, q)
	}
	return b
}
