package project_test

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"starling/lang/diagnostic"
	"starling/stdlib/project"
)

// Every key there is, in every notation of TOML that may be met.
const whole = `fake = "agents.star"

[machine]
steps = 1_000_000
memory = 67_108_864
agents = 9

[store]
keep = 5000
url = "postgres://starling:{db}@db.example.org/starling"
lease = "20s"

[engine]
temporal = "temporal.example.org:7233"
namespace = "runs"
queue = "reviews"
tls = true
key = "{temporal}"

[secrets.db]
env = "DB_PASSWORD"

[secrets.temporal]
env = "TEMPORAL_KEY"

[defaults]
timeout = "2m"
retries = 0
reasks = 7

[agents.reviewer]
command = ["./reviewer.py", "--strict"]
env = ["REVIEWER_API_KEY", "HTTP_DEBUG"]
timeout = "90s"
retries = 3
reasks = 0
instructions = """
You review.
"""
input = '{items: [any]}'
output = "{approved:bool}"

[agents]
fast = { backend = "command", command = ["fast"], env = ["HTTP_DEBUG"] }
played.backend = "scripted"
coder = { preset = "claude", model = "opus", tools = ["Read"], modifies = true }
gpt = { backend = "openai", model = "m", url = "http://localhost:1/v1", price = { input = 1, output = 2.5 }, max_tokens = 99 }
sonnet = { backend = "anthropic", model = "s", env = [] }
any.backends = ["coder", "gpt"]
`

// describe is a file on some lines.
func describe(f *project.File) string {
	count := func(n *int) string {
		if n == nil {
			return "-"
		}
		return fmt.Sprint(*n)
	}
	limits := func(l project.Limits) string {
		return fmt.Sprintf("timeout=%v retries=%s reasks=%s", l.Timeout, count(l.Retries), count(l.Reasks))
	}
	s := fmt.Sprintf("fake=%s machine=%v keep=%d %s\n", f.Fake, f.Machine, f.Keep, limits(f.Defaults))
	s += fmt.Sprintf("store=%s %s engine=%+v\n", f.StoreURL, f.Lease, f.Engine)
	for _, a := range f.Agents {
		s += fmt.Sprintf("%s: %s%v %q%s env=%v %s instructions=%q input=%s output=%s\n", a.Name, a.Backend, a.Backends, a.Command, a.Preset, a.Env, limits(a.Limits),
			a.Instructions, a.Input, a.Output)
		if a.Model != "" {
			s += fmt.Sprintf("  model=%s url=%s max_tokens=%d price=%v tools=%v modifies=%t\n", a.Model, a.URL, a.MaxTokens, a.Price, a.Tools, a.Modifies)
		}
	}
	return s
}

func TestParse(t *testing.T) {
	f, err := project.Parse("starling.toml", []byte(whole))
	if err != nil {
		t.Fatal(err)
	}
	const want = `fake=agents.star machine={1000000 67108864 9} keep=5000 timeout=2m0s retries=0 reasks=7
store=postgres://starling:{db}@db.example.org/starling 20s engine={Temporal:temporal.example.org:7233 Namespace:runs Queue:reviews TLS:true Key:{temporal}}
reviewer: command[] ["./reviewer.py" "--strict"] env=[REVIEWER_API_KEY HTTP_DEBUG] timeout=1m30s retries=3 reasks=0 instructions="You review.\n" input={items: [any]} output={approved: bool}
fast: command[] ["fast"] env=[HTTP_DEBUG] timeout=0s retries=- reasks=- instructions="" input= output=
played: scripted[] [] env=[] timeout=0s retries=- reasks=- instructions="" input= output=
coder: command[] ["claude"]claude env=[] timeout=0s retries=- reasks=- instructions="" input= output=
  model=opus url= max_tokens=0 price={0 0 0} tools=[Read] modifies=true
gpt: openai[] [] env=[OPENAI_API_KEY] timeout=0s retries=- reasks=- instructions="" input= output=
  model=m url=http://localhost:1/v1 max_tokens=99 price={1 2.5 0} tools=[] modifies=false
sonnet: anthropic[] [] env=[] timeout=0s retries=- reasks=- instructions="" input= output=
  model=s url= max_tokens=0 price={0 0 0} tools=[] modifies=false
any: [coder gpt] [] env=[] timeout=0s retries=- reasks=- instructions="" input= output=
`
	if got := describe(f); got != want {
		t.Errorf("got\n%swant\n%s", got, want)
	}
	if got := fmt.Sprint(f.Names(), f.Variables(), f.Optional()); got !=
		"[reviewer fast played coder gpt sonnet any] [DB_PASSWORD HTTP_DEBUG OPENAI_API_KEY REVIEWER_API_KEY TEMPORAL_KEY] [DB_PASSWORD OPENAI_API_KEY TEMPORAL_KEY]" {
		t.Errorf("got %s", got)
	}
	if a, ok := f.Agent("fast"); !ok || a.Name != "fast" {
		t.Errorf("got %v", a)
	}
	if a, ok := f.Agent("slow"); ok {
		t.Errorf("got %v", a)
	}
}

