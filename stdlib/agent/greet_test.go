package agent_test

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"starling/stdlib/agent"
)

// greet greets the first backend of an agent.
func (s *stage) greet(ctx context.Context, name string) (agent.Greeting, bool) {
	s.t.Helper()
	r, fault := s.request(fmt.Sprintf("agent(%q)", name))
	if fault != nil {
		s.t.Fatal(fault)
	}
	all, err := agent.Candidates(r)
	if err != nil {
		s.t.Fatal(err)
	}
	return agent.Greet(ctx, all[0], s.settings, func(name string) (string, bool) { v, ok := s.vars[name]; return v, ok })
}

// An API is asked for its models with the key, and never for a reply.
func TestModelsAreGreeted(t *testing.T) {
	for _, c := range []struct{ backend, path, key, answer, want string }{
		{"anthropic", "/v1/models", "X-Api-Key: hunter2-key", "200", "its API answers |  | "},
		{"openai", "/models", "Authorization: Bearer hunter2-key", "200", "its API answers |  | "},
		{"openai", "/models", "Authorization: Bearer hunter2-key", "404", "its API answers, and lists no models |  | "},
		{"openai", "/models", "Authorization: Bearer hunter2-key", "401",
			" | its API answers 401 Unauthorized | the variable of env has a key that the API does not take"},
		{"anthropic", "/v1/models", "X-Api-Key: hunter2-key", "503", " | its API answers 503 Service Unavailable | "},
	} {
		asked := ""
		server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			body, _ := io.ReadAll(r.Body)
			name, _, _ := strings.Cut(c.key, ": ")
			asked = fmt.Sprintf("%s %s %s: %s%s", r.Method, r.URL.Path, name, r.Header.Get(name), body)
			var status int
			fmt.Sscan(c.answer, &status)
			w.WriteHeader(status)
		}))
		s := newStage(t, fmt.Sprintf("[agents.a]\nbackend = %q\nmodel = 'm'\nurl = %q\nenv = ['KEY']\n", c.backend, server.URL), "")
		s.vars["KEY"] = "hunter2-key"
		g, greeted := s.greet(t.Context(), "a")
		server.Close()
		if want := "GET " + c.path + " " + c.key; !greeted || asked != want {
			t.Errorf("%s: it was asked %q, want %q", c.backend, asked, want)
		}
		if got := g.Login + " | " + g.Fault + " | " + g.Mend; got != c.want {
			t.Errorf("%s %s: got %q, want %q", c.backend, c.answer, got, c.want)
		}
		if g, _ = s.greet(t.Context(), "a"); g.Fault == "" || strings.Contains(g.Fault, "hunter2") {
			t.Errorf("%s that is gone: got %+v", c.backend, g)
		}
	}
}

// A program that does not end is ended, and what it has started with it.
func TestSilentProgramsAreGreeted(t *testing.T) {
	for project, want := range map[string]string{
		"[agents.a]\npreset = 'claude'\ncommand = ['/bin/sh']\n":                  "",
		"[agents.a]\nbackend = 'acp'\ncommand = ['/bin/sleep', '1000']\n":         "it does not answer when it is greeted",
		"[agents.a]\nbackend = 'acp'\ncommand = ['/bin/sh', '-c', 'echo hi']\n":   "it broke off in the middle of its turn",
		"[agents.a]\npreset = 'gemini'\ncommand = ['./slow']\n":                   "slow --version does not end",
		"[agents.a]\nbackend = 'acp'\ncommand = ['/bin/sh', '-c', 'echo no >&2']": "it broke off in the middle of its turn: no",
	} {
		s := newStage(t, project, "")
		s.write("slow", "#!/bin/sh\nexec sleep 1000\n")
		if err := os.Chmod(filepath.Join(s.settings.Workspace, "slow"), 0o700); err != nil {
			t.Fatal(err)
		}
		limit := 30 * time.Second
		if strings.Contains(want, "does not") {
			limit = 300 * time.Millisecond
		}
		ctx, cancel := context.WithTimeout(t.Context(), limit)
		g, greeted := s.greet(ctx, "a")
		cancel()
		if !greeted || want != "" && !strings.HasSuffix(g.Fault, want) {
			t.Errorf("%s: got %+v, want %q", project, g, want)
		}
	}
	s := newStage(t, "[agents.a]\ncommand = ['./own.sh']\n", "")
	if g, greeted := s.greet(t.Context(), "a"); greeted {
		t.Errorf("a program of its own protocol was greeted: %+v", g)
	}
}
