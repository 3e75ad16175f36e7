package agent

import (
	"go.starlark.net/starlark"

	"starling/lang/effect"
	"starling/stdlib/project"
	"starling/stdlib/tool"
)

const (
	backendCommand   = project.Command
	backendScripted  = project.Scripted
	backendAnthropic = project.Anthropic
	backendOpenAI    = project.OpenAI
	backendACP       = project.ACP
	backendMCP       = project.MCP
	backendInbox     = project.Inbox
	backendCassette  = "cassette" // in place of the one that was recorded
)

// Definition is who is asked and how. It is recorded with the request: a change of the project file
// changes nothing that was asked.
type Definition struct {
	Agent        string // whom the script asked for
	Instructions string
	Envelope     effect.Payload // of a handoff: a dict, nil otherwise
	Candidate                   // who serves the attempt
	Next         bool           // there is another candidate
}

// Candidate is one of those who may serve a request.
type Candidate struct {
	Serves    string       // name of the agent whose backend it is
	Backend   string       // "command", "scripted", "anthropic", "openai", "acp", "mcp", "inbox" or "cassette"
	Command   []string     // for command and acp: program and arguments
	Dir       string       // for command and acp: the folder of the project file, which relative programs are relative to
	Preset    string       // for command: which coding agent it is, "" for a program that speaks the protocol
	Env       []string     // names of variables; of a model the one with its key
	Function  string       // for scripted: name in the fake, or key of its dict agents
	Model     string       // for presets, models and acp, and what was recorded of them
	URL       string       // for models: of the API, "" for its maker's
	MaxTokens int64        // for models: of the reply, 0 for the default
	Price     price        // of its tokens; else the project's for its model
	Tools     []string     // for presets: what it may use in its own notation; for acp kinds of tools
	Asks      bool         // for acp: people decide what it may do beside that
	OwnFiles  bool         // for acp: it reads and writes files itself; runs of before it could be said have it false
	Mode      string       // for acp: of its session, "" for its own choice
	Login     string       // for acp: the method by which it is logged in, "" for none
	Tool      string       // for mcp: the tool that it is, of the only one of Servers
	Cassette  string       // path of the file that is recorded, or for cassette played; "" for neither
	Servers   []tool.Grant // of tools, and what it may use of them
	Modifies  bool         // whether it may change the workspace
	Sandbox   string       // for command and acp: how it is confined, as [sh] sandbox says it; "" for not at all
	Reads     []string     // in a sandbox: absolute paths that it reads, as commands may
	Writes    []string     // and changes
	Unheld    []string     // what its author has bounded and nothing holds it to, a sentence each
}

// steering is how who serves is told something while it works. A program is given its whole input
// at once; a coding agent goes on with its conversation.
func (c Candidate) steering() effect.Steering {
	switch {
	case c.Backend == backendCassette:
		return effect.SteerNone
	case c.Backend == backendScripted, c.Backend == backendInbox, c.Backend == backendACP:
		return effect.SteerLive
	case c.Preset != "":
		return effect.SteerResume
	}
	return effect.SteerNone
}

func candidateOf(a project.Agent) Candidate {
	return Candidate{Serves: a.Name, Backend: a.Backend, Command: a.Command, Preset: a.Preset, Env: a.Env, Model: a.Model, URL: a.URL, MaxTokens: a.MaxTokens,
		Price: priceOf(a.Price), Tools: a.Tools, Modifies: a.Modifies, Asks: a.Permissions == project.AskPermissions, Tool: a.Tool,
		OwnFiles: a.Backend == project.ACP && !a.Files, Mode: a.Mode, Login: a.Login}
}

func (d Definition) payload(candidates []Candidate) effect.Payload {
	list := make([]effect.Payload, len(candidates))
	for i, c := range candidates {
		list[i] = c.payload()
	}
	var o effect.Object
	return o.Text("agent", d.Agent).Text("instructions", d.Instructions).Raw("handoff", d.Envelope).Raws("candidates", list).Payload()
}

func (c Candidate) payload() effect.Payload {
	var o effect.Object
	servers := make([]effect.Payload, len(c.Servers))
	for i, s := range c.Servers {
		servers[i] = s.Payload()
	}
	return o.Text("backend", c.Backend).Text("serves", c.Serves).Texts("command", c.Command).Text("dir", c.Dir).Text("preset", c.Preset).Texts("env", c.Env).
		Text("function", c.Function).Text("model", c.Model).Text("url", c.URL).Int("max_tokens", c.MaxTokens).Int("price_input", c.Price.input).
		Int("price_output", c.Price.output).Int("price_cached", c.Price.cached).Texts("tools", c.Tools).Flag("modifies", c.Modifies).Flag("asks", c.Asks).Text("tool", c.Tool).Text("cassette", c.Cassette).Raws("servers", servers).
		Text("sandbox", c.Sandbox).Texts("reads", c.Reads).Texts("writes", c.Writes).Texts("unheld", c.Unheld).
		Flag("own_files", c.OwnFiles).Text("mode", c.Mode).Text("login", c.Login).Payload()
}

// definitionOf reads what Definition.payload wrote, with the candidate that serves. Journals of
// before there were several have the one at the top.
func definitionOf(resolved starlark.Value, serving int) Definition {
	v := effect.ViewOf(resolved)
	d := Definition{Agent: v.Text("agent"), Instructions: v.Text("instructions"), Envelope: v.Raw("handoff")}
	if list, ok := v.Value("candidates").(*starlark.List); ok && serving < list.Len() {
		d.Next = serving+1 < list.Len()
		v = effect.ViewOf(list.Index(serving))
	}
	d.Candidate = Candidate{Serves: v.Text("serves"), Backend: v.Text("backend"), Command: v.Texts("command"), Dir: v.Text("dir"), Preset: v.Text("preset"),
		Env: v.Texts("env"), Function: v.Text("function"), Model: v.Text("model"), URL: v.Text("url"), MaxTokens: v.Int("max_tokens"),
		Price: price{v.Int("price_input"), v.Int("price_output"), v.Int("price_cached")}, Tools: v.Texts("tools"), Modifies: v.Flag("modifies"), Asks: v.Flag("asks"), Tool: v.Text("tool"), Cassette: v.Text("cassette"),
		Sandbox: v.Text("sandbox"), Reads: v.Texts("reads"), Writes: v.Texts("writes"), Unheld: v.Texts("unheld"),
		OwnFiles: v.Flag("own_files"), Mode: v.Text("mode"), Login: v.Text("login")}
	if servers, ok := v.Value("servers").(*starlark.List); ok {
		for s := range servers.Elements() {
			d.Servers = append(d.Servers, tool.GrantOf(s))
		}
	}
	return d
}
