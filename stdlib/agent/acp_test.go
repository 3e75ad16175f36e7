package agent_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"go.starlark.net/starlark"

	"starling/lang/effect"
)

// acpStage is a project whose agent a speaks the Agent Client Protocol and does what the arguments
// say; keys are further keys of it.
func acpStage(t *testing.T, keys string, does ...string) *stage {
	t.Helper()
	t.Setenv("ACP_AGENT", "1")
	command := []string{fmt.Sprintf("%q", os.Args[0])}
	for _, d := range does {
		command = append(command, fmt.Sprintf("%q", d))
	}
	s := newStage(t, fmt.Sprintf("[agents.a]\nbackend = 'acp'\ncommand = [%s]\nenv = ['ACP_AGENT', 'MODEL_KEY']\n%s", strings.Join(command, ", "), keys), "")
	s.vars["ACP_AGENT"], s.vars["MODEL_KEY"] = "1", "12345"
	return s
}

// Whatever an agent does, what comes of it is a reply or says why there is none, and whether
// another attempt may help.
func TestACP(t *testing.T) {
	for _, c := range []struct {
		name, keys string
		does       []string
		want       string
	}{
		{"a text", "", []string{"thinks=Hm.", "says=I look.", "tool=read:Read a", "says=All is ", "says=well."}, `ok text="All is well."`},
		{"usage beside the protocol", "", []string{"says=ok", "quota=30:4:pro"}, `ok text="ok" usage={"input_tokens": 30, "output_tokens": 4, "model": "pro"}`},
		{"usage of two models", "", []string{"says=ok", "quota=30:4:pro,lite"}, `ok text="ok" usage={"input_tokens": 30, "output_tokens": 4}`},
		{"usage and cost", "", []string{"says=ok", "tokens=3:4", "cost=0.25"}, `ok text="ok" usage={"input_tokens": 4, "output_tokens": 4, "cached_tokens": 1, "usd": 0.25, "claimed": True}`},
		{"garbage between", "", []string{"says=a", "garbage=", "says=b"}, `ok text="ab"`},
		{"faster than it is heard", "", []string{"flood=20000"}, `ok text="` + strings.Repeat("x", 20000) + `"`},
		{"nothing said", "", nil, "retryable agent: a: it ended its turn with an empty reply"},
		{"death in the middle", "", []string{"says=half", "die="}, "retryable agent: a: it was ended by SIGKILL"},
		{"the end in the middle", "", []string{"says=half", "exit=0"}, "retryable agent: a: it broke off in the middle of its turn"},
		{"a failure in the middle", "", []string{"says=half", "exit=78"}, "final agent: a: it exited with 78 (configuration)"},
		{"a refusal", "", []string{"says=I will not.", "stop=refusal"}, "final agent: a: it refuses: I will not."},
		{"too many turns", "", []string{"says=half", "stop=max_turn_requests"}, "final agent: a: it ended its turn early: max_turn_requests"},
		{"its own end", "", []string{"says=half", "stop=cancelled"}, "retryable agent: a: it cancelled its turn"},
		{"a key that the API refuses", "", []string{"retry=401", "says=never"}, "final agent: a: the model's API answers 401: told"},
		{"an API that has much to do", "", []string{"retry=429", "says=ok"}, `ok text="ok"`},
		{"a folder that gemini is to trust", "", []string{"var=GEMINI_CLI_TRUST_WORKSPACE"}, `ok text="true"`},
		{"no login", "", []string{"login"}, "final agent: a: Authentication required; log in with its own program once, or name one of its ways: login = account or api-key"},
		{"a login that it does not have", "login = 'key'", []string{"login"}, `final refused: a: it has no login "key"; it has account, api-key`},
		{"a mode that it does not have", "mode = 'full'", []string{"modes"}, `final refused: a: it has no mode "full"; it has ask, auto`},
		{"a model, and it has none", "model = 'large'", []string{"modes"}, `final refused: a: it has no model "large"; it has none to choose from`},
		{"a choice that it does not have", "model = 'huge'", []string{"options"}, `final refused: a: it has no model "huge"; it has small, large`},
		{"files that it was not offered", "modifies = true", []string{"read=b", "write=c:new"}, `ok text="refused. refused."`},
		{"another protocol", "", []string{"version=7"}, "final agent: a: it speaks version 7 of the protocol, and this build version 1"},
		{"a change that it did not ask for", "", []string{"modes", "tool=edit:Write b", "says=done"},
			"final denied: a: it changed files, which it may not, without asking for leave: Write b; name a mode in which it asks (it has: ask, auto), or set modifies = true"},
		{"a change that it may make", "modifies = true", []string{"tool=edit:Write b", "says=done"}, `ok text="done"`},
		{"a change of a kind that it may make", "tools = ['edit']", []string{"tool=edit:Write b", "says=done"}, `ok text="done"`},
		{"leave to read", "", []string{"ask=read:Read b:b"}, `ok text="Read b: allow."`},
		{"leave to read elsewhere", "", []string{"ask=read:Read:../b"}, "final denied: a: it was denied the tool Read; allow it with tools or modifies, or ask for what needs no tool"},
		{"leave to change", "modifies = true", []string{"ask=edit:Write b:b"}, `ok text="Write b: allow."`},
		{"no leave to change", "", []string{"ask=edit:Write b:b"}, "final denied: a: it was denied the tool Write b; allow it with tools or modifies, or ask for what needs no tool"},
		{"no leave for commands", "modifies = true", []string{"ask=execute:make", "ask=execute:rm x"},
			"final denied: a: it was denied the tool make, and 1 more; allow it with tools or modifies, or ask for what needs no tool"},
		{"leave for commands", "tools = ['execute']", []string{"ask=execute:make"}, `ok text="make: allow."`},
		{"leave for what it has told of", "modifies = true", []string{"told=edit:Write b:b"}, `ok text="Write b: allow."`},
		{"leave for what it has told of elsewhere", "modifies = true", []string{"told=edit:Write b:../b"}, "final denied: a: it was denied the tool Write b; allow it with tools or modifies, or ask for what needs no tool"},
		{"its files", "modifies = true\nfiles = true", []string{"read=b", "write=deep/c:new", "read=../x", "terminal="}, "ok text=\"two\\n. written. refused. refused.\""},
		{"one file many times", "modifies = true\nfiles = true", []string{"writes=d"}, `ok text="30."`},
		{"no files to write", "files = true", []string{"write=c:new"}, "final denied: a: it was denied the tool write WORKSPACE/c; allow it with tools or modifies, or ask for what needs no tool"},
		{"the store's files", "modifies = true\nfiles = true", []string{"write=.starling/x:new"}, `ok text="refused."`},
	} {
		t.Run(c.name, func(t *testing.T) {
			s := acpStage(t, c.keys, c.does...)
			s.write("b", "one\ntwo\nthree\n")
			s.write(".starling/store", "")
			r, fault := s.request(`agent("a", "Look.")`)
			if fault != nil {
				t.Fatal(fault)
			}
			a := s.attempt(r)
			a.Store = filepath.Join(s.settings.Workspace, ".starling")
			got := strings.ReplaceAll(show(s.env.Handlers["agent"].Perform(t.Context(), a)), s.settings.Workspace, "WORKSPACE")
			if got != c.want {
				t.Errorf("got  %s\nwant %s", got, c.want)
			}
		})
	}
}

