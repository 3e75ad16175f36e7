package stdlib

import (
	"slices"

	"go.starlark.net/starlark"

	"starling/lang/effect"
	"starling/stdlib/agent"
	"starling/stdlib/jail"
	"starling/stdlib/project"
	"starling/stdlib/secret"
)

const maxFurther = 100 // retries, reasks

const toolsDoc = "The tools it may use, none by default: a tool server (\"github\"), tools of one (\"github.get_*\"), what mcp.server gives, and for presets what they may use " +
	"in their own notation; for agents with acp kinds of tools, such as \"execute\"."

const ownsDoc = "Patterns of the paths that are its to change, with all that is below them: \"src/auth\", \"docs/**/*.md\"."

// agentKeywords are the keywords of agent that handoff has too.
func agentKeywords() []effect.Param {
	return []effect.Param{
		{Name: "backend", Type: "string|list|tuple", Default: "None", KeywordOnly: true,
			Doc: "Name of the agent whose backend answers instead of its own, or several in order of preference: when one is missing the next is asked."},
		{Name: "tools", Type: "list|tuple", Default: "None", KeywordOnly: true, Doc: toolsDoc},
		timeoutParam("Of one attempt; \"5m\" unless the role or the project says otherwise. Waiting for people is not counted."),
		{Name: "retries", Type: "int", Most: maxFurther, Default: "None", KeywordOnly: true, Doc: "Further attempts after a failure of the transport, 1 by default."},
		{Name: "reasks", Type: "int", Most: maxFurther, Default: "None", KeywordOnly: true,
			Doc: "Further attempts after a reply that broke its contract or is a placeholder, 2 by default; each is told the exact paths at fault."},
		onErrorParam("a Result"),
		{Name: "on_event", Type: "callable", Default: "None", KeywordOnly: true,
			Doc: "Called with each Event, one at a time, before the Result is delivered; answers proceed(), stop(reason) or steer(message)."},
		{Name: "events", Type: "list|tuple", Default: "None", KeywordOnly: true, Doc: "Kinds of events wanted beside the usual ones: \"delta\"."},
		onUncertainParam(`"retry"`),
		{Name: "memory", Type: "string", Default: "None", KeywordOnly: true,
			Doc: "Name of a chat of memory.chat: the agent is given what was said in it, and its task and its reply are added when it has replied."},
		{Name: "session", Type: "string", Default: "None", KeywordOnly: true,
			Doc: "Name of a conversation: calls of the run that name the same go on with it, one after the other, where their backend keeps conversations (presets, acp). When its context is " +
				"full, or it is gone, a new one begins."},
		{Name: "files", Type: "list|tuple", Default: "None", KeywordOnly: true,
			Doc: "Images, PDFs and texts to look at: paths of the workspace, and what artifact has given. 16 at most, of 16 MB together."},
		{Name: "owns", Type: "list|tuple", Default: "None", KeywordOnly: true, Doc: ownsDoc + " An agent that owns paths may change them."},
		{Name: "not_by", Default: "None", KeywordOnly: true,
			Doc: "Who must neither be asked nor serve: a name, a Result, a Decision, or a list of such. A checker is not the maker."},
		nameParam("the agent's name"),
	}
}

func agentBuiltin() *effect.Builtin {
	return &effect.Builtin{
		FullName: "agent",
		Doc: "Ask an agent and wait for its reply. A reply that does not meet output goes back to the agent with the paths at fault, at most " +
			"reasks times; so does one that only fills required free text with placeholders, such as \"TODO\" or the field's own name.",
		Params: append([]effect.Param{
			{Name: "who", Type: "string|role", Doc: "A role, or the name of one: it is looked up in the fake, then in the project file."},
			{Name: "task", Type: "string", Default: `""`, Doc: "What to do, in words."},
			{Name: "input", Default: "None", KeywordOnly: true, Doc: "What to do it on."},
			{Name: "context", Default: "None", KeywordOnly: true, Doc: "What may help."},
			{Name: "output", Type: "contract", Default: "None", KeywordOnly: true, Doc: "What the reply must be."},
		}, agentKeywords()...),
		Result: "Result",
		Class:  effect.Waiting,
		Request: func(c *effect.Call) (*effect.Request, error) {
			return ask(c, "who", "who", "task", "input", "context", "output", "files")
		},
	}
}

