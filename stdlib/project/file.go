package project

import (
	"path"
	"slices"
	"strings"
	"time"
)

// Name is the name of the project file.
const Name = "starling.toml"

// The backends that a project may name.
const (
	Command   = "command"   // an executable
	Scripted  = "scripted"  // a function of the fake
	Anthropic = "anthropic" // a model behind the Messages API
	OpenAI    = "openai"    // a model behind a Chat Completions API, of any host
	ACP       = "acp"       // an executable that speaks the Agent Client Protocol
	MCP       = "mcp"       // a tool of a tool server
	Inbox     = "inbox"     // nobody here: whoever works under the agent's name comes for the work
)

// The presets of commands: coding agents whose arguments and output are known.
const (
	Claude = "claude" // Claude Code
	Codex  = "codex"  // Codex CLI
	Gemini = "gemini" // Gemini CLI
)

// What becomes of what an agent asks leave for and its tools and modifies do not allow.
const (
	DenyPermissions = "deny" // it is denied
	AskPermissions  = "ask"  // people decide, at a gate of the step
)

// File is a project file that was read and checked.
type File struct {
	Fake     string        // as written; "" without one
	Defaults Limits        // for agents that do not say
	Machine  Machine       // bounds of every run's machine
	Together int64         // bytes that all runs may hold at once; 0 is not given. Of the project of the store
	Marks    bool          // whose owner must be able to tell who calls; of the project of the store
	Keep     int64         // how many records of its journal a run that has not ended keeps at least; 0 is all. Of the project that the store stands in
	StoreURL string        // address of the database that holds the store, in which {NAME} stands for a secret; "" for a folder
	Lease    time.Duration // how long others wait for a sign of life of the store's owner; 0 is not given
	Engine   Engine        // server that drives the runs in place of this program; its Temporal is "" for none
	Agents   []Agent       // in the order of the file
	Grants   []Grant       // in the order of the file
	Shell    Shell         // commands that scripts may run
	Secrets  []Secret
	Tools    []Tool    // in the order of the file
	Notify   []Notify  // in the order of the file
	Webhooks []Webhook // in the order of the file
	Prices   []ModelPrice
	Budgets  []Budget // in the order of the file

	Inbox []Section // in the order of the file

	Telemetry *Telemetry // nil without one

	Protected []string // patterns of paths that no script changes, beside those of [File.Named]
	Filters   []string // of git's filters, the names of those that commits go through
}

// Engine is [engine]: a Temporal server whose workers carry the runs.
type Engine struct {
	Temporal  string // its address, HOST:PORT
	Namespace string // "" for the one called default
	Queue     string // of the workers, "" for the usual
	TLS       bool
	Key       string // {NAME} of the secret with which it is asked; "" for none
}

// Secret is one [secrets.NAME]: where the value is found when a request needs it. Exactly one of
// the three is given.
type Secret struct {
	Name    string
	Env     string   // name of an environment variable of whoever carries the run
	File    string   // path of a file that holds it, relative to the folder of the project file
	Command []string // program and arguments that print it
}

// Secret finds a secret by name.
func (f *File) Secret(name string) (Secret, bool) {
	i := slices.IndexFunc(f.Secrets, func(s Secret) bool { return s.Name == name })
	if i < 0 {
		return Secret{}, false
	}
	return f.Secrets[i], true
}

// Shell is [sh].
type Shell struct {
	Allow   []string // programs: names, or paths relative to this file
	Env     []string // names of variables that commands are given, each once
	Read    []string // files and folders that they may read beside the system's and the workspace; relative to this file
	Write   []string // and change
	Network []string // those of Allow that may use the network
	Sandbox string   // WholeSandbox, PartialSandbox or NoSandbox
}

// How commands, and agents that say so, are confined.
const (
	WholeSandbox   = "whole"   // or not run at all
	PartialSandbox = "partial" // with as much as the machine has
	NoSandbox      = "none"
)

// Grant is what scripts that are not the project's own may use.
type Grant struct {
	Script   string   // the name under which a script is defined, or AnyScript
	By       []string // who may define it, beside admins: names of tokens, or local:USER
	Agents   []string // names of agents
	Hosts    []string // of http requests: host, or host:port
	Programs []string // of those that sh allows
	Files    []string // what it may do with the files of the workspace: ReadFiles, WriteFiles
	Tools    []string // tool servers, or tools of them as SERVER.TOOL
}

// What may be granted of files.
const (
	ReadFiles  = "read"
	WriteFiles = "write" // which is to read, too
)

// AnyScript is the name of what every script of others is granted.
const AnyScript = "*"

// Reserves tells whether a name is kept from somebody who would define a script under it: something
// is granted to it, and it is for others to define.
func (f *File) Reserves(name, by string) bool {
	for _, g := range f.Grants {
		if g.Script == name && !slices.Contains(g.By, by) {
			return true
		}
	}
	return false
}

// Granted is all that a script of others may use: what is granted to its name, and to any.
func (f *File) Granted(script string) Grant {
	all := Grant{Script: script}
	for _, g := range f.Grants {
		if g.Script == script || g.Script == AnyScript {
			all.Agents, all.Hosts = append(all.Agents, g.Agents...), append(all.Hosts, g.Hosts...)
			all.Programs = append(all.Programs, g.Programs...)
			all.Files = append(all.Files, g.Files...)
			all.Tools = append(all.Tools, g.Tools...)
		}
	}
	return all
}