// Nothing that only secrets and notifications need holds a run up.
func TestOptional(t *testing.T) {
	f, err := project.Parse("starling.toml", []byte(`
[agents.a]
command = ["a"]
env = ["SHARED", "OF_AGENT"]
[secrets.hook]
env = "HOOK_KEY"
[notify.ops]
webhook = "https://example.org/{hook}"
secret = "hook"
[notify.local]
command = ["tell"]
env = ["TOPIC", "SHARED"]
`))
	if err != nil {
		t.Fatal(err)
	}
	if got, want := fmt.Sprint(f.Variables(), f.Optional()), "[HOOK_KEY OF_AGENT SHARED TOPIC] [HOOK_KEY TOPIC]"; got != want {
		t.Errorf("got %s, want %s", got, want)
	}
}

func TestEmptyFile(t *testing.T) {
	for _, text := range []string{"", "# nothing\n", "[agents]\n", "[defaults]\n"} {
		f, err := project.Parse("starling.toml", []byte(text))
		if err != nil || len(f.Agents) > 0 {
			t.Errorf("%q: got %v, %v", text, f, err)
		}
	}
}

// A command is required, and few of the mistakes need more of a file than one agent.
const agent = "[agents.a]\ncommand = ['x']\n"

func TestMistakes(t *testing.T) {
	for _, c := range []struct{ text, want string }{
		{"[secrets.api]\n", `
starling.toml:1:10: secrets.api: this secret has 0 sources, want one
  | [secrets.api]
  |          ^^^
  = help: write env = "NAME", file = "path", or command = ["program", "argument"]
`},
		{"[secrets]\napi = { env = 'A B' }\nkey = { command = [] }\nold = { value = 'hunter2' }\n", `
starling.toml:2:15: secrets.api.env: got "A B", want the name of an environment variable, without its value
  | api = { env = 'A B' }
  |               ^^^^^
starling.toml:3:9: secrets.key.command: got no program, want a program and its arguments
  | key = { command = [] }
  |         ^^^^^^^
starling.toml:4:9: unknown key secrets.old.value
  | old = { value = 'hunter2' }
  |         ^^^^^
  = help: the keys here are env, file, command
`},
		{"fake = \n", `
starling.toml:1:8: unexpected character U+000A at start of value
  | fake =
  |        ^
`},
		{"[agents.a]\n[agents.a]\n", `
starling.toml:2:2: table a already exists
  | [agents.a]
  |  ^
`},
		{"naem = 1\n", `
starling.toml:1:1: unknown key naem
  | naem = 1
  | ^^^^
  = help: the keys here are fake, protected, git, machine, owner, store, engine, defaults, agents, grants, secrets, sh, tools, notify, inbox, webhooks, prices, budgets, telemetry
`},
		{"[telemetry]\nendpoint = 'localhost:4318'\nprotocol = 'grpc'\ninterval = '1ms'\ntimeout = '1m'\nheaders = {'a b' = 'x', Authorization = '{key}'}\n", `
starling.toml:2:12: telemetry.endpoint: got "localhost:4318", want an address such as "https://example.org/v1", without user and password
  | endpoint = 'localhost:4318'
  |            ^^^^^^^^^^^^^^^^
starling.toml:3:12: telemetry.protocol: got "grpc", want http/protobuf or http/json
  | protocol = 'grpc'
  |            ^^^^^^
starling.toml:4:12: telemetry.interval: got "1ms", want 1s at least
  | interval = '1ms'
  |            ^^^^^
starling.toml:5:11: telemetry.timeout: got "1m", want 25s at most
  | timeout = '1m'
  |           ^^^^
starling.toml:6:20: telemetry.headers.a b: got "a b", want the name of a header
  | headers = {'a b' = 'x', Authorization = '{key}'}
  |                    ^^^
starling.toml:6:41: telemetry.headers.Authorization: got the secret "key", want one that is declared under [secrets]
  | headers = {'a b' = 'x', Authorization = '{key}'}
  |                                         ^^^^^^^
`},
		{"[secrets.s]\nenv = 'S'\n[notify.a]\nmail = ['ann', 'b@example.org\\r\\nBcc: c@example.org']\nsmtp = 'mail.example.org'\nsecret = 's'\nenv = ['A']\n[notify.b]\nwebhook = 'https://example.org'\nfrom = 'a@example.org'\n", `
starling.toml:3:9: notify.a: from is missing, which mail needs
  | [notify.a]
  |         ^
  = help: write from = "starling@example.org" and smtp = "smtp://mail.example.org:587"
starling.toml:3:9: notify.a: user and secret, the password, go together
  | [notify.a]
  |         ^
  = help: leave both out for a server that takes mail from this machine
starling.toml:4:9: notify.a.mail[0]: got "ann", want an address, such as "ann@example.org" or "Ann <ann@example.org>"
  | mail = ['ann', 'b@example.org\r\nBcc: c@example.org']
  |         ^^^^^
starling.toml:4:16: notify.a.mail[1]: got "b@example.org\\r\\nBcc: c@example.org", want an address, such as "ann@example.org" or "Ann <ann@example.org>"
  | mail = ['ann', 'b@example.org\r\nBcc: c@example.org']
  |                ^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^
starling.toml:5:8: notify.a.smtp: got "mail.example.org", want "smtp://HOST:587" for STARTTLS, or "smtps://HOST:465"
  | smtp = 'mail.example.org'
  |        ^^^^^^^^^^^^^^^^^^
  = help: user and secret say who sends
starling.toml:7:1: notify.a.env: mail has no variables
  | env = ['A']
  | ^^^
  = help: the password of its server is that of secret
starling.toml:10:8: notify.b.from: from is of mail
  | from = 'a@example.org'
  |        ^^^^^^^^^^^^^^^
  = help: write mail = ["ann@example.org"]
`},
		{"[telemetry]\n", `
starling.toml:1:2: telemetry: endpoint is missing: the address of the collector
  | [telemetry]
  |  ^^^^^^^^^
  = help: write endpoint = "http://localhost:4318"
`},
		{agent + "tiemout = '3s'\n", `
starling.toml:3:1: unknown key agents.a.tiemout
  | tiemout = '3s'
  | ^^^^^^^
  = help: did you mean "timeout"?
`},
		{agent + "timeoutt = '3s'\n[agnts.b]\n", `
starling.toml:3:1: unknown key agents.a.timeoutt
  | timeoutt = '3s'
  | ^^^^^^^^
  = help: did you mean "timeout"?
starling.toml:4:2: unknown key agnts
  | [agnts.b]
  |  ^^^^^
  = help: did you mean "agents"?
`},
		{"[defaults]\nretries = -1\nreasks = 1.5\ntimeout = 90\n", `
starling.toml:2:11: defaults.retries: got -1, want an int from 0 to 100
  | retries = -1
  |           ^^
starling.toml:3:10: defaults.reasks: got 1.5, want an int from 0 to 100
  | reasks = 1.5
  |          ^^^
starling.toml:4:11: defaults.timeout: got 90, want a duration such as "90s" or "2h", longer than 0
  | timeout = 90
  |           ^^
`},
		{"[store]\nkeep = 1\n", `
starling.toml:2:8: store.keep: got 1, want an int of at least 100
  | keep = 1
  |        ^
`},
		{"[machine]\nsteps = 999\nmemory = '1G'\n", `
starling.toml:2:9: machine.steps: got 999, want an int of at least 1000
  | steps = 999
  |         ^^^
starling.toml:3:10: machine.memory: got "1G", want an int of at least 1048576
  | memory = '1G'
  |          ^^^^
`},
		{agent + "timeout = '0s'\n", `
starling.toml:3:11: agents.a.timeout: got "0s", want a duration such as "90s" or "2h", longer than 0
  | timeout = '0s'
  |           ^^^^
`},
		{agent + "timeout = 'soon'\n", `
starling.toml:3:11: agents.a.timeout: got "soon", want a duration such as "90s" or "2h", longer than 0
  | timeout = 'soon'
  |           ^^^^^^
`},
		{"[agents.a]\n", `
starling.toml:1:9: agents.a: this agent has no command
  | [agents.a]
  |         ^
  = help: add command = ["program", "argument"], preset = "claude", or backend = "scripted" for a function of the fake
`},
		{"[agents.a]\npreset = 'cluade'\n", `
starling.toml:2:10: agents.a.preset: got "cluade", want claude, codex or gemini; did you mean "claude"?
  | preset = 'cluade'
  |          ^^^^^^^^
`},
		{"[agents.a]\ncommand = 'x'\n", `
starling.toml:2:11: agents.a.command: got "x", want a list of strings
  | command = 'x'
  |           ^^^
`},
		{"[agents.a]\ncommand = []\n[agents.b]\ncommand = ['']\n[agents.c]\ncommand = ['x', 1]\n", `
starling.toml:2:1: agents.a.command: got an empty list, want a program and its arguments
  | command = []
  | ^^^^^^^
starling.toml:4:12: agents.b.command[0]: got "", want the name of a program
  | command = ['']
  |            ^^
starling.toml:6:17: agents.c.command[1]: got 1, want a string
  | command = ['x', 1]
  |                 ^
`},
		{"[agents.a]\nbackend = 'codex'\n", `
starling.toml:2:11: agents.a.backend: got "codex", want a backend
  | backend = 'codex'
  |           ^^^^^^^
  = help: a coding agent is a preset: write preset = "codex" in its place
`},
		{"[agents.a]\nbackend = 'comand'\n[agents.b]\nbackend = 'scripted'\ncommand = ['x']\nenv = ['A']\n", `
starling.toml:2:11: agents.a.backend: got "comand", want command, scripted, anthropic, openai, acp, mcp or inbox; did you mean "command"?
  | backend = 'comand'
  |           ^^^^^^^^
starling.toml:5:1: agents.b.command: an agent with backend = "scripted" has no command; it is for agents with backend command or acp
  | command = ['x']
  | ^^^^^^^
starling.toml:6:1: agents.b.env: an agent with backend = "scripted" has no env; it is for agents with backend command or acp or anthropic or openai
  | env = ['A']
  | ^^^
`},
		{"[agents.a]\nbackend = 'acp'\n[agents.b]\nbackend = 'mcp'\nserver = 'x'\n[agents.c]\nbackend = 'mcp'\nserver = 'databse'\ntool = 't'\npermissions = 'ask'\n[tools.database]\ncommand = ['x']\n" +
			"[agents.d]\nbackend = 'acp'\ncommand = ['x']\npermissions = 'allow'\n", `
starling.toml:1:9: agents.a: this agent has no command; add command = ["program", "argument"], which speaks the Agent Client Protocol
  | [agents.a]
  |         ^
starling.toml:3:9: agents.b: this agent does not say which tool it is; add server = "NAME" of [tools.NAME], and tool = "TOOL"
  | [agents.b]
  |         ^
starling.toml:5:10: agents.b.server: got "x", want a tool server of this file
  | server = 'x'
  |          ^^^
starling.toml:8:10: agents.c.server: got "databse", want a tool server of this file; did you mean "database"?
  | server = 'databse'
  |          ^^^^^^^^^
starling.toml:10:15: agents.c.permissions: an agent with backend = "mcp" has no permissions; it is for agents with backend acp
  | permissions = 'ask'
  |               ^^^^^
starling.toml:16:15: agents.d.permissions: got "allow", want deny or ask
  | permissions = 'allow'
  |               ^^^^^^^
`},
		{"[notify.a]\non = ['gates']\n[notify.b]\nwebhook = 'ftp://x'\nsecret = 'nobody'\n[notify.c]\ncommand = ['x']\nsecret = 's'\n[secrets.s]\nenv = 'S'\n[notify.d]\ncommand = []\n", `
starling.toml:1:9: notify.a: whoever is told has a webhook, a command or mail; write webhook = "https://example.org/hook", command = ["program"], or mail = ["ann@example.org"]
  | [notify.a]
  |         ^
starling.toml:2:7: notify.a.on[0]: got "gates", want gate, decision, end, budget or work; did you mean "gate"?
  | on = ['gates']
  |       ^^^^^^^
starling.toml:4:11: notify.b.webhook: got "ftp://x", want an address such as "https://example.org/v1", without user and password
  | webhook = 'ftp://x'
  |           ^^^^^^^^^
starling.toml:5:10: notify.b.secret: got the secret "nobody", want one that is declared under [secrets]
  | secret = 'nobody'
  |          ^^^^^^^^
starling.toml:8:10: notify.c.secret: only webhooks are signed; give the command variables with env
  | secret = 's'
  |          ^^^
starling.toml:12:1: notify.d.command: got no program, want a program and its arguments
  | command = []
  | ^^^^^^^
`},
		{"[notify.a]\nwebhook = 'ftp://x/{s}'\n[notify.b]\nwebhook = '{t}'\n[notify.c]\nwebhook = 'https://x/{s}'\n[secrets.s]\nenv = 'S'\n", `
starling.toml:2:11: notify.a.webhook: got "ftp://x/{s}", want an address such as "https://example.org/v1", without user and password
  | webhook = 'ftp://x/{s}'
  |           ^^^^^^^^^^^^^
starling.toml:4:11: notify.b.webhook: got the secret "t", want one that is declared under [secrets]
  | webhook = '{t}'
  |           ^^^^^
`},
		{"[agents.b]\nbackend = 'scripted'\nenv = ['A']\n", `
starling.toml:3:1: agents.b.env: an agent with backend = "scripted" has no env; it is for agents with backend command or acp or anthropic or openai
  | env = ['A']
  | ^^^
`},
		{agent + "env = ['A=1', 'STARLING_KEY', 'B', 'B']\n", `
starling.toml:3:8: agents.a.env[0]: got "A=1", want the name of an environment variable, without its value
  | env = ['A=1', 'STARLING_KEY', 'B', 'B']
  |        ^^^^^
starling.toml:3:15: agents.a.env[1]: got "STARLING_KEY", want a name that does not begin with STARLING_; these are set for every agent
  | env = ['A=1', 'STARLING_KEY', 'B', 'B']
  |               ^^^^^^^^^^^^^^
starling.toml:3:36: agents.a.env[3]: B is named twice
  | env = ['A=1', 'STARLING_KEY', 'B', 'B']
  |                                    ^^^
`},
		{"[agents.'a b']\ncommand = ['x']\n", `
starling.toml:1:9: agents.a b: got the name "a b", want letters, digits, '.', '_' and '-', beginning with a letter or a digit
  | [agents.'a b']
  |         ^^^^^
`},
		{"[sh]\nallow = ['go', '']\nnetwork = ['gi']\n[grants.a]\nfiles = ['raed']\n", `
starling.toml:2:16: sh.allow[1]: got "", want the name of a program
  | allow = ['go', '']
  |                ^^
starling.toml:3:12: sh.network[0]: got "gi", want one of the programs in allow
  | network = ['gi']
  |            ^^^^
starling.toml:5:10: grants.a.files[0]: got "raed", want read or write
  | files = ['raed']
  |          ^^^^^^
  = help: did you mean "read"?
`},
		{"[grants.'*']\nby = ['a']\n", `
starling.toml:2:1: grants.*.by: "*" is no name that somebody defines
  | by = ['a']
  | ^^
`},
		{"agents = 3\nfake = ''\n", `
starling.toml:1:10: agents: got 3, want a table; write [agents]
  | agents = 3
  |          ^
starling.toml:2:8: fake: got "", want the path of a script
  | fake = ''
  |        ^^
`},
		{agent + "output = '{approved: boool}'\n", `
starling.toml:3:22: agents.a.output: unknown type boool; did you mean "bool"?
  | output = '{approved: boool}'
  |                      ^^^^^
`},
		{agent + "input = '''\n{\n  n: int,\n  m: intt,\n}'''\n", `
starling.toml:6:6: agents.a.input: unknown type intt; did you mean "int"?
  |   m: intt,
  |      ^^^^
`},
		// Escapes: the text of the contract does not stand in the file as it is, so that the whole
		// value is shown.
		{agent + `output = "{a: \"x\" | boool}"` + "\n", `
starling.toml:3:10: agents.a.output: unknown type boool; did you mean "bool"?
  | output = "{a: \"x\" | boool}"
  |          ^^^^^^^^^^^^^^^^^^^^
`},
		{"[agents.a]\nbackend = 'openai'\nurl = 'localhost:1'\nenv = ['A', 'B']\nprice = {input = -1}\n", `
starling.toml:1:9: agents.a: this agent has no model; add model = "NAME"
  | [agents.a]
  |         ^
starling.toml:3:7: agents.a.url: got "localhost:1", want an address such as "https://example.org/v1", without user and password
  | url = 'localhost:1'
  |       ^^^^^^^^^^^^^
starling.toml:4:13: agents.a.env[1]: a model's API takes one key; env names the variable that it is in, [] for none
  | env = ['A', 'B']
  |             ^^^
starling.toml:5:18: agents.a.price.input: got -1, want US dollars per million tokens
  | price = {input = -1}
  |                  ^^
`},
		{agent + "model = 'm'\nmodifies = 1\n", `
starling.toml:3:9: agents.a.model: only a preset knows how to tell its program of a model; add it to the arguments of command
  | model = 'm'
  |         ^^^
starling.toml:4:12: agents.a.modifies: got 1, want true or false
  | modifies = 1
  |            ^
`},
		{agent + "[agents.b]\nbackends = ['a', 'aa', 'b', 'a']\nmodel = 'm'\n", `
starling.toml:4:18: agents.b.backends[1]: got "aa", want the name of an agent of this file
  | backends = ['a', 'aa', 'b', 'a']
  |                  ^^^^
starling.toml:4:24: agents.b.backends[2]: got "b", want an agent with a backend of its own; it only lists others; name these here
  | backends = ['a', 'aa', 'b', 'a']
  |                        ^^^
starling.toml:4:29: agents.b.backends[3]: a is named twice
  | backends = ['a', 'aa', 'b', 'a']
  |                             ^^^
starling.toml:5:9: agents.b.model: an agent that lists backends has no model of its own; it is for agents with backend command or acp or anthropic or openai
  | model = 'm'
  |         ^^^
`},
		{"[inbox]\nmine = 'target = me'\nold = ' '\nall = 3\n", `
starling.toml:3:7: inbox.old: got an empty filter, want a filter, such as "target = reviewer and age > 2h"; starling query --help says what a filter is
  | old = ' '
  |       ^^^
starling.toml:4:7: inbox.all: got 3, want a string
  | all = 3
  |       ^
`},
		{agent + "output = 3\n", `
starling.toml:3:10: agents.a.output: got 3, want a string
  | output = 3
  |          ^
`},
	} {
		f, err := project.Parse("starling.toml", []byte(c.text))
		var list diagnostic.List
		if !errors.As(err, &list) {
			t.Errorf("%q: got %v, %v", c.text, f, err)
			continue
		}
		if got := "\n" + list.Render(); got != hints(c.want) {
			t.Errorf("%q\ngot%s\nwant%s", c.text, got, c.want)
		}
	}
}