// What its definition says of a session is chosen before the first turn, in the way that the agent
// offers; files are offered only where the definition says so.
func TestACPChoices(t *testing.T) {
	for _, c := range []struct {
		name, keys string
		does       []string
		want       string
	}{
		{"nothing", "", nil, "offered read=false write=false"},
		{"files", "files = true\nmodifies = true", nil, "offered read=true write=true"},
		{"files to read", "files = true", nil, "offered read=true write=false"},
		{"a login", "login = 'api-key'", []string{"login"},
			"offered read=false write=false\n" + `login {"methodId":"api-key"}`},
		{"lists", "mode = 'auto'\nmodel = 'large'", []string{"modes", "models"},
			"offered read=false write=false\n" +
				`session/set_model {"modelId":"large","sessionId":"new1"}` + "\n" +
				`session/set_mode {"modeId":"auto","sessionId":"new1"}`},
		{"options", "mode = 'auto'\nmodel = 'large'", []string{"modes", "models", "options"},
			"offered read=false write=false\n" +
				`session/set_config_option {"configId":"m2","sessionId":"new1","value":"large"}` + "\n" +
				`session/set_config_option {"configId":"m1","sessionId":"new1","value":"auto"}`},
	} {
		t.Run(c.name, func(t *testing.T) {
			log := filepath.Join(t.TempDir(), "log")
			s := acpStage(t, c.keys, append(c.does, "greeted", "says=Done.", "log="+log)...)
			if r := s.ask(t.Context(), `agent("a", "Go.")`); show(r) != `ok text="Done."` {
				t.Fatal(show(r))
			}
			text, err := os.ReadFile(log)
			if err != nil {
				t.Fatal(err)
			}
			if got, _, _ := strings.Cut(string(text), "\nnew1 "); got != c.want {
				t.Errorf("got\n%s\nwant\n%s", got, c.want)
			}
		})
	}
}

