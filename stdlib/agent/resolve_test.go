package agent_test

import (
	"testing"
	"time"

	"starling/lang/effect"
)

const twoAgents = `
[defaults]
timeout = "7m"
reasks = 9

[agents.reviewer]
command = ["./reviewer.sh", "-x"]
env = ["KEY"]
instructions = "Review."
retries = 5
output = "{ok: bool}"

[agents.fast]
command = ["fast"]
`

const moreAgents = twoAgents + `
[agents.coder]
preset = "claude"
model = "opus"
tools = ["Read"]
modifies = true

[agents.gpt]
backend = "openai"
model = "m"
url = "http://localhost:1/v1"
max_tokens = 5
price = { input = 1.25, output = 10 }

[agents.any]
backends = ["coder", "fast"]
instructions = "Any."
`

func policy(r *effect.Request) [3]any {
	return [3]any{r.Policy.Timeout, r.Policy.Retries, r.Policy.Reasks}
}

// The call wins over the role, the role over the agent's section, the section over the defaults of
// the project, these over ours.
func TestWhatResolveFills(t *testing.T) {
	for _, c := range []struct {
		call    string
		policy  [3]any
		returns string
	}{
		{`agent("fast")`, [3]any{7 * time.Minute, 1, 9}, ""},
		{`agent("reviewer")`, [3]any{7 * time.Minute, 5, 9}, "{ok: bool}"},
		{`agent(role("reviewer", timeout = "1m", retries = 2, output = contract("int")))`, [3]any{time.Minute, 2, 9}, "int"},
		{`agent(role("reviewer", timeout = "1m", retries = 2, output = contract("int")), timeout = "2s", retries = 0, reasks = 0, output = contract("any"))`,
			[3]any{2 * time.Second, 0, 0}, "any"},
	} {
		r, fault := newStage(t, twoAgents, "").request(c.call)
		if fault != nil {
			t.Errorf("%s: %v", c.call, fault)
		} else if policy(r) != c.policy || r.Returns != c.returns {
			t.Errorf("%s: got %v returns %q, want %v returns %q", c.call, policy(r), r.Returns, c.policy, c.returns)
		}
	}
	r, fault := newStage(t, "", "def a(req): return 1").request(`agent("a")`)
	if fault != nil || policy(r) != [3]any{5 * time.Minute, 1, 2} {
		t.Errorf("without a project: got %v, %v", policy(r), fault)
	}
}

func TestWhoServes(t *testing.T) {
	const fake = "def reviewer(req): return 1\ndef other_one(req): return 2\nagents = {'night-shift': lambda req: 3}\n"
	for _, c := range []struct{ fake, call, want string }{
		{"", `agent("reviewer")`, `{"agent": "reviewer", "instructions": "Review.", "candidates": [{"backend": "command", "serves": "reviewer", ` +
			`"command": ["./reviewer.sh", "-x"], "dir": "DIR", "env": ["KEY"]}]}`},
		{"", `agent("reviewer", backend = "fast")`, `{"agent": "reviewer", "instructions": "Review.", "candidates": [{"backend": "command", "serves": "fast", ` +
			`"command": ["fast"], "dir": "DIR"}]}`},
		{"", `agent(role("me", backend = "fast", instructions = "Hi."))`, `{"agent": "me", "instructions": "Hi.", "candidates": [{"backend": "command", ` +
			`"serves": "fast", "command": ["fast"], "dir": "DIR"}]}`},
		{fake, `agent("reviewer")`, `{"agent": "reviewer", "instructions": "Review.", "candidates": [{"backend": "scripted", "serves": "reviewer", ` +
			`"function": "reviewer"}]}`},
		{fake, `agent("other-one")`, `{"agent": "other-one", "candidates": [{"backend": "scripted", "serves": "other-one", "function": "other-one"}]}`},
		{fake, `agent("night-shift")`, `{"agent": "night-shift", "candidates": [{"backend": "scripted", "serves": "night-shift", "function": "night-shift"}]}`},
		{fake, `agent(role("me", backend = "night-shift"))`, `{"agent": "me", "candidates": [{"backend": "scripted", "serves": "night-shift", ` +
			`"function": "night-shift"}]}`},
		{fake, `agent(role("other-one", backend = "fast"))`, `{"agent": "other-one", "candidates": [{"backend": "scripted", "serves": "fast", ` +
			`"function": "other-one"}]}`},
		{fake, `agent("fast")`, `{"agent": "fast", "candidates": [{"backend": "command", "serves": "fast", "command": ["fast"], "dir": "DIR"}]}`},
		{fake, `agent(role("me", backend = ["fast", "night-shift"]))`, `{"agent": "me", "candidates": [{"backend": "command", "serves": "fast", ` +
			`"command": ["fast"], "dir": "DIR"}, {"backend": "scripted", "serves": "night-shift", "function": "night-shift"}]}`},
		{"", `agent("any", backend = ["fast", "any"])`, `{"agent": "any", "instructions": "Any.", "candidates": [{"backend": "command", "serves": "fast", ` +
			`"command": ["fast"], "dir": "DIR"}, {"backend": "command", "serves": "coder", "command": ["claude"], "dir": "DIR", "preset": "claude", ` +
			`"model": "opus", "tools": ["Read"], "modifies": True}]}`},
		{"", `agent(role("any", tools = [], modifies = False))`, `{"agent": "any", "instructions": "Any.", "candidates": [{"backend": "command", ` +
			`"serves": "coder", "command": ["claude"], "dir": "DIR", "preset": "claude", "model": "opus"}, {"backend": "command", "serves": "fast", ` +
			`"command": ["fast"], "dir": "DIR", "unheld": ["it can change files, though its role says modifies = False; sandbox = true in [agents.fast] keeps it from that"]}]}`},
		{"", `agent("gpt")`, `{"agent": "gpt", "candidates": [{"backend": "openai", "serves": "gpt", "env": ["OPENAI_API_KEY"], "model": "m", ` +
			`"url": "http://localhost:1/v1", "max_tokens": 5, "price_input": 1250000, "price_output": 10000000}]}`},
	} {
		s := newStage(t, moreAgents, c.fake)
		r, fault := s.request(c.call)
		if fault != nil {
			t.Errorf("%s: %v", c.call, fault)
			continue
		}
		v, err := r.Resolved.Value()
		if err != nil {
			t.Fatal(err)
		}
		if got := replaceDir(v.String(), s.settings.Workspace); got != c.want {
			t.Errorf("%s\ngot  %s\nwant %s", c.call, got, c.want)
		}
	}
}