// Sections of the inbox stand in the order of the file.
func TestSections(t *testing.T) {
	f, err := project.Parse("starling.toml", []byte("[inbox]\n\"急ぎ\" = \"age > 2h\"\nmine = \"target = me\"\n"))
	if err != nil {
		t.Fatal(err)
	}
	if got, want := fmt.Sprint(f.Inbox), "[{急ぎ age > 2h} {mine target = me}]"; got != want {
		t.Errorf("got %s, want %s", got, want)
	}
}

// hints puts a hint at the end of a message on the line of its own that a rendering has for it.
func hints(want string) string {
	var out []string
	help := ""
	for _, line := range strings.Split(want, "\n") {
		if strings.HasPrefix(line, "starling.toml") {
			line, help, _ = strings.Cut(line, "; ")
		}
		out = append(out, line)
		if strings.Contains(line, "^") && help != "" {
			out = append(out, "  = help: "+help)
			help = ""
		}
	}
	return strings.Join(out, "\n")
}

func FuzzParse(f *testing.F) {
	f.Add([]byte(whole))
	f.Add([]byte(agent))
	f.Add([]byte("[[agents]]\na = [{b = 1}]\n"))
	f.Add([]byte("agents.a.env = [[]]\n\"\" = {\"\" = 1}"))
	f.Fuzz(func(t *testing.T, text []byte) {
		file, err := project.Parse("f", text)
		if (file == nil) != (err != nil) {
			t.Errorf("%q: got %v, %v", text, file, err)
		}
		var list diagnostic.List
		if err != nil && (!errors.As(err, &list) || list.Render() == "") {
			t.Errorf("%q: %v says nothing", text, err)
		}
	})
}