// One that is to change files and begins in a mode in which it cannot is told of in the journal.
func TestACPReadsOnly(t *testing.T) {
	const warning = `warning {"text": "it works in its mode read-only, in which its commands can change no files; mode names another: it has read-only, auto"}`
	for _, c := range []struct {
		name, keys string
		does       []string
		warned     bool
	}{
		{"reads only", "modifies = true", []string{"modes=read-only"}, true},
		{"by options", "modifies = true", []string{"modes=read-only", "options"}, true},
		{"is to read only", "", []string{"modes=read-only"}, false},
		{"another was named", "modifies = true\nmode = 'auto'", []string{"modes=read-only"}, false},
		{"asks", "modifies = true", []string{"modes"}, false},
	} {
		t.Run(c.name, func(t *testing.T) {
			s := acpStage(t, c.keys, append(c.does, "says=Done.")...)
			if r := s.ask(t.Context(), `agent("a", "Go.")`); show(r) != `ok text="Done."` {
				t.Fatal(show(r))
			}
			if slices.Contains(s.events, warning) != c.warned {
				t.Errorf("got\n%s\nwant a warning: %v", strings.Join(s.events, "\n"), c.warned)
			}
		})
	}
}

// What an agent tells of its work is journaled as the other agents' is, and in the order in which
// it has told and asked.
func TestACPEvents(t *testing.T) {
	s := acpStage(t, "tools = ['execute']", "thinks=Hm.", "plan=look", "says=I look.", "tool=read:Read a", "link=https://example.org/", "ask=execute:make", "cost=0.5")
	if r := s.ask(t.Context(), `agent("a")`); r.Err != nil || r.Session != "new1" {
		t.Errorf("got %s, session %q", show(r), r.Session)
	}
	want := strings.Join([]string{`session {"id": "new1"}`, `thinking {"text": "Hm."}`, `plan {"items": [{"text": "look", "completed": True}]}`, `delta {"text": "I look."}`,
		`tool {"name": "Read a", "id": "t1", "kind": "read", "input": {"of": "Read a"}}`, `tool_result {"id": "t1", "name": "read", "ok": True}`, `link {"url": "https://example.org/", "text": "a link"}`,
		`permission {"tool": "make", "name": "execute", "kind": "execute", "id": "t2", "allowed": True, "by": "policy"}`, `delta {"text": "make: allow. "}`, `usage {"usd": 0.5, "claimed": True}`, `context {"used": 100, "size": 1000}`}, "\n")
	if got := strings.Join(s.events, "\n"); got != want {
		t.Errorf("got\n%s\nwant\n%s", got, want)
	}
}

