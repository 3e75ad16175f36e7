package agent

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"sync"

	"go.starlark.net/starlark"

	"starling/lang/effect"
	"starling/stdlib/process"
	"starling/stdlib/project"
	"starling/stdlib/secret"
)

// Greeting is what whoever serves an agent says when nothing is asked of it: no model is called,
// and nothing is paid.
type Greeting struct {
	Version string // of the program, "" where it tells none
	Login   string // as whom or how it is logged in, "" where nobody can tell
	Fault   string // why it would not serve; "" for nothing that is known
	Mend    string
	Doubt   bool // what Fault says may be right
}

// Greet starts the program of a candidate, or sends its API a request that calls no model, in the
// workspace and with the environment of an attempt. Asked is false where there is nothing to greet:
// an agent that is a command of its own, a script, a cassette, an inbox, or a tool, whose server
// is greeted for itself. It is used concurrently.
func Greet(ctx context.Context, c Candidate, s *effect.Settings, env func(string) (string, bool)) (g Greeting, asked bool) {
	a := &effect.Attempt{Run: "probe", Step: c.Serves, Kind: "agent", Number: 1, Settings: s, Env: env,
		Args: new(starlark.Dict), Emit: func(string, starlark.Value) {}}
	c.Servers = nil // they are greeted for themselves
	d := Definition{Agent: c.Serves, Candidate: c}
	q := Question{Attempt: a, Definition: d, hidden: secret.Given(a, c.Env), keys: secret.Keys(a, c.Env)}
	switch {
	case c.Preset != "":
		return greetPreset(ctx, q), true
	case c.Backend == backendACP:
		return greetACP(ctx, q), true
	case c.Backend == backendAnthropic:
		return greetModel(ctx, q, func(key string) wireRequest { return toAnthropic(d, key, "v1/models", nil) }), true
	case c.Backend == backendOpenAI:
		return greetModel(ctx, q, func(key string) wireRequest { return toOpenAI(d, key, "models", nil) }), true
	}
	return Greeting{}, false
}

// say runs the program with arguments that only have it tell something.
func (q Question) say(ctx context.Context, args ...string) (out string, code int, err error) {
	spec, err := newSpec(q, invocation{})
	if err != nil {
		return "", 0, err
	}
	undo, err := confined(q, &spec, invocation{})
	if err != nil {
		return "", 0, err
	}
	defer undo()
	spec.Argv = append(spec.Argv[:1:1], args...)
	r, err := process.Run(ctx, spec)
	if err == nil {
		err = r.Err
	}
	if err == nil && ctx.Err() != nil {
		err = fmt.Errorf("%s %s does not end", filepath.Base(spec.Argv[0]), strings.Join(args, " "))
	}
	return q.shown(strings.TrimSpace(string(r.Stdout)+"\n"+string(r.Stderr)), maxStderr), r.ExitCode, err
}

var versionNumber = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`\d+\.\d+[\w.+-]*`) })

// greetPreset asks for the version and, by the command that the program has for it, for the login.
func greetPreset(ctx context.Context, q Question) Greeting {
	d := q.Definition
	out, code, err := q.say(ctx, "--version")
	switch {
	case err != nil:
		return Greeting{Fault: err.Error(), Mend: d.install()}
	case code != 0:
		return Greeting{Fault: fmt.Sprintf("%s --version ends with %d: %s", d.Preset, code, clipTo(out, 200)), Mend: d.install()}
	}
	g := Greeting{Version: versionNumber().FindString(out)}
	switch d.Preset {
	case project.Claude:
		q.loginOfClaude(ctx, &g)
	case project.Codex:
		q.loginOfCodex(ctx, &g)
	case project.Gemini:
		q.loginOfGemini(&g)
	}
	return g
}

// loginOfClaude reads `claude auth status`: an object with loggedIn and authMethod.
func (q Question) loginOfClaude(ctx context.Context, g *Greeting) {
	out, _, err := q.say(ctx, "auth", "status")
	var status struct {
		LoggedIn *bool  `json:"loggedIn"`
		Method   string `json:"authMethod"`
		Source   string `json:"apiKeySource"`
	}
	if begin := strings.Index(out, "{"); err == nil && begin >= 0 {
		_ = json.NewDecoder(strings.NewReader(out[begin:])).Decode(&status) // an older one has no such command
	}
	switch {
	case status.LoggedIn == nil:
	case *status.LoggedIn:
		g.Login = firstOf(status.Source, status.Method)
	default:
		g.Fault, g.Mend = "it is not logged in", `run claude once to log in, or give it its key: env = ["ANTHROPIC_API_KEY"]`
	}
}