func TestFind(t *testing.T) {
	files := []string{"/home/a/starling.toml", "/home/a/repo/.git", "/home/a/other/starling.toml", "/home/a/other/.git"}
	exists := func(path string) bool { return slices.Contains(files, path) }
	for dir, want := range map[string]string{
		"/home/a":           "/home/a/starling.toml",
		"/home/a/b/c":       "/home/a/starling.toml",
		"/home/a/other/x/y": "/home/a/other/starling.toml",
		"/home/a/repo/x":    "", // its repository has none
		"/home":             "",
		"/":                 "",
	} {
		file, ok := project.Find(dir, exists)
		if file != want || ok != (want != "") {
			t.Errorf("%s: got %q, %v, want %q", dir, file, ok, want)
		}
	}
}

// The table of keys is what the file may have: each key of a file with all of them is there, and
// says what it takes.
func TestKeys(t *testing.T) {
	known := map[string]project.Key{}
	for _, k := range project.Keys() {
		if k.Takes == "" || k.Default == "" || k.Doc == "" {
			t.Errorf("%s takes %q, by default %q: %q", k.Path, k.Takes, k.Default, k.Doc)
		}
		known[k.Path] = k
	}
	table := ""
	for line := range strings.Lines(whole) {
		line = strings.TrimSpace(line)
		if name, ok := strings.CutPrefix(line, "["); ok && strings.HasSuffix(line, "]") {
			table = strings.TrimSuffix(name, "]")
			if group, _, named := strings.Cut(table, "."); named {
				table = group + "." + map[string]string{"grants": "SCRIPT"}[group]
				if group != "grants" {
					table += "NAME"
				}
			}
			continue
		}
		key, _, ok := strings.Cut(line, " = ")
		if !ok || table == "agents" || strings.ContainsAny(key, `".`) {
			continue
		}
		if path := strings.TrimPrefix(table+"."+key, "."); known[path].Path == "" && !strings.HasPrefix(path, "prices.") {
			t.Errorf("the table does not have %s", path)
		}
	}
	if got := known["agents.NAME.backend"].Takes; got != `"command", "scripted", "anthropic", "openai", "acp", "mcp", "inbox"` {
		t.Errorf("backend takes %s", got)
	}
}