// A path is what it leads to: a link out of the workspace is no way out, whatever it is called and
// whenever it was made.
func TestACPJudgesWherePathsLead(t *testing.T) {
	if testing.Short() {
		t.Skip("one goroutine, for long: the gate plays it without the race detector")
	}
	for _, c := range []struct{ link, path, want string }{
		{"in:b", "in", "allow"}, {"in:deep", "in/new", "allow"}, {"in:nowhere", "in", "allow"}, {"x:b", "new/deep/c", "allow"}, {"in:deep", "in/../b", "allow"},
		{"out:../secret", "out", "reject"}, {"out:..", "out/secret", "reject"}, {"out:../nowhere", "out", "reject"}, {"out:/etc", "out/passwd", "reject"}, {"out:/etc/hosts", "out", "reject"},
		{"out:..", "out/new/file", "reject"}, {"out:../other", "out/../secret", "reject"}, {"out:..", "out/WORK/b", "reject"}, {"x:b", "new/../b", "reject"},
		{"out:.starling", "out/store", "reject"}, {"x:b", ".starling/store", "reject"}, {"out:.git", "out/config", "reject"}, {"x:b", ".", "reject"},
	} {
		t.Run(c.link+" "+c.path, func(t *testing.T) {
			s := acpStage(t, "modifies = true\npermissions = 'ask'", "ask=edit:before:b", "symlink="+c.link, "ask=edit:it:"+c.path, "symlink=x:nowhere", "ask=edit:after:b")
			for _, file := range []string{"b", "deep/c", ".starling/store", ".git/config"} {
				s.write(file, "")
			}
			r, fault := s.request(`agent("a")`)
			if fault != nil {
				t.Fatal(fault)
			}
			a := s.attempt(r)
			a.Store = filepath.Join(s.settings.Workspace, ".starling")
			a.Ask = func(context.Context, effect.Leave) (bool, error) { return false, nil }
			if got, want := show(s.env.Handlers["agent"].Perform(t.Context(), a)), fmt.Sprintf(`ok text="before: allow. it: %s. after: allow."`, c.want); got != want {
				t.Errorf("got %s, want %s", got, want)
			}
		})
	}
}

// A link that is swapped is judged as it is when somebody asks, and what is written through the
// client goes nowhere else.
func TestACPJudgesSwappedLinks(t *testing.T) {
	s := acpStage(t, "modifies = true\nfiles = true\npermissions = 'ask'", "symlink=l:deep", "ask=edit:one:l/c", "write=l/c:1", "symlink=l:../outside", "ask=edit:two:l/c", "write=l/c:2", "symlink=l:deep", "ask=edit:three:l/c")
	s.write("deep/c", "")
	outside := filepath.Join(filepath.Dir(s.settings.Workspace), "outside")
	if err := os.Mkdir(outside, 0o700); err != nil {
		t.Fatal(err)
	}
	r, fault := s.request(`agent("a")`)
	if fault != nil {
		t.Fatal(fault)
	}
	a := s.attempt(r)
	a.Ask = func(context.Context, effect.Leave) (bool, error) { return false, nil }
	if got := show(s.env.Handlers["agent"].Perform(t.Context(), a)); got != `ok text="one: allow. written. two: reject. refused. three: allow."` {
		t.Errorf("got %s", got)
	}
	if left, err := os.ReadDir(outside); err != nil || len(left) > 0 || s.read("deep/c") != "1" {
		t.Errorf("outside is %v (%v), and c is %q", left, err, s.read("deep/c"))
	}
}

// What an agent has its client write is what it says, byte for byte; what would put a key into a
// file where none was is not written.
func TestACPWritesNoKeys(t *testing.T) {
	const key = "sk-0123456789"
	t.Setenv("MODEL_KEY", key)
	s := acpStage(t, "modifies = true\nfiles = true", "write=new:a = KEY", "write=config:key = KEY, b = 2", "write=plain:[MODEL_KEY] sk-012345678", "read=config")
	s.vars["MODEL_KEY"] = key
	s.write("config", "a = 1\nkey = "+key+"\n")
	if got := show(s.ask(t.Context(), `agent("a")`)); got != `ok text="refused. written. written. ."` {
		t.Errorf("got %s", got)
	}
	if got := s.read("config") + "; " + s.read("plain"); got != "key = "+key+", b = 2; [MODEL_KEY] sk-012345678" {
		t.Errorf("got %s", got)
	}
	if _, err := os.Stat(filepath.Join(s.settings.Workspace, "new")); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("new: got %v", err)
	}
	if events := strings.Join(s.events, "\n"); strings.Contains(events, key) {
		t.Errorf("got %s", events)
	}
}

