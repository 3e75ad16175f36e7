package tool_test

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"

	"go.starlark.net/starlark"

	"starling/lang/effect"
	"starling/stdlib/process"
	"starling/stdlib/project"
	"starling/stdlib/tool"
	"starling/stdlib/tool/tooltest"
)

// TestMain is three programs: the guard, the tool server, and the tests.
func TestMain(m *testing.M) {
	process.GuardMain(os.Args)
	if os.Getenv("TOOL_SERVER") != "" {
		tooltest.Main(os.Args[1:])
		return
	}
	os.Exit(m.Run())
}

// stage is a project with the tool server t, and what is seen of it.
type stage struct {
	t        *testing.T
	servers  *tool.Servers
	settings *effect.Settings
	file     *project.File
	vars     map[string]string
	dir      string

	mu     sync.Mutex
	events []string
}

// newStage makes a project; more are further keys of [tools.t], and sections behind it.
func newStage(t *testing.T, more string) *stage {
	t.Setenv("TOOL_SERVER", "1")
	dir := t.TempDir()
	text := fmt.Sprintf("[tools.t]\ncommand = [%q, 'pids', 'pids', 'log', 'calls']\nenv = ['TOOL_SERVER']\n%s", os.Args[0], more)
	f, err := project.Parse("starling.toml", []byte(text))
	if err != nil {
		t.Fatal(err)
	}
	return &stage{t: t, servers: tool.NewServers(), dir: dir, file: f, vars: map[string]string{"TOOL_SERVER": "1"},
		settings: &effect.Settings{Workspace: dir, ProjectFile: filepath.Join(dir, "starling.toml"), Project: []byte(text)}}
}

func (s *stage) attempt(run string) *effect.Attempt {
	return &effect.Attempt{Run: run, Step: "a", Number: 1, Settings: s.settings, Store: filepath.Join(s.dir, ".starling"),
		Env: func(name string) (string, bool) { v, ok := s.vars[name]; return v, ok },
		Emit: func(kind string, data starlark.Value) {
			s.mu.Lock()
			defer s.mu.Unlock()
			s.events = append(s.events, kind+" "+data.String())
		}}
}

// open gives an attempt of a run tools.
func (s *stage) open(run string, tools ...string) *tool.Proxy {
	s.t.Helper()
	grants, others, fault := tool.FindAll(s.settings, s.file, values(tools))
	if fault != nil || len(others) > 0 {
		s.t.Fatalf("%v: %v, %v", tools, others, fault)
	}
	p, err := s.servers.Open(s.t.Context(), s.attempt(run), grants, nil)
	if err != nil {
		s.t.Fatalf("%v: %v", tools, err)
	}
	s.t.Cleanup(p.Close)
	return p
}

func values(texts []string) []starlark.Value {
	var list []starlark.Value
	for _, text := range texts {
		list = append(list, starlark.String(text))
	}
	return list
}

// call calls a tool and shows what came of it on one line.
func (s *stage) call(p *tool.Proxy, name, input string) string {
	server, tool1, _ := strings.Cut(name, ".")
	r, fault := p.Call(s.t.Context(), server, tool1, []byte(input))
	switch {
	case fault != nil:
		return string(fault.Code) + ": " + fault.Message
	case r.IsError:
		return "failed: " + tool.Text(r)
	}
	return "ok: " + tool.Text(r)
}

// pids are the processes of the server, the oldest first.
func (s *stage) pids() []int {
	text, err := os.ReadFile(filepath.Join(s.dir, "pids"))
	if err != nil && !os.IsNotExist(err) {
		s.t.Fatal(err)
	}
	var out []int
	for _, line := range strings.Fields(string(text)) {
		var pid int
		if _, err := fmt.Sscan(line, &pid); err != nil {
			s.t.Fatal(err)
		}
		out = append(out, pid)
	}
	return out
}

func alive(pid int) bool { return syscall.Kill(pid, 0) == nil }

// has fails the test unless text contains every part.
func has(t *testing.T, text string, parts ...string) {
	t.Helper()
	for _, p := range parts {
		if !strings.Contains(text, p) {
			t.Errorf("%s\ndoes not contain %s", text, p)
		}
	}
}