// Agent is one [agents.NAME].
type Agent struct {
	Name         string
	Backends     []string // names of agents whose backends serve, in order of preference; nil for one that has its own
	Backend      string   // Command, Scripted, Anthropic, OpenAI, ACP, MCP or Inbox; "" with Backends
	Command      []string // program and arguments, not empty for Command and ACP
	Permissions  string   // of ACP: DenyPermissions or AskPermissions
	Files        bool     // of ACP: whether it has its client read and write files
	Mode         string   // of ACP: of its session; "" for its own choice
	Login        string   // of ACP: the method by which it is logged in; "" for none
	Server       string   // of MCP: the name of the tool server
	Tool         string   // of MCP: its tool
	Preset       string   // of Command: Claude, Codex, Gemini, or "" for a program that speaks the agent protocol
	Env          []string // names of variables, each once
	Model        string   // "" for the program's own choice
	URL          string   // of a model's API; "" for its maker's
	MaxTokens    int64    // of a model's reply; 0 for the backend's default
	Price        Price
	Cassette     string   // file of recorded exchanges, relative to this file; "" without one
	Tools        []string // the tools that it may use, none by default
	Modifies     bool     // whether it may change the workspace
	Sandbox      bool     // of Command and ACP: whether it is confined as commands are
	Owns         []string // patterns of the paths that are its to change; none where Modifies stands for all
	Limits       Limits
	Limit        int    // how many of it may be at work at once in a run; 0 for any number
	Queue        string // of [Engine]'s workers that do its work, "" for those that carry the runs
	Instructions string
	Input        string // contract in canonical text, "" without one
	Output       string // contract in canonical text, "" without one
}

// Price is what a model costs, in US dollars per million tokens; 0 is not known.
type Price struct {
	Input, Output float64
	Cached        float64 // of input that came from a cache; 0 is as other input
}

// ModelPrice is one [prices.MODEL].
type ModelPrice struct {
	Model string // a name, or the beginning of names with "*" behind it
	Price
}

// PriceOf is the price of a model: that of its name, else that of the longest beginning.
func (f *File) PriceOf(model string) (Price, bool) {
	best, found := ModelPrice{}, false
	for _, p := range f.Prices {
		if p.Model == model {
			return p.Price, true
		}
		prefix, open := strings.CutSuffix(p.Model, "*")
		if open && strings.HasPrefix(model, prefix) && (!found || len(p.Model) > len(best.Model)) {
			best, found = p, true
		}
	}
	return best.Price, found
}

// Limits are the bounds of asking an agent.
type Limits struct {
	Timeout time.Duration // of one attempt; 0 is not given
	Retries *int          // nil is not given
	Reasks  *int          // nil is not given
}

// Machine are the bounds of a run's machine; 0 is not given.
type Machine struct {
	Steps  int64 // between two outcomes
	Memory int64 // bytes of what is alive
	Agents int64 // at work at once
}

// Agent finds an agent by name.
func (f *File) Agent(name string) (Agent, bool) {
	i := slices.IndexFunc(f.Agents, func(a Agent) bool { return a.Name == name })
	if i < 0 {
		return Agent{}, false
	}
	return f.Agents[i], true
}

// Names lists the agents in the order of the file.
func (f *File) Names() []string {
	names := make([]string, len(f.Agents))
	for i, a := range f.Agents {
		names[i] = a.Name
	}
	return names
}

// Variables lists every environment variable that some agent, tool server, secret, notification or
// sh declares, sorted.
func (f *File) Variables() []string {
	names := slices.Clone(f.Shell.Env)
	for _, a := range f.Agents {
		names = append(names, a.Env...)
	}
	for _, t := range f.Tools {
		names = append(names, t.Env...)
	}
	for _, n := range f.Notify {
		names = append(names, n.Env...)
	}
	for _, s := range f.Secrets {
		if s.Env != "" {
			names = append(names, s.Env)
		}
	}
	slices.Sort(names)
	return slices.Compact(names)
}

// Optional lists, sorted, the variables without which a run goes on: all but those of agents that
// stand in no list of backends. Where one of a list is missing the next serves; a secret, a tool
// server or a command that lacks one fails by itself, and who cannot be notified holds nothing up.
func (f *File) Optional() []string {
	var listed, needed []string
	for _, a := range f.Agents {
		listed = append(listed, a.Backends...)
	}
	for _, a := range f.Agents {
		if !slices.Contains(listed, a.Name) {
			needed = append(needed, a.Env...)
		}
	}
	return slices.DeleteFunc(f.Variables(), func(name string) bool { return slices.Contains(needed, name) })
}

// Printed is the first secret of a text with {NAME} that a program prints.
func (f *File) Printed(text string) (Secret, bool) {
	for _, m := range Placeholder().FindAllString(text, -1) {
		if s, ok := f.Secret(strings.Trim(m, "{}")); ok && len(s.Command) > 0 {
			return s, true
		}
	}
	return Secret{}, false
}

// Find looks for the project file in dir and upward, as far as the root of the repository that dir
// is in, or the root of the file system. dir is a clean absolute path with slashes; exists tells
// whether there is a file or folder.
func Find(dir string, exists func(path string) bool) (file string, ok bool) {
	for {
		if file := path.Join(dir, Name); exists(file) {
			return file, true
		}
		up := path.Dir(dir)
		if up == dir || exists(path.Join(dir, ".git")) {
			return "", false
		}
		dir = up
	}
}
