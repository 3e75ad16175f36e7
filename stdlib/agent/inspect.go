package agent

import (
	"errors"
	"os"
	"strings"

	"go.starlark.net/starlark"

	"starling/lang/effect"
	"starling/stdlib/process"
)

// Candidates lists who may serve a request that was resolved, the preferred one first.
func Candidates(r *effect.Request) ([]Candidate, error) {
	v, err := r.Resolved.Value()
	if err != nil {
		return nil, err
	}
	list, ok := effect.ViewOf(v).Value("candidates").(*starlark.List)
	if !ok {
		return nil, errors.New("agent: the request has no definition")
	}
	all := make([]Candidate, list.Len())
	for i := range all {
		all[i] = definitionOf(v, i).Candidate
	}
	return all, nil
}

// Edits tells whether the project says of who serves what it may change of the workspace: of a
// coding agent that is a preset or speaks the Agent Client Protocol.
func (c Candidate) Edits() bool { return c.Preset != "" || c.Backend == backendACP }

// Permit sets whether those who serve a resolved request may change the workspace. Where they may
// not, they may use none of their own tools beside reading either.
func Permit(r *effect.Request, modifies bool) error {
	candidates, err := Candidates(r)
	if err != nil {
		return err
	}
	v, err := r.Resolved.Value()
	if err != nil {
		return err
	}
	for i := range candidates {
		candidates[i].Modifies, candidates[i].Asks = modifies, false
		if !modifies {
			candidates[i].Tools = nil
		}
	}
	r.Resolved = definitionOf(v, 0).payload(candidates)
	return nil
}

// What says what a candidate is, in a few words: "claude opus", "command ./judge.py", "anthropic
// claude-opus-4-5".
func (c Candidate) What() string {
	switch {
	case c.Preset != "":
		return strings.TrimSpace(c.Preset + " " + c.Model)
	case c.Backend == backendCommand, c.Backend == backendACP:
		return c.Backend + " " + c.Command[0]
	case c.Backend == backendMCP:
		return c.Backend + " " + c.Servers[0].Name + "." + c.Tool
	case c.Backend == backendScripted:
		return backendScripted + " " + c.Function
	case c.Backend == backendCassette:
		return backendCassette + " " + c.Cassette
	case c.Backend == backendInbox:
		return backendInbox + ": whoever claims it as " + c.Serves
	}
	return c.Backend + " " + c.Model
}

// Lacks says what is missing here for a candidate to be asked, and how to mend it; both are "" when
// nothing is. env has the declared variables. No request is sent: whether a key is valid and a
// program logged in is for a probe to say.
func (c Candidate) Lacks(env func(name string) (string, bool)) (what, mend string) {
	for _, name := range c.Env {
		if _, ok := env(name); !ok {
			return "the environment variable " + name + " has no value", "export " + name + "=…"
		}
	}
	if c.Backend == backendMCP {
		return c.Servers[0].Lacks(&effect.Settings{}, env)
	}
	if c.Backend != backendCommand && c.Backend != backendACP {
		return "", ""
	}
	spec := process.Spec{Argv: argv(Definition{Candidate: c}), Env: process.Environment(os.Environ(), nil)}
	if err := spec.Check(); err != nil {
		return err.Error(), c.install()
	}
	return "", ""
}

func (c Candidate) install() string {
	switch c.Preset {
	case "claude":
		return "npm install -g @anthropic-ai/claude-code, then run claude once to log in"
	case "codex":
		return "npm install -g @openai/codex, then codex login"
	case "gemini":
		return "npm install -g @google/gemini-cli, then run gemini once to log in"
	}
	return "install it, or correct command in the project file"
}