func handoffBuiltin() *effect.Builtin {
	return &effect.Builtin{
		FullName: "handoff",
		Doc: "Pass typed work from one role to another and wait for the reply. The payload is checked against accepts before anything is sent, " +
			"the reply against returns.",
		Params: append([]effect.Param{
			{Name: "to", Type: "string|role", Doc: "The receiver: a role, or the name of one."},
			{Name: "payload", Nullable: true, Doc: "The work."},
			{Name: "task", Type: "string", Default: `""`, KeywordOnly: true, Doc: "What to do, in words."},
			{Name: "sender", Type: "string|role", Default: "None", KeywordOnly: true, Doc: "Who hands the work over."},
			{Name: "accepts", Type: "contract", Default: "None", KeywordOnly: true, Doc: "What the payload must be; the receiver's input by default."},
			{Name: "returns", Type: "contract", Default: "None", KeywordOnly: true, Doc: "What the reply must be; the receiver's output by default."},
			{Name: "context", Type: "dict", Default: "{}", KeywordOnly: true,
				Doc: "What the receiver should know. The keys that its role requires must be there; constraints is a list that it must keep to; history is not passed on."},
			{Name: "cycle", Type: "int", Most: 1<<31 - 1, Default: "None", KeywordOnly: true, Doc: "Which round of a cycle this is, from 0."},
			{Name: "budget", Type: "int", Least: 1, Most: maxBudget, Default: "None", KeywordOnly: true,
				Doc: "How many tokens payload and context may take together; more is an error of kind budget. A token is taken for four characters of JSON."},
		}, agentKeywords()...),
		Result: "Result",
		Class:  effect.Waiting,
		Request: func(c *effect.Call) (*effect.Request, error) {
			if _, err := c.Count("cycle", 0); err != nil {
				return nil, err
			}
			if _, err := c.Count("budget", 1); err != nil {
				return nil, err
			}
			if err := checkWho(c, "sender"); err != nil {
				return nil, err
			}
			r, err := ask(c, "to", "to", "payload", "task", "sender", "accepts", "returns", "context", "cycle", "budget", "files")
			if err != nil {
				return nil, err
			}
			return r, withoutKeys(r)
		},
	}
}

// withoutKeys redacts what is a key by its form: findings quote files. It is done before anything
// is recorded, so that neither the journal nor the receiver has it.
func withoutKeys(r *effect.Request) error {
	if !secret.Found(r.Args) {
		return nil
	}
	v, err := r.Args.Value()
	if err != nil {
		return err
	}
	r.Args, err = effect.Encode(secret.RedactKeys(v))
	return err
}

// ask makes the request of agent and handoff. What the role and the project say about timeout,
// retries and reasks is not known here: the resolver fills them, so that they travel as arguments.
func ask(c *effect.Call, who string, fields ...string) (*effect.Request, error) {
	if err := checkWho(c, who); err != nil {
		return nil, err
	}
	name, err := stepName(c, nameOf(c.Get(who)))
	if err != nil {
		return nil, err
	}
	if err := checkAsking(c); err != nil {
		return nil, err
	}
	r, err := request(c, c.Builtin.FullName, name, append(fields, "backend", "tools", "timeout", "retries", "reasks", "memory", "session", "owns", "not_by")...)
	if err != nil {
		return nil, err
	}
	r.Policy = effect.Policy{OnError: onError(c), OnUncertain: onUncertain(c, effect.Retry)}
	if r.Events, err = texts(c, "events"); err != nil {
		return nil, err
	}
	r.OnEvent, _ = c.Get("on_event").(starlark.Callable)
	return r, nil
}

func checkAsking(c *effect.Call) error {
	if err := positive(c, "timeout"); err != nil {
		return err
	}
	for _, p := range []string{"retries", "reasks"} {
		if _, err := c.Count(p, 0); err != nil {
			return err
		}
	}
	if err := checkTools(c); err != nil {
		return err
	}
	for _, p := range []string{"memory", "session"} {
		if err := checkKey(c, p); err != nil {
			return err
		}
	}
	if err := checkFiles(c); err != nil {
		return err
	}
	if err := checkOwns(c); err != nil {
		return err
	}
	if err := checkNotBy(c); err != nil {
		return err
	}
	return checkBackend(c)
}

