package project

import (
	"fmt"
	"net/url"
	"slices"
	"strings"

	"starling/lang/diagnostic"
	"starling/lang/effect"
	"starling/stdlib/jail"
)

// served are the keys that say who serves an agent, by the backends that have them; "backends"
// stands for an agent that only lists others. The other keys belong to every agent.
var served = [...]struct {
	key string
	by  []string
}{
	{"command", []string{Command, ACP}},
	{"preset", []string{Command}},
	{"permissions", []string{ACP}},
	{"files", []string{ACP}},
	{"mode", []string{ACP}},
	{"login", []string{ACP}},
	{"server", []string{MCP}},
	{"tool", []string{MCP}},
	{"sandbox", []string{Command, ACP}},
	{"env", []string{Command, ACP, Anthropic, OpenAI}},
	{"model", []string{Command, ACP, Anthropic, OpenAI}},
	{"url", []string{Anthropic, OpenAI}},
	{"max_tokens", []string{Anthropic, OpenAI}},
	{"price", []string{Command, ACP, Anthropic, OpenAI}},
	{"cassette", []string{Command, ACP, MCP, Anthropic, OpenAI}},
}

func (r *reader) agent(name string, t table) Agent {
	if err := effect.CheckName(name); err != nil {
		r.complain(t.path, diagnostic.Diagnostic{Message: err.Error()})
	}
	r.onlyKeys(t, "backend", "backends", "command", "preset", "permissions", "files", "mode", "login", "server", "tool", "env", "model", "url", "max_tokens", "price", "cassette", "tools", "modifies", "sandbox", "owns", "timeout", "retries", "reasks", "limit", "queue",
		"instructions", "input", "output")
	instructions, _ := r.string(t, "instructions")
	a := Agent{
		Name:         name,
		Backends:     r.strings(t, "backends"),
		Command:      r.strings(t, "command"),
		Env:          r.variables(t),
		URL:          r.url(t),
		Price:        r.priceAt(t, "price"),
		MaxTokens:    r.bound(t, "max_tokens", 1),
		Tools:        r.strings(t, "tools"),
		Modifies:     r.flag(t, "modifies"),
		Files:        r.flag(t, "files"),
		Sandbox:      r.flag(t, "sandbox"),
		Owns:         r.patterns(t, "owns"),
		Limits:       r.limits(t),
		Limit:        int(r.bound(t, "limit", 1)),
		Instructions: instructions,
		Input:        r.contract(t, "input"),
		Output:       r.contract(t, "output"),
	}
	a.Queue, _ = r.string(t, "queue")
	a.Model, _ = r.string(t, "model")
	a.Mode, _ = r.string(t, "mode")
	a.Login, _ = r.string(t, "login")
	a.Cassette, _ = r.string(t, "cassette")
	a.Server, _ = r.string(t, "server")
	a.Tool, _ = r.string(t, "tool")
	if _, lists := t.values["backends"]; lists {
		r.checkList(t, a)
		return a
	}
	a.Preset, _ = r.oneOf(t, "preset", "", Claude, Codex, Gemini)
	var known bool
	if a.Backend, known = r.backend(t); !known {
		return a
	}
	a.Permissions, _ = r.oneOf(t, "permissions", DenyPermissions, DenyPermissions, AskPermissions)
	r.checkServed(t, a.Backend)
	r.checkCommand(t, a)
	r.checkModel(t, &a)
	r.checkServer(t, a)
	if a.Preset != "" && a.Command == nil {
		a.Command = []string{a.Preset}
	}
	return a
}

// backend reads the backend of an agent. A coding agent, easily taken for one, is a preset.
func (r *reader) backend(t table) (s string, ok bool) {
	switch named := t.values["backend"]; named {
	case Claude, Codex, Gemini:
		r.refuse(t.at("backend"), fmt.Sprintf("%q", named), "a backend", fmt.Sprintf("a coding agent is a preset: write preset = %q in its place", named))
		return Command, false
	}
	return r.oneOf(t, "backend", Command, Command, Scripted, Anthropic, OpenAI, ACP, MCP, Inbox)
}

// oneOf reads a string that is one of a few; otherwise where it was left out.
func (r *reader) oneOf(t table, key, otherwise string, known ...string) (s string, ok bool) {
	s, given := r.string(t, key)
	if !given {
		return otherwise, true
	}
	if !slices.Contains(known, s) {
		last := len(known) - 1
		r.refuse(t.at(key), fmt.Sprintf("%q", s), strings.Join(known[:last], ", ")+" or "+known[last], diagnostic.Meant(s, known))
		return otherwise, false
	}
	return s, true
}

// checkServed complains of keys that another backend would have.
func (r *reader) checkServed(t table, backend string) {
	for _, s := range served {
		if _, given := t.values[s.key]; given && !slices.Contains(s.by, backend) {
			what := fmt.Sprintf("an agent with backend = %q has no %s", backend, s.key)
			if backend == "" {
				what = "an agent that lists backends has no " + s.key + " of its own"
			}
			r.complain(t.at(s.key), diagnostic.Diagnostic{Message: what, Hint: "it is for agents with backend " + strings.Join(s.by, " or ")})
		}
	}
}