// An agent that asks without end, and reads no answer, neither fills the memory nor keeps anybody
// waiting when it has died.
func TestACPDeluge(t *testing.T) {
	s := acpStage(t, "files = true", "stall=stalled", "deluge=500", "die=")
	s.write("b", strings.Repeat("one\n", 1000))
	if got := show(s.ask(t.Context(), `agent("a")`)); got != "retryable agent: a: it was ended by SIGKILL" {
		t.Errorf("got %s", got)
	}
}

// codex-acp asks for leave to use a tool of a server in words of its own: the title names neither.
func TestACPAllowsToolsAsCodexAsks(t *testing.T) {
	ask := func(server, tool string) string {
		return fmt.Sprintf(`raw={"jsonrpc":"2.0","id":"q","method":"session/request_permission","params":{"sessionId":"x","toolCall":{"toolCallId":"c",`+
			`"title":"Approve MCP tool call","rawInput":{"server_name":%[1]q,"request":{"_meta":{"codex_approval_kind":"mcp_tool_call"},`+
			`"message":"Allow the %[1]s MCP server to run tool \"%[2]s\"?"}}},"options":[{"optionId":"yes","name":"y","kind":"allow_once"},{"optionId":"no","name":"n","kind":"reject_once"}]}}`,
			server, tool)
	}
	for _, c := range []struct{ server, tool, want string }{
		{"starling_vars", "get", "True"}, {"starling_vars", "set", "False"}, {"vars", "get", "False"},
	} {
		s := acpStage(t, "tools = ['vars.get']", "http", ask(c.server, c.tool), "says=done")
		s.ask(t.Context(), `agent("a")`) // it turns to no server, which is a failure
		if got := s.told("permission"); !strings.Contains(got, `"allowed": `+c.want) {
			t.Errorf("%s of %s: got %s", c.tool, c.server, strings.Join(s.events, "\n"))
		}
	}
}

// People are asked so many things at once and no more; the rest is denied, and those that wait are
// answered.
func TestACPAsksPeopleInMeasure(t *testing.T) {
	s := acpStage(t, "permissions = 'ask'", "asks=40")
	r, fault := s.request(`agent("a")`)
	if fault != nil {
		t.Fatal(fault)
	}
	a := s.attempt(r)
	var asked atomic.Int64
	var denied sync.WaitGroup
	denied.Add(24)
	a.Ask = func(context.Context, effect.Leave) (bool, error) {
		asked.Add(1)
		denied.Wait()
		return true, nil
	}
	a.Emit = func(kind string, data starlark.Value) {
		if kind == "permission" && strings.Contains(data.String(), `"policy"`) {
			denied.Done()
		}
	}
	if got := show(s.env.Handlers["agent"].Perform(t.Context(), a)); !strings.HasPrefix(got, "final denied: a: it was denied the tool ") || !strings.Contains(got, ", and 23 more") || asked.Load() != 16 {
		t.Errorf("got %s, and %d asked", got, asked.Load())
	}
}

// Questions come to people in the order in which the agent has asked; one that it does not want
// answered any more is withdrawn.
func TestACPAsksInOrder(t *testing.T) {
	ask := func(n int) string {
		return fmt.Sprintf(`raw={"jsonrpc":"2.0","id":"q%d","method":"session/request_permission","params":{"sessionId":"x","toolCall":{"toolCallId":"c%d","title":"%d","kind":"execute"},"options":[]}}`, n, n, n)
	}
	s := acpStage(t, "permissions = 'ask'", ask(1), ask(2), ask(3), ask(4), "wait=asked", `raw={"jsonrpc":"2.0","method":"$/cancel_request","params":{"requestId":"q1"}}`, ask(5), "hang=here")
	r, fault := s.request(`agent("a")`)
	if fault != nil {
		t.Fatal(fault)
	}
	ctx, cancel := context.WithCancel(t.Context())
	a := s.attempt(r)
	var asked []string
	a.Ask = func(asking context.Context, l effect.Leave) (bool, error) {
		title := effect.ViewOf(l.Data).Text("tool")
		switch asked = append(asked, title); title {
		case "1":
			s.write("asked", "")
			<-asking.Done()
			return false, asking.Err()
		case "5":
			cancel()
		}
		return true, nil
	}
	s.env.Handlers["agent"].Perform(ctx, a)
	if got := strings.Join(asked, " "); got != "1 2 3 4 5" {
		t.Errorf("asked %s", got)
	}
}

