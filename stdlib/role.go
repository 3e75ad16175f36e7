package stdlib

import (
	"go.starlark.net/starlark"

	"starling/lang/effect"
)

// roleBuiltin is pure, so that a library can offer roles which cost nothing and change nothing
// until somebody is asked.
func roleBuiltin() *effect.Builtin {
	return &effect.Builtin{
		FullName: "role",
		Doc: "An agent's standing definition: immutable data, which registers nothing. What a role leaves open is that of its name in the " +
			"project file.",
		Params: []effect.Param{
			{Name: "name", Type: "string", Doc: "The agent's name."},
			{Name: "instructions", Type: "string", Default: "None", KeywordOnly: true, Doc: "What the agent is told with every task."},
			{Name: "backend", Type: "string|list|tuple", Default: "None", KeywordOnly: true,
				Doc: "Name of the agent whose backend answers, or several in order of preference; its own by default."},
			{Name: "tools", Type: "list|tuple", Default: "None", KeywordOnly: true, Doc: toolsDoc},
			{Name: "input", Type: "contract", Default: "None", KeywordOnly: true, Doc: "What a handoff to it must carry."},
			{Name: "output", Type: "contract", Default: "None", KeywordOnly: true, Doc: "What it must reply."},
			{Name: "requires", Type: "list|tuple", Default: "None", KeywordOnly: true, Doc: "Keys that the context of a handoff to it must have."},
			timeoutParam("Of one attempt."),
			{Name: "retries", Type: "int", Most: maxFurther, Default: "None", KeywordOnly: true, Doc: "Further attempts after a failure of the transport."},
			{Name: "modifies", Type: "bool", Default: "None", KeywordOnly: true, Doc: "Whether it changes the workspace: anything of it, unless owns says what. Two that may change the same are not at work in two branches of one parallel."},
			{Name: "owns", Type: "list|tuple", Default: "None", KeywordOnly: true, Doc: ownsDoc},
			{Name: "limit", Type: "int", Least: 1, Most: 1<<31 - 1, Default: "None", KeywordOnly: true, Doc: "How many of it may be at work at once."},
		},
		Result: "role",
		Pure:   newRole,
	}
}

// newRole keeps what the call leaves open as None: what fills it, the project file, is known when
// the role is asked and not when it is made.
func newRole(c *effect.Call) (starlark.Value, error) {
	if err := effect.CheckName(c.Text("name", "")); err != nil {
		return nil, wrong(c, "name", "%w", err)
	}
	if err := checkRole(c); err != nil {
		return nil, err
	}
	fields := make([]starlark.Value, 0, len(effect.RoleType.Fields))
	for _, name := range effect.RoleType.Fields {
		v := c.Get(name)
		if list, ok := v.(starlark.Iterable); ok {
			v = tupleOf(list) // a role is immutable
		}
		fields = append(fields, v)
	}
	return effect.NewRecord(effect.RoleType, fields...), nil
}

// checkRole finds at the definition what would otherwise fail at the first call, far from the
// mistake.
func checkRole(c *effect.Call) error {
	if _, err := texts(c, "requires"); err != nil {
		return err
	}
	if err := checkOwns(c); err != nil {
		return err
	}
	if err := checkTools(c); err != nil {
		return err
	}
	if err := checkBackend(c); err != nil {
		return err
	}
	if err := positive(c, "timeout"); err != nil {
		return err
	}
	if _, err := c.Count("retries", 0); err != nil {
		return err
	}
	_, err := c.Count("limit", 1)
	return err
}

func tupleOf(v starlark.Iterable) starlark.Tuple {
	var t starlark.Tuple
	for e := range starlark.Elements(v) {
		t = append(t, e)
	}
	return t
}
