package tool

import (
	"os"
	"path/filepath"

	"starling/lang/effect"
	"starling/stdlib/process"
	"starling/stdlib/project"
)

// Lacks says what is missing here for a server to be started, and how to mend it; both are "" when
// nothing is. Nothing is started.
func Lacks(t project.Tool, s *effect.Settings, env func(name string) (string, bool)) (what, mend string) {
	return definitionOf(t, filepath.Dir(s.ProjectFile)).Lacks(s, env)
}

// Lacks is [Lacks] of a definition.
func (d Definition) Lacks(s *effect.Settings, env func(name string) (string, bool)) (what, mend string) {
	for _, name := range d.Env {
		if _, ok := env(name); !ok {
			return "the environment variable " + name + " has no value", "export " + name + "=…"
		}
	}
	if d.URL != "" {
		return "", ""
	}
	child := spec(&effect.Attempt{Settings: s}, d, "", process.Environment(os.Environ(), nil))
	if err := child.Check(); err != nil {
		return err.Error(), "install it, or correct command under [tools." + d.Name + "]"
	}
	return "", ""
}