// People approve what they have seen: all of it is shown, and what is too long to be shown is
// denied.
func TestACPShowsPeopleAll(t *testing.T) {
	s := acpStage(t, "permissions = 'ask'", "long=execute:one:100000", "long=execute:two:100000", "long=execute:three:300000")
	r, fault := s.request(`agent("a")`)
	if fault != nil {
		t.Fatal(fault)
	}
	a := s.attempt(r)
	var shown []string
	a.Ask = func(_ context.Context, l effect.Leave) (bool, error) {
		input := string(effect.ViewOf(l.Data).Text("input"))
		shown = append(shown, fmt.Sprintf("%d ends with %s", len(input), input[len(input)-3:]))
		return true, nil
	}
	got := show(s.env.Handlers["agent"].Perform(t.Context(), a))
	if got != "final denied: a: it was denied the tool three; allow it with tools or modifies, or ask for what needs no tool" || strings.Join(shown, ", ") != "100003 ends with one, 100003 ends with two" {
		t.Errorf("got %s, shown %s", got, shown)
	}
}

// A key that an agent says in pieces is hidden as one that it says at once.
func TestACPHidesKeys(t *testing.T) {
	s := acpStage(t, "", "spells=")
	s.vars["MODEL_KEY"] = "sk-0123456789"
	page := strings.Repeat("x", 1024)
	if got := show(s.ask(t.Context(), `agent("a")`)); got != `ok text="`+page+`[MODEL_KEY]."` {
		t.Errorf("got %s", got)
	}
	want := `session {"id": "new1"}` + "\n" + `delta {"text": "` + page + `"}` + "\n" + `delta {"text": "[MODEL_KEY]."}`
	if got := strings.Join(s.events, "\n"); got != want {
		t.Errorf("got %s", got)
	}
}

// A reply that was not accepted is mended in the same conversation, where the agent keeps it; what
// it says of the past is not said again.
func TestACPGoesOn(t *testing.T) {
	for able, want := range map[string]string{"load": "load s7\ns7 \"Your previous reply", "resume": "resume s7\ns7 \"Your previous reply", "says=": `new1 "Look.`} {
		s := acpStage(t, "", able, "says=better", "log=prompts")
		r, fault := s.request(`agent("a", "Look.")`)
		if fault != nil {
			t.Fatal(fault)
		}
		a := s.attempt(r)
		a.Session, a.Feedback = "s7", someFeedback()
		if got := show(s.env.Handlers["agent"].Perform(t.Context(), a)); got != `ok text="better"` {
			t.Errorf("%s: got %s", able, got)
		}
		if got := s.read("prompts"); !strings.HasPrefix(got, want) {
			t.Errorf("%s: it was prompted %s, want %s", able, got, want)
		}
		if events := strings.Join(s.events, "\n"); strings.Contains(events, "said before") {
			t.Errorf("%s: got %s", able, events)
		}
	}
}

// An attempt that was cut is gone on with in its own conversation, where the agent keeps it.
func TestACPGoesOnAfterItWasCut(t *testing.T) {
	for able, want := range map[string]string{"load": "load s7\ns7 \"You were cut off", "says=": `new1 "This was begun before`} {
		s := acpStage(t, "", able, "says=better", "log=prompts")
		r, fault := s.request(`agent("a", "Look.")`)
		if fault != nil {
			t.Fatal(fault)
		}
		a := s.attempt(r)
		a.Session, a.Cut = "s7", true
		if got := show(s.env.Handlers["agent"].Perform(t.Context(), a)); got != `ok text="better"` {
			t.Errorf("%s: got %s", able, got)
		}
		if got := s.read("prompts"); !strings.HasPrefix(got, want) {
			t.Errorf("%s: it was prompted %s, want %s", able, got, want)
		}
	}
}