// checkTools checks that tools are texts or tool servers.
func checkTools(c *effect.Call) error {
	list, ok := c.Get("tools").(starlark.Iterable)
	if !ok {
		return nil
	}
	i := 0
	for v := range starlark.Elements(list) {
		r, isRecord := v.(*effect.Record)
		text, isText := starlark.AsString(v)
		switch {
		case isRecord && r.RecordType() == effect.ToolServerType:
		case !isText:
			return wrong(c, "tools", "[%d]: got %s, want string or ToolServer", i, v.Type())
		case text == "":
			return wrong(c, "tools", "[%d]: got an empty text, want the name of a tool server or of a tool", i)
		}
		i++
	}
	return nil
}

// checkBackend checks a name, or a list of names.
func checkBackend(c *effect.Call) error {
	names, err := texts(c, "backend")
	if err != nil {
		return err
	}
	v := c.Get("backend")
	if b, ok := v.(starlark.String); ok {
		names = []string{string(b)}
	}
	if v != nil && len(names) == 0 {
		return wrong(c, "backend", "got an empty list, want the name of an agent, or several")
	}
	for _, name := range names {
		if err := effect.CheckName(name); err != nil {
			return wrong(c, "backend", "%w", err)
		}
	}
	return nil
}

// checkWho checks the type and name of a role argument that is there.
func checkWho(c *effect.Call, param string) error {
	v := c.Get(param)
	if r, ok := v.(*effect.Record); ok && r.RecordType() != effect.RoleType {
		return wrong(c, param, "got %s, want string or role", r.Type())
	}
	if v == nil {
		return nil
	}
	if err := effect.CheckName(nameOf(v)); err != nil {
		return wrong(c, param, "%w", err)
	}
	return nil
}

// nameOf is the name of a role or of a tool server, or the string that stands for one.
func nameOf(v starlark.Value) string {
	if r, ok := v.(*effect.Record); ok {
		v = r.Field("name")
	}
	name, _ := starlark.AsString(v)
	return name
}

// checkOwns checks patterns of paths.
func checkOwns(c *effect.Call) error {
	patterns, err := texts(c, "owns")
	if err != nil {
		return err
	}
	for i, p := range patterns {
		if err := jail.CheckPattern(p); err != nil {
			return wrong(c, "owns", "[%d]: %w", i, err)
		}
	}
	return nil
}

// checkFiles checks what goes with a task.
func checkFiles(c *effect.Call) error {
	paths, err := texts(c, "files")
	if err != nil {
		return err
	}
	if len(paths) > agent.MaxFiles {
		return wrong(c, "files", "got %d, want at most %d", len(paths), agent.MaxFiles)
	}
	for i, p := range paths {
		if err := jail.Check(p); err != nil {
			return wrong(c, "files", "[%d]: %w", i, err)
		}
	}
	return nil
}

// grantedAgentFiles refuses to send files of the workspace to an agent for a script of others that
// may not read them. What the run itself has left as an artifact is its own.
func grantedAgentFiles(resolve func(*effect.Settings, *effect.Request) *effect.Error) func(*effect.Settings, *effect.Request) *effect.Error {
	return func(s *effect.Settings, r *effect.Request) *effect.Error {
		args, err := r.Args.View()
		if err != nil {
			return effect.Errorf(effect.KindRefused, "%s: %v", r.Kind, err)
		}
		if slices.ContainsFunc(agent.FileNames(args), func(name string) bool { return !agent.IsArtifact(name) }) {
			if fault := grantedFiles(s, project.ReadFiles); fault != nil {
				return fault
			}
		}
		return resolve(s, r)
	}
}

// checkNotBy checks identities.
func checkNotBy(c *effect.Call) error {
	names, ok := effect.Identities(c.Get("not_by"))
	if !ok {
		return wrong(c, "not_by", "got %s, want a name, a Result, a Decision, or a list of such", c.Get("not_by").Type())
	}
	if slices.Contains(names, "") {
		return wrong(c, "not_by", "got an empty name; leave it out to exclude nobody")
	}
	return nil
}