func TestResolveRefuses(t *testing.T) {
	for _, c := range []struct{ project, fake, call, want string }{
		{"", "", `agent("reviewer")`,
			`refused: no agent "reviewer": there is neither a fake nor a starling.toml; add [agents.reviewer] to a starling.toml, or run with --fake FILE`},
		{twoAgents, "", `agent("reviwer")`, `refused: no agent "reviwer" in DIR/starling.toml; did you mean "reviewer"?`},
		{twoAgents, "def judge(req): pass", `agent("zzz")`, `refused: no agent "zzz" in the fake agents.star and DIR/starling.toml; there are reviewer, fast, judge`},
		{"", "x = 1", `agent("zzz")`, `refused: no agent "zzz" in the fake agents.star, which has none`},
		{"", "def _hidden(req): pass", `agent(role("hidden"))`, `refused: no agent "hidden" in the fake agents.star, which has none`},
		{"[agents.a]\nbackend = 'scripted'", "def b(req): pass", `agent("a")`,
			`refused: the agent "a" is scripted, and the fake agents.star has no function a`},
		{"[agents.a]\nbackend = 'scripted'", "", `agent("a")`, `refused: the agent "a" is scripted, and there is no fake; run with --fake FILE`},
		{"[agents.a]", "", `agent("a")`, `refused: DIR/starling.toml:1:9: agents.a: this agent has no command; add command = ["program", "argument"], ` +
			`preset = "claude", or backend = "scripted" for a function of the fake`},
		{"", "x = 1 // 0", `agent("a")`, `refused: the fake agents.star: agents.star:1:7: floored division by zero`},
		{"", "x = zzzzzz", `agent("a")`, `refused: the fake agents.star: agents.star:1:5: undefined: zzzzzz`},
		{"", "sleep('1s')", `agent("a")`,
			`refused: the fake agents.star: sleep cannot be called in a file of scripted agents: what varies comes from the request`},
		{"", "x = uuid()", `agent("a")`,
			`refused: the fake agents.star: agents.star:1:9: uuid cannot be called in a file of scripted agents: what varies comes from the request`},
		{"", "agents = {'a b': len}", `agent("a")`, `refused: the fake agents.star: agents: got the name "a b", want letters, digits, '.', '_' and '-', ` +
			`beginning with a letter or a digit`},
		{"", "agents = {'a': 1}", `agent("a")`, `refused: the fake agents.star: agents["a"]: got int, want a function`},
		{"[agents.a-b]\ncommand = ['x']\n[agents.'a.b']\ncommand = ['x']", "def a_b(req): pass", `agent("a-b")`,
			`refused: the agents "a-b" and "a.b" are both played by a_b in the fake; list them: agents = {"a-b": …, "a.b": …}`},
	} {
		s := newStage(t, c.project, c.fake)
		_, fault := s.request(c.call)
		if fault == nil {
			t.Errorf("%s: it was resolved, want %s", c.call, c.want)
			continue
		}
		if got := replaceDir(string(fault.Kind)+": "+fault.Message, s.settings.Workspace); got != c.want {
			t.Errorf("%s\ngot  %s\nwant %s", c.call, got, c.want)
		}
	}
}

// Listed in the dict, two agents whose names fall together are two.
func TestListedAgentsDoNotFallTogether(t *testing.T) {
	const project = "[agents.a-b]\ncommand = ['x']\n[agents.'a.b']\ncommand = ['x']"
	s := newStage(t, project, "agents = {'a-b': lambda req: 'dash', 'a.b': lambda req: 'dot'}")
	for name, want := range map[string]string{"a-b": `ok text="dash"`, "a.b": `ok text="dot"`} {
		if got := show(s.ask(t.Context(), `agent("`+name+`")`)); got != want {
			t.Errorf("%s: got %s, want %s", name, got, want)
		}
	}
}