// A message ends the turn of an agent that is at work, and is what the next turn is about.
func TestACPIsSteered(t *testing.T) {
	s := acpStage(t, "", "says=one", "hang=here", "echo=", "log=prompts")
	r, fault := s.request(`agent("a", "Look.")`)
	if fault != nil {
		t.Fatal(fault)
	}
	if r.Steers[0] != effect.SteerLive {
		t.Errorf("steered %s", r.Steers[0])
	}
	told := make(chan effect.Steer)
	taken := false
	a := s.attempt(r)
	a.Told = told
	go func() {
		s.await("here")
		told <- effect.Steer{Message: "leave the tests alone", Taken: func() { taken = true }}
	}()
	got := s.env.Handlers["agent"].Perform(t.Context(), a)
	if !strings.HasPrefix(show(got), `ok text="one`+`While you work on this you are told: leave the tests alone`) || !taken {
		t.Errorf("got %s, taken %v", show(got), taken)
	}
}

// await waits for a file.
func (s *stage) await(name string) {
	for {
		if _, err := os.Stat(filepath.Join(s.settings.Workspace, name)); !errors.Is(err, os.ErrNotExist) {
			return
		}
		time.Sleep(time.Millisecond)
	}
}

// An agent that does not hear that it is cancelled is ended.
func TestDeafACP(t *testing.T) {
	s := acpStage(t, "", "deaf=here")
	ctx, cancel := context.WithCancel(t.Context())
	go func() {
		s.await("here")
		cancel()
	}()
	if got := show(s.ask(ctx, `agent("a")`)); got != "final cancelled: a: cancelled" {
		t.Errorf("got %s", got)
	}
}

// One that does not even read what it is sent is ended, too.
func TestStalledACP(t *testing.T) {
	s := acpStage(t, "", "stall=here")
	ctx, cancel := context.WithCancel(t.Context())
	go func() {
		s.await("here")
		cancel()
	}()
	if got := show(s.ask(ctx, `agent("a", "x" * 1000000)`)); got != "final cancelled: a: cancelled" {
		t.Errorf("got %s", got)
	}
}

// Whoever asks people knows why nobody waits for their answer any more: a question of a process
// that leaves stays.
func TestACPLeavesAQuestion(t *testing.T) {
	s := acpStage(t, "permissions = 'ask'", "ask=execute:make")
	r, fault := s.request(`agent("a")`)
	if fault != nil {
		t.Fatal(fault)
	}
	ctx, cancel := context.WithCancelCause(t.Context())
	leaving := errors.New("leaving")
	var why error
	a := s.attempt(r)
	a.Ask = func(asking context.Context, _ effect.Leave) (bool, error) {
		cancel(leaving)
		<-asking.Done()
		why = context.Cause(asking)
		return false, asking.Err()
	}
	if got := show(s.env.Handlers["agent"].Perform(ctx, a)); got != "final cancelled: a: cancelled" || why != leaving {
		t.Errorf("got %s, and the question ended for %v", got, why)
	}
}

// Where people decide, they are asked once for each thing, and what they refuse is no failure of
// the reply.
func TestACPAsksPeople(t *testing.T) {
	s := acpStage(t, "permissions = 'ask'", "ask=execute:make", "ask=read:Read b:b", "ask=execute:rm x:x")
	r, fault := s.request(`agent("a")`)
	if fault != nil {
		t.Fatal(fault)
	}
	a := s.attempt(r)
	var asked []string
	a.Ask = func(_ context.Context, l effect.Leave) (bool, error) {
		asked = append(asked, l.Prompt+" "+strings.ReplaceAll(l.Data.String(), s.settings.Workspace, "WORKSPACE"))
		return len(asked) == 1, nil
	}
	if got := show(s.env.Handlers["agent"].Perform(t.Context(), a)); got != `ok text="make: allow. Read b: allow. rm x: reject."` {
		t.Errorf("got %s", got)
	}
	want := `a asks for leave: make {"tool": "make", "kind": "execute", "input": {"of": "make"}, "paths": []}
a asks for leave: rm x {"tool": "rm x", "kind": "execute", "input": {"of": "rm x"}, "paths": ["WORKSPACE/x"]}`
	if got := strings.Join(asked, "\n"); got != want {
		t.Errorf("got\n%s\nwant\n%s", got, want)
	}
}

