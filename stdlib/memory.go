package stdlib

import (
	"strings"

	"go.starlark.net/starlark"
	"go.starlark.net/starlarkstruct"

	"starling/lang/effect"
)

// memoryModule is what a run shares between its branches and agents, and what the runs of a
// workspace share. The runtime keeps it all.
func memoryModule() starlark.StringDict {
	d := starlark.StringDict{}
	for name, builtins := range map[string][]*effect.Builtin{"vars": varsModule(), "chat": chatModule(), "project": projectModule()} {
		d[name] = &starlarkstruct.Module{Name: "memory." + name, Members: members(builtins...)}
	}
	return d
}

// variables are the functions of a module of variables: whose they are, and what is to be known of
// what they give and of what they are given.
func variables(class effect.Class, module, whose, gives, given string) []*effect.Builtin {
	key := effect.Param{Name: "key", Type: "string", Doc: "The variable."}
	return []*effect.Builtin{
		memoryBuiltin(class, module+".get", "any", "The value that a variable of the "+whose+" was given last, "+gives,
			key, effect.Param{Name: "default", Default: "None", Doc: "What it gives when nothing was set."}),
		memoryBuiltin(class, module+".set", "None", "Give a variable of the "+whose+" a value. "+given,
			key, effect.Param{Name: "value", Nullable: true, Doc: "What it is to hold."}),
		memoryBuiltin(class, module+".delete", "bool", "Forget a variable of the "+whose+", and tell whether there was one.", key),
		memoryBuiltin(class, module+".all", "dict", "All variables of the "+whose+", by name."),
	}
}

func varsModule() []*effect.Builtin {
	return variables(effect.Answer, "memory.vars", "run", "a copy of it. Variables are shared by all branches.", "What later happens to the value does not change the variable.")
}

func projectModule() []*effect.Builtin {
	return variables(effect.Waiting, "memory.project", "project", "by any run. All runs of a store share them.", "Every run sees it, and it outlives them all.")
}

func chatModule() []*effect.Builtin {
	chat := effect.Param{Name: "chat", Type: "string", Default: `"main"`, KeywordOnly: true, Doc: "Which chat; the name that agent(memory = …) takes."}
	return []*effect.Builtin{
		memoryBuiltin(effect.Answer, "memory.chat.add", "None", "Say something in a chat of the run, for all agents that are given it.",
			effect.Param{Name: "text", Type: "string", Doc: "What is said."},
			effect.Param{Name: "by", Type: "string", Default: `"script"`, KeywordOnly: true, Doc: "Who says it."}, chat),
		memoryBuiltin(effect.Answer, "memory.chat.all", "list", "What was said in a chat of the run: dicts with by and text, and to where it was said to one agent.", chat),
		memoryBuiltin(effect.Answer, "memory.chat.keep", "None", "Forget all but the newest entries of a chat.",
			effect.Param{Name: "last", Type: "int", Most: 1<<31 - 1, Doc: "How many are kept."}, chat),
	}
}

// memoryBuiltin declares a call whose kind is the module and whose argument do is the function.
func memoryBuiltin(class effect.Class, name, result, doc string, params ...effect.Param) *effect.Builtin {
	return &effect.Builtin{FullName: name, Doc: doc, Params: params, Result: result, Class: class, Request: memoryRequest}
}

func memoryRequest(c *effect.Call) (*effect.Request, error) {
	for _, p := range c.Builtin.Params {
		var err error
		switch p.Name {
		case "key", "chat", "by":
			err = checkKey(c, p.Name)
		case "last":
			_, err = c.Count(p.Name, 0)
		}
		if err != nil {
			return nil, err
		}
	}
	return operation(c)
}

// operation makes the request of a function of a module: its kind is the module, its argument do
// the function, and its other arguments are those that the call has.
func operation(c *effect.Call) (*effect.Request, error) {
	var o effect.Object
	o.Text("do", function(c))
	if err := addArguments(c, &o, c.Builtin.Params); err != nil {
		return nil, err
	}
	return &effect.Request{Class: c.Builtin.Class, Kind: strings.TrimSuffix(c.Builtin.FullName, "."+function(c)), Name: c.Builtin.FullName, Args: o.Payload()}, nil
}

// addArguments adds the arguments that a call has for some of its parameters.
func addArguments(c *effect.Call, o *effect.Object, params []effect.Param) error {
	for _, p := range params {
		v := c.Get(p.Name)
		if v == nil {
			continue
		}
		encoded, err := effect.Encode(v)
		if err != nil {
			return wrong(c, p.Name, "%w", err)
		}
		o.Raw(p.Name, encoded)
	}
	return nil
}

// function is the last part of the name that a call goes by.
func function(c *effect.Call) string {
	return c.Builtin.FullName[strings.LastIndexByte(c.Builtin.FullName, '.')+1:]
}

// checkKey checks a name that is there.
func checkKey(c *effect.Call, param string) error {
	v, ok := c.Get(param).(starlark.String)
	switch {
	case !ok:
	case v == "":
		return wrong(c, param, "got an empty text")
	case len(v) > effect.MaxKey:
		return wrong(c, param, "got %d bytes, at most %d are taken", len(v), effect.MaxKey)
	}
	return nil
}