// loginOfCodex reads `codex login status`, which knows of OpenAI's logins and not of other
// providers'.
func (q Question) loginOfCodex(ctx context.Context, g *Greeting) {
	out, code, err := q.say(ctx, "login", "status")
	login := strings.ToLower(out)
	switch {
	case err != nil:
	case code == 0 && strings.Contains(login, "logged in"):
		g.Login = strings.TrimPrefix(strings.TrimPrefix(out, "Logged in "), "using ")
	case strings.Contains(login, "not logged in"):
		g.Fault, g.Doubt = "it is not logged in with OpenAI", true
		g.Mend = "codex login, unless its own configuration names another provider of models"
	}
}

// loginOfGemini looks where gemini looks for how it is to log in: it has no command that tells.
// https://github.com/google-gemini/gemini-cli/blob/main/docs/get-started/authentication.md
func (q Question) loginOfGemini(g *Greeting) {
	env, err := environment(q)
	if err != nil {
		g.Fault = err.Error()
		return
	}
	home := ""
	for _, pair := range env {
		name, value, _ := strings.Cut(pair, "=")
		switch name {
		case "GEMINI_API_KEY", "GOOGLE_API_KEY", "GOOGLE_GENAI_USE_VERTEXAI", "GOOGLE_GENAI_USE_GCA":
			g.Login = name
			return
		case "HOME":
			home = value
		}
	}
	var settings struct {
		Security struct {
			Auth struct{ SelectedType string }
		}
	}
	text, err := os.ReadFile(filepath.Join(home, ".gemini", "settings.json"))
	if err == nil {
		_ = json.Unmarshal(text, &settings) // what it cannot read, it says itself
	}
	how := settings.Security.Auth.SelectedType
	switch {
	case how == "":
		g.Fault, g.Mend = "no login has been chosen for it", `run gemini once to log in, or give it its key: env = ["GEMINI_API_KEY"]`
	case how == "gemini-api-key":
		g.Fault, g.Doubt = "it is to log in by a key, and env does not name GEMINI_API_KEY", true
		g.Mend = `env = ["GEMINI_API_KEY"], unless it has kept the key itself`
	default:
		g.Login = how
	}
}

// greetACP opens a session, and leaves it before a turn.
func greetACP(ctx context.Context, q Question) Greeting {
	spec, err := newSpec(q, invocation{})
	if err != nil {
		return Greeting{Fault: err.Error()}
	}
	undo, err := confined(q, &spec, invocation{})
	if err != nil {
		return Greeting{Fault: err.Error()}
	}
	defer undo()
	s, err := startSession(q, spec)
	if err != nil {
		return Greeting{Fault: err.Error(), Mend: q.Definition.install()}
	}
	defer context.AfterFunc(ctx, func() { _ = s.hears.Close() })() // never fails
	_, f := s.meet(ctx)
	g := Greeting{Version: s.version}
	r := s.leave()
	switch {
	case ctx.Err() != nil:
		g.Fault, g.Mend = "it does not answer when it is greeted", "does the command speak the Agent Client Protocol? Many programs do by an argument"
	case f != nil:
		g.Fault = q.shown(f.message, 300)
		if text := lastLine(r.Stderr); text != "" && !f.said {
			g.Fault += ": " + q.shown(text, 300)
		}
	}
	return g
}

func lastLine(stderr []byte) string {
	lines := strings.Split(strings.TrimSpace(string(stderr)), "\n")
	return strings.TrimSpace(lines[len(lines)-1])
}

// greetModel lists the models of an API. A server that has no such list answers, which is enough.
func greetModel(ctx context.Context, q Question, request func(key string) wireRequest) (g Greeting) {
	key := ""
	for _, name := range q.Definition.Env {
		key, _ = q.Env(name)
	}
	response, err := request(key).do(ctx)
	if err != nil {
		return Greeting{Fault: q.shown(err.Error(), 300), Mend: "look at url, and at the network"}
	}
	defer response.Body.Close()
	switch response.StatusCode {
	case http.StatusUnauthorized, http.StatusForbidden:
		g.Fault, g.Mend = fmt.Sprintf("its API answers %s", response.Status), "the variable of env has a key that the API does not take"
		if key == "" {
			g.Mend = "it wants a key: name its variable in env"
		}
	case http.StatusOK:
		g.Login = "its API answers"
	case http.StatusNotFound, http.StatusMethodNotAllowed:
		g.Login = "its API answers, and lists no models"
	default:
		g.Fault, g.Doubt = fmt.Sprintf("its API answers %s", response.Status), true
	}
	return g
}
