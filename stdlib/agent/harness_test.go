package agent_test

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"go.starlark.net/starlark"
	"go.starlark.net/starlarkstruct"
	"go.starlark.net/syntax"

	"starling/lang"
	"starling/lang/effect"
	"starling/lang/vm"
	"starling/stdlib"
	"starling/stdlib/agent/acptest"
	"starling/stdlib/process"
	"starling/stdlib/tool/tooltest"
)

// TestMain is the guard under which agents run, too.
func TestMain(m *testing.M) {
	process.GuardMain(os.Args)
	if os.Getenv("TOOL_SERVER") != "" && len(os.Args) > 1 && os.Args[1] == "log" {
		tooltest.Main(os.Args[1:])
		syscall.Exit(0) // at once: os.Exit waits for a second under the race detector
	}
	if os.Getenv("ACP_AGENT") != "" {
		acptest.Main(os.Args[1:])
		syscall.Exit(0) // likewise
	}
	os.Exit(m.Run())
}

// stage is a run without a runtime: its settings, and what an attempt would be given.
type stage struct {
	t        *testing.T
	env      *effect.Environment
	settings *effect.Settings
	vars     map[string]string // declared variables
	number   int               // of the attempt
	token    string
	mu       sync.Mutex // protects events: programs and their tools tell of themselves at once
	events   []string
}

// newStage has a project file and a fake, each "" for none.
func newStage(t *testing.T, project, fake string) *stage {
	dir := t.TempDir()
	s := &stage{t: t, number: 1, settings: &effect.Settings{Workspace: dir}, vars: map[string]string{}}
	if project != "" {
		s.settings.ProjectFile, s.settings.Project = filepath.Join(dir, "starling.toml"), []byte(project)
	}
	if fake != "" {
		s.settings.FakeFile, s.settings.Fake = "agents.star", bundle(t, fake)
	}
	s.env = stdlib.Environment(stdlib.Options{Natives: vm.Natives()})
	return s
}

// bundle is a file of scripted agents as a run keeps it.
func bundle(t *testing.T, source string) []byte {
	t.Helper()
	b, err := lang.Read("agents.star", func(string) ([]byte, error) { return []byte(source), nil }, nil)
	if err != nil {
		t.Fatal(err)
	}
	return b.Encode()
}

// fake is the file of scripted agents, "" for none.
func (s *stage) fake() string { return s.settings.FakeFile }

// request makes the request of a call and resolves it.
func (s *stage) request(call string) (*effect.Request, *effect.Error) {
	s.t.Helper()
	var r *effect.Request
	names := interpreted(s.env, func(made *effect.Request) { r = made })
	if _, err := starlark.EvalOptions(&syntax.FileOptions{}, new(starlark.Thread), "test.star", call, names); err != nil {
		s.t.Fatalf("%s: %v", call, err)
	}
	return r, s.env.Handlers[r.Kind].Resolve(s.settings, r)
}

// attempt is one attempt of a resolved request.
func (s *stage) attempt(r *effect.Request) *effect.Attempt {
	s.t.Helper()
	args, err := r.Args.Value()
	if err != nil {
		s.t.Fatal(err)
	}
	resolved, err := r.Resolved.Value()
	if err != nil {
		s.t.Fatal(err)
	}
	return &effect.Attempt{
		Run: "run1", Step: "b/" + r.Name, Branch: "b", Kind: r.Kind, Number: s.number, Key: "run1/b/" + r.Name, Args: args, Resolved: resolved,
		Returns: r.Returns, Token: s.token, Settings: s.settings, Store: filepath.Join(s.settings.Workspace, ".starling"),
		Env:  func(name string) (string, bool) { v, ok := s.vars[name]; return v, ok },
		Wait: waitFor,
		Emit: func(kind string, data starlark.Value) {
			s.mu.Lock()
			defer s.mu.Unlock()
			s.events = append(s.events, kind+" "+data.String())
		},
	}
}

// ask makes a call and performs one attempt of it.
func (s *stage) ask(ctx context.Context, call string) effect.Reply {
	s.t.Helper()
	r, fault := s.request(call)
	if fault != nil {
		s.t.Fatalf("%s: %v", call, fault)
	}
	return s.env.Handlers[r.Kind].Perform(ctx, s.attempt(r))
}

// show is a reply on one line.
func show(r effect.Reply) string {
	if r.Err != nil {
		class := [...]string{"final", "retryable", "invalid", "missing", "cut"}[r.Class]
		return fmt.Sprintf("%s %s: %s", class, r.Err.Kind, r.Err.Message)
	}
	s := "ok"
	if r.Status != "" {
		s = r.Status
	}
	for _, v := range []struct {
		name  string
		value starlark.Value
	}{{"output", r.Value}, {"text", starlark.String(r.Text)}, {"note", starlark.String(r.Note)}, {"usage", r.Usage}} {
		if v.value != nil && v.value != starlark.String("") {
			s += " " + v.name + "=" + v.value.String()
		}
	}
	return s
}

// interpreted wraps the builtins for that interpreter. A call that asks the world gives None and
// tells of its request.
func interpreted(env *effect.Environment, made func(*effect.Request)) starlark.StringDict {
	names := starlark.StringDict{}
	for name, v := range env.Names {
		names[name] = interpretedValue(v, made)
	}
	return names
}

func interpretedValue(v starlark.Value, made func(*effect.Request)) starlark.Value {
	switch v := v.(type) {
	case *effect.Builtin:
		return starlark.NewBuiltin(v.FullName, func(_ *starlark.Thread, _ *starlark.Builtin, args starlark.Tuple, kwargs []starlark.Tuple) (starlark.Value, error) {
			c, err := v.Bind(args, effect.Keywords(kwargs))
			if err != nil {
				return nil, err
			}
			if v.Class == effect.Pure {
				return v.Pure(c)
			}
			r, err := v.Request(c)
			made(r)
			return starlark.None, err
		})
	case *starlarkstruct.Module:
		members := starlark.StringDict{}
		for name, m := range v.Members {
			members[name] = interpretedValue(m, made)
		}
		return &starlarkstruct.Module{Name: v.Name, Members: members}
	}
	return v
}

// shell is a project with one agent, played by a shell script.
func shell(name, script string) string {
	return fmt.Sprintf("[agents.%s]\ncommand = ['/bin/sh', '-c', '''\n%s\n''']\n", name, script)
}

// has fails the test unless text contains every part.
func has(t *testing.T, text string, parts ...string) {
	t.Helper()
	for _, p := range parts {
		if !strings.Contains(text, p) {
			t.Errorf("%s\ndoes not contain %s", text, p)
		}
	}
}

// waitFor is the engine's clock: that of this process.
func waitFor(ctx context.Context, d time.Duration) bool {
	select {
	case <-time.After(d):
		return true
	case <-ctx.Done():
		return false
	}
}
