package confine

import (
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"

	"starling/lang/effect"
	"starling/stdlib/process"
	"starling/stdlib/project"
)

// Trial starts programs as sh.run would, to see whether they start. The workspace is an empty
// folder: what is tried says nothing of the user's files and changes none.
type Trial struct {
	Settings *effect.Settings
	Store    string
	Level    string // of the sandbox, as [sh] says it
}

// Run runs a program to its end, or to that of the context.
func (t Trial) Run(ctx context.Context, program string, args ...string) (process.Result, error) {
	home, err := os.MkdirTemp("", "starling-trial-")
	if err != nil {
		return process.Result{}, err
	}
	defer os.RemoveAll(home)
	o := Order{Level: t.Level, Home: home}
	dir := filepath.Dir(t.Settings.ProjectFile)
	if f, err := project.Parse(t.Settings.ProjectFile, t.Settings.Project); err == nil && t.Settings.ProjectFile != "" {
		o.Read, o.Write, o.Network = From(dir, f.Shell.Read), From(dir, f.Shell.Write), slices.Contains(f.Shell.Network, program)
	}
	if strings.Contains(program, "/") && !filepath.IsAbs(program) {
		program = filepath.Join(dir, program)
		o.Read = append(o.Read, program)
	}
	spec := process.Spec{Argv: append([]string{program}, args...), Dir: home, Env: process.Environment(os.Environ(), nil, "HOME="+home, "TMPDIR="+home)}
	Program(&effect.Attempt{Settings: &effect.Settings{Workspace: home}, Store: t.Store}, &spec, o)
	return process.Run(ctx, spec)
}

// Env is the environment of what is tried, but for its home.
func (t Trial) Env() []string { return process.Environment(os.Environ(), nil) }

// From makes paths of a project absolute, which are relative to its folder.
func From(dir string, paths []string) []string {
	out := make([]string, len(paths))
	for i, p := range paths {
		if out[i] = p; !filepath.IsAbs(p) {
			out[i] = filepath.Join(dir, p)
		}
	}
	return out
}

// Outside finds a program on the machine, in the PATH of an environment, without the links that
// lead to it; "" where there is none.
func Outside(program string, env []string) string {
	path := program
	if !strings.Contains(program, "/") {
		i := slices.IndexFunc(env, func(v string) bool { return strings.HasPrefix(v, "PATH=") })
		if program == "" || i < 0 {
			return ""
		}
		path = ""
		for _, dir := range filepath.SplitList(strings.TrimPrefix(env[i], "PATH=")) {
			if found, err := exec.LookPath(filepath.Join(dir, program)); err == nil && filepath.IsAbs(found) {
				path = found
				break
			}
		}
	}
	real, err := filepath.EvalSymlinks(path)
	if err != nil || !filepath.IsAbs(real) {
		return ""
	}
	return real
}
