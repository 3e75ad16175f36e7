package agent

import (
	"os"
	"path/filepath"
	"slices"
	"strings"

	"starling/stdlib/confine"
	"starling/stdlib/process"
	"starling/stdlib/project"
)

// program is what is known of a coding agent: where it keeps things in the user's home folder.
type program struct {
	config        string // a folder with its login and settings
	conversations string // a folder in it, for conversations that go on
	file          string // a file beside it, "" for none
}

// programOf knows the programs of the presets, also behind an adapter that has their name.
func programOf(c Candidate) (program, bool) {
	known := map[string]program{
		project.Claude: {".claude", ".claude/projects", ".claude.json"},
		project.Codex:  {".codex", ".codex/sessions", ""},
		project.Gemini: {".gemini", ".gemini/tmp", ""},
	}
	if p, ok := known[c.Preset]; ok {
		return p, true
	}
	for name, p := range known {
		if strings.HasPrefix(filepath.Base(c.Command[0]), name) {
			return p, true
		}
	}
	return program{}, false
}

// confined puts an agent that is to be in a sandbox there. It sees its own configuration, may
// change that for itself and its conversations for good, reaches the network, and changes the
// workspace if it is one that modifies. Its home is an empty folder but for this. The caller
// removes what undo does.
func confined(q Question, spec *process.Spec, told invocation) (undo func(), err error) {
	d := q.Definition
	if d.Sandbox == "" {
		return func() {}, nil
	}
	home, err := confine.MakeHome(q.Attempt)
	if err != nil {
		return func() {}, err
	}
	undo = func() { os.RemoveAll(home) }
	o := confine.Order{Level: d.Sandbox, Home: home, Read: slices.Concat(told.files, madeFiles(q), d.Reads), Write: d.Writes, Network: true, Looks: !d.Modifies}
	if p, ok := programOf(d.Candidate); ok {
		if err := p.furnish(home, &o); err != nil {
			undo()
			return func() {}, err
		}
	}
	spec.Env = replaced(spec.Env, "HOME="+home, "TMPDIR="+home)
	confine.Program(q.Attempt, spec, o)
	return undo, nil
}

// furnish lets a program find its configuration in a home of its own.
func (p program) furnish(home string, o *confine.Order) error {
	user, err := os.UserHomeDir()
	if err != nil {
		return err
	}
	config, conversations := filepath.Join(user, p.config), filepath.Join(user, p.conversations)
	if err := os.MkdirAll(conversations, 0o700); err != nil {
		return err
	}
	o.Own, o.Write = append(o.Own, config), append(o.Write, conversations)
	if err := os.Symlink(config, filepath.Join(home, p.config)); err != nil || p.file == "" {
		return err
	}
	content, err := os.ReadFile(filepath.Join(user, p.file))
	if os.IsNotExist(err) {
		return nil
	}
	if err != nil {
		return err
	}
	return os.WriteFile(filepath.Join(home, p.file), content, 0o600) // programs replace it as a whole
}

// replaced is an environment with other values.
func replaced(env []string, entries ...string) []string {
	for _, entry := range entries {
		name, _, _ := strings.Cut(entry, "=")
		kept := env[:0:0]
		for _, e := range env {
			if !strings.HasPrefix(e, name+"=") {
				kept = append(kept, e)
			}
		}
		env = append(kept, entry)
	}
	return env
}