// A question is the same when only ids in it are new.
func TestACPAsksTheSame(t *testing.T) {
	ask := func(id, input string) string {
		line := `raw={"jsonrpc":"2.0","id":"q` + id + `","method":"session/request_permission","params":{"sessionId":"new1","toolCall":{"toolCallId":"` + id +
			`","title":"make","kind":"execute","rawInput":` + input + `},"options":[{"optionId":"y","name":"y","kind":"allow_once"},{"optionId":"n","name":"n","kind":"reject_once"}]}}`
		s := acpStage(t, "permissions = 'ask'", line, "ask=execute:rest", "says=done")
		r, fault := s.request(`agent("a", "Look.")`)
		if fault != nil {
			t.Fatal(fault)
		}
		a := s.attempt(r)
		same := ""
		a.Ask = func(_ context.Context, l effect.Leave) (bool, error) {
			if strings.HasSuffix(l.Prompt, "make") {
				same = l.Same
			}
			return true, nil
		}
		s.env.Handlers["agent"].Perform(t.Context(), a)
		return same
	}
	first := ask("c1", `{"command":["make"],"call_id":"c1","turn_id":"3","started_at_ms":17,"id":"c1"}`)
	if second := ask("c2", `{"command":["make"],"call_id":"c2","turn_id":"4","started_at_ms":18,"id":"c2"}`); first == "" || first != second {
		t.Errorf("got %q and %q, want the same", first, second)
	}
	if other := ask("c3", `{"command":["make","install"],"call_id":"c3","id":"7"}`); other == first {
		t.Errorf("another command is told as %q too", other)
	}
}

// An agent that ends its turn because people have refused it something is not asked again.
func TestACPIsRefused(t *testing.T) {
	for name, c := range map[string]struct{ keys, want string }{
		"by people": {"permissions = 'ask'", "final denied: a: it ended its turn when people refused it the tool rm x"},
		"by policy": {"", "final denied: a: it was denied the tool rm x; allow it with tools or modifies, or ask for what needs no tool"},
	} {
		s := acpStage(t, c.keys, "ask=execute:rm x", "stop=cancelled")
		r, fault := s.request(`agent("a", "Look.")`)
		if fault != nil {
			t.Fatal(fault)
		}
		a := s.attempt(r)
		a.Ask = func(context.Context, effect.Leave) (bool, error) { return false, nil }
		if got := show(s.env.Handlers["agent"].Perform(t.Context(), a)); got != c.want {
			t.Errorf("%s\ngot  %s\nwant %s", name, got, c.want)
		}
	}
}

// Its tool servers are reached through the proxy, if it can use such.
func TestACPTools(t *testing.T) {
	t.Setenv("TOOL_SERVER", "1")
	for able, want := range map[string]string{"http": `ok text="mcp__starling_db__select: allow."`,
		"says=": "final refused: a: it cannot use tool servers over HTTP, and is given db; leave them out of its tools"} {
		s := acpStage(t, fmt.Sprintf("tools = ['db.select', 'execute']\n[tools.db]\ncommand = [%q, 'log', 'calls']\nenv = ['TOOL_SERVER']\n", os.Args[0]), able, "ask=other:mcp__starling_db__select", "log=prompts")
		s.vars["TOOL_SERVER"] = "1"
		if got := show(s.ask(t.Context(), `agent("a", "Look.")`)); got != want {
			t.Errorf("%s: got %s", able, got)
		}
		if able == "http" {
			has(t, s.read("prompts"), "server starling_db Authorization Bearer")
		}
	}
	aloof := acpStage(t, fmt.Sprintf("tools = ['db.select']\n[tools.db]\ncommand = [%q, 'log', 'calls']\nenv = ['TOOL_SERVER']\n", os.Args[0]), "http", "aloof", "says=done")
	aloof.vars["TOOL_SERVER"] = "1"
	if got, want := show(aloof.ask(t.Context(), `agent("a", "Look.")`)), "final agent: a: it has not turned to the tool servers that it was given: db; this version may take them in another way"; got != want {
		t.Errorf("got  %s\nwant %s", got, want)
	}
	if _, fault := acpStage(t, "tools = ['excute']").request(`agent("a")`); fault == nil || !strings.Contains(fault.Message, "kinds of its own tools are execute, fetch") {
		t.Errorf("got %v", fault)
	}
}