func (r *reader) checkCommand(t table, a Agent) {
	_, given := t.values["command"]
	_, preset := t.values["preset"] // one that is not known has been refused
	_, model := t.values["model"]
	switch {
	case a.Backend != Command && a.Backend != ACP:
	case !given && a.Backend == ACP:
		r.complain(t.path, diagnostic.Diagnostic{Message: "this agent has no command", Hint: `add command = ["program", "argument"], which speaks the Agent Client Protocol`})
	case !given && !preset:
		r.complain(t.path, diagnostic.Diagnostic{Message: "this agent has no command",
			Hint: `add command = ["program", "argument"], preset = "claude", or backend = "scripted" for a function of the fake`})
	case len(a.Command) > 0 && a.Command[0] == "":
		r.refuse(t.element("command", 0), `""`, "the name of a program", "")
	case a.Command != nil && len(a.Command) == 0:
		r.refuse(t.at("command"), "an empty list", "a program and its arguments", "")
	}
	if a.Backend == Command && a.Preset == "" && model {
		r.complain(t.at("model"), diagnostic.Diagnostic{Message: "only a preset knows how to tell its program of a model", Hint: "add it to the arguments of command"})
	}
}

// checkModel checks an agent that is a model, and gives it the variable that its maker's key is
// usually in.
func (r *reader) checkModel(t table, a *Agent) {
	if a.Backend != Anthropic && a.Backend != OpenAI {
		return
	}
	if a.Model == "" {
		r.complain(t.path, diagnostic.Diagnostic{Message: "this agent has no model", Hint: `add model = "NAME"`})
	}
	switch _, given := t.values["env"]; {
	case len(a.Env) > 1:
		r.complain(t.element("env", 1), diagnostic.Diagnostic{Message: "a model's API takes one key", Hint: "env names the variable that it is in, [] for none"})
	case !given && a.Backend == Anthropic:
		a.Env = []string{"ANTHROPIC_API_KEY"}
	case !given:
		a.Env = []string{"OPENAI_API_KEY"}
	}
}

// checkServer checks that an agent which is a tool says which one.
func (r *reader) checkServer(t table, a Agent) {
	if a.Backend == MCP && (a.Server == "" || a.Tool == "") {
		r.complain(t.path, diagnostic.Diagnostic{Message: "this agent does not say which tool it is", Hint: `add server = "NAME" of [tools.NAME], and tool = "TOOL"`})
	}
}

// checkServers checks that the servers exist whose tools are agents.
func (r *reader) checkServers(f *File, t table) {
	for _, a := range f.Agents {
		if _, ok := f.Tool(a.Server); a.Server != "" && !ok {
			own := table{path: t.at(a.Name)}
			r.refuse(own.at("server"), fmt.Sprintf("%q", a.Server), "a tool server of this file", diagnostic.Meant(a.Server, f.ToolNames()))
		}
	}
}

// checkSandboxes checks that agents are in a sandbox only where there is one.
func (r *reader) checkSandboxes(f *File, t table) {
	for _, a := range f.Agents {
		if a.Sandbox && f.Shell.Sandbox == NoSandbox {
			own := table{path: t.at(a.Name)}
			r.complain(own.at("sandbox"), diagnostic.Diagnostic{Message: `this agent is to be in a sandbox, and sandbox = "none" under [sh] says that there is none`, Hint: `take one of them back, or write sandbox = "partial" there`})
		}
	}
}

// checkList checks an agent that names those whose backends serve it. Whether they exist is known
// when the file has been read.
func (r *reader) checkList(t table, a Agent) {
	if _, given := t.values["backend"]; given {
		r.complain(t.at("backend"), diagnostic.Diagnostic{Message: "an agent has a backend or lists backends, not both"})
	}
	if a.Backends != nil && len(a.Backends) == 0 {
		r.refuse(t.at("backends"), "an empty list", "names of agents, the preferred one first", "")
	}
	r.checkServed(t, "")
}

// checkLists checks that the agents which are listed as backends exist and have a backend of their
// own.
func (r *reader) checkLists(f *File, t table) {
	for _, a := range f.Agents {
		own := table{path: t.at(a.Name)}
		for i, name := range a.Backends {
			other, ok := f.Agent(name)
			switch {
			case slices.Contains(a.Backends[:i], name):
				r.complain(own.element("backends", i), diagnostic.Diagnostic{Message: name + " is named twice"})
			case !ok:
				r.refuse(own.element("backends", i), fmt.Sprintf("%q", name), "the name of an agent of this file", diagnostic.Meant(name, f.Names()))
			case other.Backends != nil:
				r.refuse(own.element("backends", i), fmt.Sprintf("%q", name), "an agent with a backend of its own", "it only lists others; name these here")
			}
		}
	}
}

func (r *reader) flag(t table, key string) bool {
	v, given := t.values[key]
	b, ok := v.(bool)
	if given && !ok {
		r.refuse(t.at(key), show(v), "true or false", "")
	}
	return b
}

func (r *reader) url(t table) string { return r.address(t, "url") }

func (r *reader) address(t table, key string) string {
	text, ok := r.string(t, key)
	if ok {
		r.checkAddress(t.at(key), text, text)
	}
	return text
}

// checkAddress complains of a text that is written at a path and makes no address.
func (r *reader) checkAddress(path []string, written, address string) {
	if !IsAddress(address) {
		r.refuse(path, fmt.Sprintf("%q", written), `an address such as "https://example.org/v1", without user and password`, "")
	}
}

// IsAddress tells whether a text is the address of a server: http or https, with a host, without
// user and password.
func IsAddress(text string) bool {
	u, err := url.Parse(text)
	return err == nil && u.Host != "" && (u.Scheme == "http" || u.Scheme == "https") && u.User == nil
}

// patterns reads a list of patterns of paths.
func (r *reader) patterns(t table, key string) []string {
	list := r.strings(t, key)
	for i, p := range list {
		if err := jail.CheckPattern(p); err != nil {
			r.complain(t.element(key, i), diagnostic.Diagnostic{Message: err.Error()})
		}
	}
	return list
}
