package agent_test

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"go.starlark.net/starlark"

	"starling/lang/effect"
)

// stub is a project whose agent a is a preset that a shell script plays. The script finds what it
// was given in the files args and stdin.
func stub(t *testing.T, preset, keys, script string) *stage {
	t.Helper()
	s := newStage(t, fmt.Sprintf("[agents.a]\npreset = %q\ncommand = ['./%s']\n%s", preset, preset, keys), "")
	const record = "#!/bin/sh\nfor a in \"$@\"; do printf '%s\\n' \"$a\"; done >args\ncat >stdin\n"
	if err := os.WriteFile(filepath.Join(s.settings.Workspace, preset), []byte(record+script), 0o700); err != nil {
		t.Fatal(err)
	}
	return s
}

// lines writes the lines of a stream as a shell script.
func lines(stream ...string) string { return "cat <<'END'\n" + strings.Join(stream, "\n") + "\nEND\n" }

const (
	claudeInit  = `{"type":"system","subtype":"init","session_id":"s1","model":"opus","tools":["Read"]}`
	claudeUsage = `"usage":{"input_tokens":3,"cache_read_input_tokens":10,"output_tokens":7}`
	codexBegin  = `{"type":"thread.started","thread_id":"t1"}` + "\n" + `{"type":"turn.started"}`
	codexEnd    = `{"type":"turn.completed","usage":{"input_tokens":9,"cached_input_tokens":4,"output_tokens":2}}`
	geminiInit  = `{"type":"init","timestamp":"2026-01-01T00:00:00Z","session_id":"g1","model":"pro"}`
	geminiEnd   = `{"type":"result","status":"success","stats":{"total_tokens":9,"input_tokens":5,"output_tokens":4,"cached":0,"input":5,"duration_ms":1,"tool_calls":0}}`
)

func claudeResult(fields string) string {
	return `{"type":"result","subtype":"success","is_error":false,"session_id":"s1","total_cost_usd":0.25,` + claudeUsage + "," + fields + "}"
}

// refusedKey is a try of claude with a key that is refused.
func refusedKey(try int) string {
	return fmt.Sprintf(`{"type":"system","subtype":"api_retry","attempt":%d,"max_retries":10,"error_status":401,"error":"authentication_failed"}`, try)
}

func codexSays(text string) string {
	return fmt.Sprintf(`{"type":"item.completed","item":{"id":"item_9","type":"agent_message","text":%q}}`, text)
}

func geminiSays(text string) string {
	return fmt.Sprintf(`{"type":"message","role":"assistant","content":%q,"delta":true}`, text)
}

// Whatever the exit code says: what was denied, limited or broken off has failed, and the class
// says whether another attempt may help.
func TestPresets(t *testing.T) {
	if testing.Short() {
		t.Skip("a table of programs, for long: the gate plays it without the race detector")
	}
	for _, c := range []struct{ name, preset, script, output, want string }{
		{"a text", "claude", lines(claudeInit, claudeResult(`"result":"All is well."`)), "",
			`ok text="All is well." usage={"input_tokens": 13, "output_tokens": 7, "cached_tokens": 10, "usd": 0.25, "model": "opus", "claimed": True}`},
		{"structured output", "claude", lines(claudeInit, claudeResult(`"result":"Done.","structured_output":{"n":1,"why":null}`)), "{n: int, why?: string}",
			`ok output={"n": 1} text="Done." usage={"input_tokens": 13, "output_tokens": 7, "cached_tokens": 10, "usd": 0.25, "model": "opus", "claimed": True}`},
		{"no structured output after all", "claude", lines(claudeInit, claudeResult("\"result\":\"Here: ```json\\n{\\\"n\\\": 2}\\n```\"")), "{n: int}",
			"ok output={\"n\": 2} text=\"Here: ```json\\n{\\\"n\\\": 2}\\n```\" " + `usage={"input_tokens": 13, "output_tokens": 7, "cached_tokens": 10, "usd": 0.25, "model": "opus", "claimed": True}`},
		{"a denial", "claude", lines(claudeInit, claudeResult(`"result":"I could not.","permission_denials":[{"tool_name":"Bash","tool_use_id":"x","tool_input":{"command":"rm x"}}]`)), "",
			`final denied: a: it was denied the tool Bash with {"command":"rm x"}; allow it with tools or modifies, or ask for what needs no tool`},
		{"a limit, exit code 0", "claude", lines(claudeInit, `{"type":"result","subtype":"success","is_error":true,"result":"API Error: 529 overloaded, retry in 7 s"}`), "",
			`retryable after 7s agent: a: API Error: 529 overloaded, retry in 7 s`},
		{"no key", "claude", lines(claudeInit, `{"type":"result","subtype":"success","is_error":true,"result":"Invalid API key · Please run /login"}`) + "exit 1", "",
			`final agent: a: Invalid API key · Please run /login`},
		{"too many turns", "claude", lines(claudeInit, `{"type":"result","subtype":"error_max_turns","is_error":false}`), "", `final agent: a: error_max_turns`},
		{"nothing said", "claude", lines(claudeInit, claudeResult(`"result":""`)), "", `retryable agent: a: it exited with 0 and an empty reply`},
		{"death in the middle", "claude", lines(claudeInit) + "kill -9 $$", "", `retryable agent: a: it was ended by SIGKILL`},
		{"the end in the middle", "claude", lines(claudeInit), "", `retryable agent: a: it ended without a result`},
		{"a failure before", "claude", "echo 'unknown option' >&2; exit 64", "", `final agent: a: it exited with 64 (usage); stderr ends with: unknown option`},
		{"garbage", "claude", lines("Loading…", "{", `{"type":"novelty","of":[1]}`, "[]", claudeResult(`"result":"ok"`)), "",
			`ok text="ok" usage={"input_tokens": 13, "output_tokens": 7, "cached_tokens": 10, "usd": 0.25, "claimed": True}`},

		{"a wrong key, which it would try ten times", "claude", lines(claudeInit, refusedKey(1), refusedKey(2)) + "sleep 600", "",
			`final agent: a: the model's API answers 401: authentication_failed`},
		{"a token that was renewed", "claude", lines(claudeInit, refusedKey(1), claudeResult(`"result":"ok"`)), "",
			`ok text="ok" usage={"input_tokens": 13, "output_tokens": 7, "cached_tokens": 10, "usd": 0.25, "model": "opus", "claimed": True}`},
		{"a try that failed", "claude", lines(`{"type":"system","subtype":"api_retry","attempt":1,"max_retries":10,"error_status":529,"error":"overloaded"}`, claudeResult(`"result":"ok"`)), "",
			`ok text="ok" usage={"input_tokens": 13, "output_tokens": 7, "cached_tokens": 10, "usd": 0.25, "claimed": True}`},

		{"a text", "codex", lines(codexBegin, codexSays("I look."), codexSays("All is well."), codexEnd), "",
			`ok text="All is well." usage={"input_tokens": 9, "output_tokens": 2, "cached_tokens": 4}`},
		{"structured output", "codex", lines(codexBegin, codexSays(`{"n":1,"why":null}`), codexEnd), "{n: int, why?: string}",
			`ok output={"n": 1} text="{\"n\":1,\"why\":null}" usage={"input_tokens": 9, "output_tokens": 2, "cached_tokens": 4}`},
		{"a denial", "codex", lines(codexBegin, `{"type":"item.completed","item":{"id":"i","type":"command_execution","command":"rm x","aggregated_output":"","exit_code":null,"status":"declined"}}`,
			codexSays("I could not."), codexEnd), "", `final denied: a: it was denied the tool rm x; allow it with tools or modifies, or ask for what needs no tool`},
		{"a failed command is work", "codex", lines(codexBegin, `{"type":"item.completed","item":{"id":"i","type":"command_execution","command":"make","status":"failed","exit_code":2}}`,
			codexSays("Mended."), codexEnd), "", `ok text="Mended." usage={"input_tokens": 9, "output_tokens": 2, "cached_tokens": 4}`},
		{"a passing trouble", "codex", lines(codexBegin, `{"type":"error","message":"Reconnecting... 1/5"}`, codexSays("ok"), codexEnd), "",
			`ok text="ok" usage={"input_tokens": 9, "output_tokens": 2, "cached_tokens": 4}`},
		{"a limit", "codex", lines(codexBegin, `{"type":"turn.failed","error":{"message":"You've hit your usage limit. Try again in 3 minutes."}}`) + "exit 1", "",
			`retryable after 3m0s agent: a: You've hit your usage limit. Try again in 3 minutes.`},
		{"a key that is refused twice", "codex", lines(codexBegin, `{"type":"error","message":"Reconnecting... 1/5 (unexpected status 401 Unauthorized: bad key)"}`,
			`{"type":"error","message":"Reconnecting... 2/5 (unexpected status 401 Unauthorized: bad key)"}`) + "sleep 60", "",
			`final agent: a: unexpected status 401 Unauthorized: bad key`},
		{"a key that is taken in the end", "codex", lines(codexBegin, `{"type":"error","message":"Reconnecting... 1/5 (unexpected status 401 Unauthorized: bad key)"}`,
			codexSays("ok"), codexEnd), "", `ok text="ok" usage={"input_tokens": 9, "output_tokens": 2, "cached_tokens": 4}`},
		{"no login", "codex", lines(codexBegin, `{"type":"error","message":"unexpected status 401 Unauthorized"}`) + "exit 1", "", `final agent: a: unexpected status 401 Unauthorized`},
		{"the end in the middle", "codex", lines(codexBegin, codexSays("I look.")), "", `retryable agent: a: it ended in the middle of its turn`},
		{"nothing said", "codex", lines(codexBegin, codexEnd), "", `retryable agent: a: it exited with 0 and an empty reply`},

		{"a text", "gemini", lines(geminiInit, geminiSays("I look."), `{"type":"tool_use","tool_name":"ls","tool_id":"x","parameters":{}}`,
			`{"type":"tool_result","tool_id":"x","status":"success","output":"a"}`, geminiSays("All is "), geminiSays("well."), geminiEnd), "",
			`ok text="All is well." usage={"input_tokens": 5, "output_tokens": 4, "model": "pro"}`},
		{"the model that served", "gemini", lines(geminiInit, geminiSays("ok"), `{"type":"result","status":"success","stats":{"input_tokens":5,"output_tokens":4,"models":{"flash":{"input_tokens":5}}}}`), "",
			`ok text="ok" usage={"input_tokens": 5, "output_tokens": 4, "model": "flash"}`},
		{"the models that served", "gemini", lines(geminiInit, geminiSays("ok"), `{"type":"result","status":"success","stats":{"input_tokens":5,"output_tokens":4,"models":{"flash":{},"lite":{}}}}`), "",
			`ok text="ok" usage={"input_tokens": 5, "output_tokens": 4, "model": "pro"}`},
		{"JSON in a fence", "gemini", lines(geminiInit, geminiSays("```json\n{\"n\": 1}\n```"), geminiEnd), "{n: int}",
			"ok output={\"n\": 1} text=\"```json\\n{\\\"n\\\": 1}\\n```\" " + `usage={"input_tokens": 5, "output_tokens": 4, "model": "pro"}`},
		{"a denial", "gemini", lines(geminiInit, `{"type":"tool_use","tool_name":"write_file","tool_id":"x","parameters":{}}`,
			`{"type":"tool_result","tool_id":"x","status":"error","error":{"type":"policy_violation","message":"Tool execution denied by policy."}}`, geminiSays("I could not."), geminiEnd), "",
			`final denied: a: it was denied the tool write_file; allow it with tools or modifies, or ask for what needs no tool`},
		{"a tool server's own refusal", "gemini", lines(geminiInit, `{"type":"tool_use","tool_name":"mcp_starling_files_look","tool_id":"x","parameters":{}}`,
			`{"type":"tool_result","tool_id":"x","status":"error","error":{"type":"mcp_tool_error","message":"MCP tool 'look' reported tool error: Access denied - path outside allowed directories"}}`, geminiSays("ok"), geminiEnd), "",
			`ok text="ok" usage={"input_tokens": 5, "output_tokens": 4, "model": "pro"}`},
		{"a question that nobody can be asked", "gemini", lines(geminiInit, `{"type":"tool_use","tool_name":"x","tool_id":"x","parameters":{}}`,
			`{"type":"tool_result","tool_id":"x","status":"error","error":{"type":"unhandled_exception","message":"Tool execution for \"x\" requires user confirmation, which is not supported in non-interactive mode."}}`, geminiSays("I could not."), geminiEnd), "",
			`final denied: a: it was denied the tool x; allow it with tools or modifies, or ask for what needs no tool`},
		{"a limit", "gemini", lines(geminiInit, `{"type":"result","status":"error","error":{"type":"FatalTurnLimitedError","message":"429 quota exceeded, please retry in 9.5s."}}`) + "exit 1", "",
			`retryable after 9.5s agent: a: 429 quota exceeded, please retry in 9.5s.`},
		{"no key", "codex", lines(codexBegin, `{"type":"error","message":"Missing environment variable: OPENAI_API_KEY."}`) + "exit 1", "", "final agent: a: Missing environment variable: OPENAI_API_KEY."},
		{"a tool that is not registered", "gemini", lines(geminiInit, `{"type":"tool_use","tool_name":"write_file","tool_id":"x","parameters":{}}`,
			`{"type":"tool_result","tool_id":"x","status":"error","error":{"type":"TOOL_NOT_REGISTERED","message":"Tool \"write_file\" not found. Did you mean one of: \"read_file\"?"}}`, geminiSays("I could not."), geminiEnd), "",
			`final denied: a: it was denied the tool write_file; allow it with tools or modifies, or ask for what needs no tool`},
		{"a file that is not there", "gemini", lines(geminiInit, `{"type":"tool_use","tool_name":"read_file","tool_id":"x","parameters":{}}`,
			`{"type":"tool_result","tool_id":"x","status":"error","error":{"message":"File not found."}}`, geminiSays("ok"), geminiEnd), "",
			`ok text="ok" usage={"input_tokens": 5, "output_tokens": 4, "model": "pro"}`},
		{"not trusted", "gemini", "printf '\\033[31mnot running in a trusted directory\\033[0m' >&2; exit 55", "", "final agent: a: it exited with 55 (folder not trusted); stderr ends with: not running in a trusted directory"},
		{"trusted", "gemini", `test "$GEMINI_CLI_TRUST_WORKSPACE" = true || exit 55; ` + lines(geminiInit, geminiSays("ok"), geminiEnd), "", `ok text="ok" usage={"input_tokens": 5, "output_tokens": 4, "model": "pro"}`},
		{"not logged in", "gemini", "exit 41", "", `final agent: a: it exited with 41 (not logged in)`},
		{"too many turns", "gemini", lines(geminiInit, geminiSays("I look.")) + "exit 53", "", `final agent: a: it exited with 53 (turn limit)`},
		{"the end in the middle", "gemini", lines(geminiInit, geminiSays("I lo")), "", `retryable agent: a: it ended without a result`},
	} {
		call := `agent("a", "Look.")`
		if c.output != "" {
			call = fmt.Sprintf(`agent("a", "Look.", output = contract(%q))`, c.output)
		}
		r := stub(t, c.preset, "", c.script).ask(t.Context(), call)
		got := show(r)
		if r.After > 0 {
			got = strings.Replace(got, "retryable", "retryable after "+r.After.String(), 1)
		}
		if got != c.want {
			t.Errorf("%s, %s\ngot  %s\nwant %s", c.preset, c.name, got, c.want)
		}
	}
}

// What each program is given, word by word: its makers and we agree on nothing else.
func TestInvocations(t *testing.T) {
	const strict = `{"type":"object","properties":{"n":{"type":"integer"}},"required":["n"],"additionalProperties":false}`
	const keys = "model = 'm'\nmodifies = true\ninstructions = 'Be brief.'\n"
	const first = "Be brief.\n\nLook.\n\nInput:\n```json\n{\"a\":[1]}\n```\n\nReply with one JSON value that meets this JSON Schema, and with nothing else:\n```json\n" +
		`{"$schema":"https://json-schema.org/draft/2020-12/schema","type":"object","properties":{"n":{"type":"integer"}},"required":["n"],"additionalProperties":false}` + "\n```"
	const again = "Your previous reply was not accepted. Reply again, whole. What was wrong with it:\n- n: got \"x\", want int\n- m: got nothing, want int; add it\n\n"
	for _, c := range []struct {
		preset, keys, session, args string
		resumed                     bool
	}{
		{"claude", keys + "tools = ['Read', 'Bash(git log:*)']\n", "", "-p --output-format stream-json --verbose --permission-mode acceptEdits --model m --allowedTools Read,Bash(git log:*) --json-schema " + strict, false},
		{"claude", "instructions = 'Be brief.'", "s1", "-p --output-format stream-json --verbose --permission-mode default --json-schema " + strict + " --resume s1", true},
		{"codex", keys, "", "exec --json --skip-git-repo-check --sandbox workspace-write --model m --output-schema FILE -", false},
		{"codex", "instructions = 'Be brief.'", "t1", "exec --json --skip-git-repo-check --sandbox read-only --output-schema FILE resume t1 -", true},
		{"gemini", keys + "tools = ['ls']\n", "", "--output-format stream-json --approval-mode auto_edit --model m --allowed-tools ls", false},
		{"gemini", "instructions = 'Be brief.'", "g1", "--output-format stream-json --approval-mode default --resume g1", true},
	} {
		s := stub(t, c.preset, c.keys, `for a in "$@"; do case "$a" in /*schema*) cp "$a" schema;; esac; done`)
		r, fault := s.request(`agent("a", "Look.", input = {"a": [1]}, output = contract("{n: int}"))`)
		if fault != nil {
			t.Fatal(fault)
		}
		a := s.attempt(r)
		if a.Session = c.session; c.resumed {
			a.Feedback = someFeedback()
		}
		s.env.Handlers["agent"].Perform(t.Context(), a)
		args := strings.Split(strings.TrimSpace(s.read("args")), "\n")
		for i, arg := range args {
			if strings.Contains(arg, "starling-schema-") {
				args[i] = "FILE"
				if got := s.read("schema"); got != strict {
					t.Errorf("%s: the schema is %s, want %s", c.preset, got, strict)
				}
				if _, err := os.Stat(arg); err == nil {
					t.Errorf("%s: the file of the schema is still there", c.preset)
				}
			}
		}
		if got := strings.Join(args, " "); got != c.args {
			t.Errorf("%s\ngot  %s\nwant %s", c.preset, got, c.args)
		}
		want := first
		if c.resumed {
			want = again + first[strings.Index(first, "Reply with"):]
		}
		if got := s.read("stdin"); got != want {
			t.Errorf("%s\ngot  %s\nwant %s", c.preset, got, want)
		}
	}
}

func TestPresetEvents(t *testing.T) {
	for _, c := range []struct {
		preset, script, session string
		events                  []string
	}{
		{"claude", lines(claudeInit, `{"type":"assistant","message":{"content":[{"type":"thinking","thinking":"hm"},{"type":"text","text":"I look."},{"type":"tool_use","id":"x","name":"Read","input":{"file_path":"a"}}]}}`,
			`{"type":"user","message":{"content":[{"type":"tool_result","tool_use_id":"x","content":"…","is_error":false}]}}`, claudeResult(`"result":"ok"`)), "s1", []string{
			`session {"id": "s1", "model": "opus"}`, `thinking {"text": "hm"}`, `message {"text": "I look."}`,
			`tool {"name": "Read", "id": "x", "input": {"file_path": "a"}}`, `tool_result {"id": "x", "name": "Read", "ok": True}`}},
		{"codex", lines(codexBegin, `{"type":"item.started","item":{"id":"i","type":"command_execution","command":"make","status":"in_progress"}}`,
			`{"type":"item.completed","item":{"id":"i","type":"command_execution","command":"make","status":"completed","exit_code":0}}`,
			`{"type":"item.updated","item":{"id":"p","type":"todo_list","items":[{"text":"look","completed":true}]}}`, codexSays("ok"), codexEnd), "t1", []string{
			`session {"id": "t1"}`, `tool {"name": "command_execution", "id": "i", "text": "make"}`, `tool_result {"id": "i", "name": "command_execution", "ok": True}`,
			`plan {"items": [{"text": "look", "completed": True}]}`, `message {"text": "ok"}`}},
		{"gemini", lines(geminiInit, `{"type":"tool_use","tool_name":"ls","tool_id":"x","parameters":{"path":"."}}`,
			`{"type":"tool_result","tool_id":"x","status":"error","error":{"type":"e","message":"no such folder"}}`, geminiSays("ok"), geminiEnd), "g1", []string{
			`session {"id": "g1", "model": "pro"}`, `tool {"name": "ls", "id": "x", "input": {"path": "."}}`, `tool_result {"id": "x", "name": "ls", "ok": False, "text": "no such folder"}`,
			`delta {"text": "ok"}`}},
	} {
		s := stub(t, c.preset, "", c.script)
		r := s.ask(t.Context(), `agent("a")`)
		if r.Err != nil || r.Session != c.session {
			t.Errorf("%s: got %s, session %q, want %q", c.preset, show(r), r.Session, c.session)
		}
		if got, want := strings.Join(s.events, "\n"), strings.Join(c.events, "\n"); got != want {
			t.Errorf("%s\ngot\n%s\nwant\n%s", c.preset, got, want)
		}
		has(t, string(r.Blobs["transcript.txt"]), c.session)
	}
}

func TestCodexHasNoToolList(t *testing.T) {
	const want = "final refused: a: codex cannot be held to a list of its own tools, such as Read; leave it out: its sandbox bounds it, and modifies says whether it may write. " +
		"Tool servers are held to theirs"
	if got := show(stub(t, "codex", "", "").ask(t.Context(), `agent(role("a", tools = ["Read"]))`)); got != want {
		t.Errorf("got %s", got)
	}
}

// A key that the agent was given is in nothing that is kept of it, whatever the agent does with it.
func TestKeysAreInNothingKept(t *testing.T) {
	const key = "sk-hunter2-hunter2"
	s := stub(t, "claude", "env = ['SOME_KEY']\n", `printf '{"type":"assistant","message":{"content":[{"type":"text","text":"%s"}]}}\n' "$SOME_KEY"
printf '{"type":"result","is_error":false,"result":"the key is %s and the token %s","structured_output":{"k":"%s"}}\n' "$SOME_KEY" "$STARLING_TOKEN" "$SOME_KEY"
echo "$SOME_KEY" >&2`)
	s.vars["SOME_KEY"], s.token = key, "token-of-the-attempt"
	r := s.ask(t.Context(), `agent("a", output = contract("{k: string}"))`)
	kept := show(r) + strings.Join(s.events, "") + string(r.Blobs["transcript.txt"])
	has(t, kept, "[SOME_KEY]", "[STARLING_TOKEN]")
	for _, secret := range []string{key, "token-of-the-attempt"} {
		if strings.Contains(kept, secret) {
			t.Errorf("%s was kept in %s", secret, kept)
		}
	}
}

// Nor is one that an encoder of JSON writes in other letters.
func TestKeysInOtherLettersAreInNothingKept(t *testing.T) {
	const key = "c2stMTIzNDU2Nzg5+/=="
	s := stub(t, "claude", "env = ['SOME_KEY']\n", lines(`{"type":"assistant","message":{"content":[{"type":"text","text":"c2stMTIzNDU2Nzg5\u002B/=="}]}}`,
		`{"type":"assistant","message":{"content":[{"type":"tool_use","id":"t","name":"Bash","input":{"command":"echo c2stMTIzNDU2Nzg5+/\u003d\u003d"}}]}}`,
		`{"type":"result","is_error":false,"result":"the key is c2stMTIzNDU2Nzg5+\/=="}`))
	s.vars["SOME_KEY"] = key
	r := s.ask(t.Context(), `agent("a")`)
	if kept := show(r) + strings.Join(s.events, "") + string(r.Blobs["transcript.txt"]); strings.Contains(kept, "c2stMTIzNDU2Nzg5") || strings.Count(kept, "[SOME_KEY]") != 6 {
		t.Errorf("got %s", kept)
	}
}

// A line that is an event is journaled when it is written: this program waits for the file that is
// made when the event has been heard.
func TestEventsAsTheyHappen(t *testing.T) {
	s := newStage(t, shell("a", `echo '{"event": {"kind": "plan", "text": "look"}}'
while ! test -e heard; do sleep 0.01; done
echo '{"event": {"kind": 3}}'; echo '{"event": {"kind": "note"}, "more": 1}'; echo '{"text": "done"}'`), "")
	r, fault := s.request(`agent("a")`)
	if fault != nil {
		t.Fatal(fault)
	}
	a := s.attempt(r)
	emit := a.Emit
	a.Emit = func(kind string, data starlark.Value) {
		emit(kind, data)
		if err := os.WriteFile(filepath.Join(s.settings.Workspace, "heard"), nil, 0o600); err != nil {
			t.Error(err)
		}
	}
	if got := show(s.env.Handlers["agent"].Perform(t.Context(), a)); got != `ok text="done"` {
		t.Errorf("got %s", got)
	}
	if got := strings.Join(s.events, "\n"); got != `plan {"kind": "plan", "text": "look"}` {
		t.Errorf("got %s", got)
	}
}

// An agent that tells without end is heard to a bound, and its reply counts.
func TestEventsAreBounded(t *testing.T) {
	s := newStage(t, shell("a", `yes '{"event": {"kind": "tick"}}' | head -n 20000; echo '{"text": "done"}'`), "")
	if got := show(s.ask(t.Context(), `agent("a")`)); got != `ok text="done"` {
		t.Errorf("got %s", got)
	}
	if n := len(s.events); n != 10_000 || !strings.HasPrefix(s.events[n-1], "unheard") {
		t.Errorf("got %d events, the last %s", n, s.events[n-1])
	}
}

// A backend that wants a long wait is as good as missing where another may serve.
func TestLongWaitGoesToTheNext(t *testing.T) {
	limited := lines(`{"type":"result","subtype":"success","is_error":true,"result":"Claude AI usage limit reached|4102444800"}`)
	for _, c := range []struct {
		call  string
		class effect.Failure
	}{{`agent("a")`, effect.Retryable}, {`agent("a", backend = ["a", "b"])`, effect.Missing}} {
		s := stub(t, "claude", "[agents.b]\ncommand = ['x']\n", limited)
		if r := s.ask(t.Context(), c.call); r.Class != c.class || r.After == 0 {
			t.Errorf("%s: got %s", c.call, show(r))
		}
	}
}

// An attempt that was cut is gone on with in its own conversation; where the program has lost that,
// a new one begins at once, and the journal and the agent are told.
func TestPresetsGoOnAfterTheyWereCut(t *testing.T) {
	const kept, gone = "You were cut off while you worked on this", "This was begun before, and cut off"
	for _, c := range []struct{ preset, resumes, lost, said string }{
		{"claude", "--resume\ns7\n", `echo '{"type":"result","subtype":"error_during_execution","is_error":true,` +
			`"session_id":"s7","errors":["No conversation found with session ID: s7"]}'; exit 1`,
			lines(claudeInit, claudeResult(`"result":"Done."`))},
		{"codex", "resume\ns7\n", "echo 'Error: thread/resume: thread/resume failed: no rollout found for thread id s7 " +
			"(code -32600)' >&2; exit 1", lines(codexBegin, codexSays("Done."), codexEnd)},
		{"gemini", "--resume\ns7\n", "echo 'Error resuming session: Invalid session identifier \"s7\".' >&2; exit 42",
			lines(geminiInit, geminiSays("Done."), geminiEnd)},
		{"gemini", "--resume\ns7\n", "echo 'Error resuming session: No previous sessions found for this project.' >&2; exit 42",
			lines(geminiInit, geminiSays("Done."), geminiEnd)}, // it was cut before its first turn was kept
	} {
		for _, lost := range []bool{false, true} {
			t.Run(fmt.Sprintf("%s, lost %t", c.preset, lost), func(t *testing.T) {
				script := "cat stdin >>prompts; cat args >>asked\n"
				if lost {
					script += "if grep -q s7 args; then\n" + c.lost + "\nfi\n"
				}
				s := stub(t, c.preset, "", script+c.said)
				r, fault := s.request(`agent("a", "Look.")`)
				if fault != nil {
					t.Fatal(fault)
				}
				a := s.attempt(r)
				a.Session, a.Cut = "s7", true
				if got := show(s.env.Handlers["agent"].Perform(t.Context(), a)); !strings.HasPrefix(got, `ok text="Done."`) {
					t.Errorf("got %s", got)
				}
				asked, prompts, events := s.read("asked"), s.read("prompts"), strings.Join(s.events, "\n")
				if !strings.Contains(asked, c.resumes) || !strings.HasPrefix(prompts, kept) {
					t.Errorf("asked %s: %s", asked, prompts)
				}
				const warning = "the conversation s7 could not be resumed, and a new one begins"
				if strings.Count(asked, "s7") != 1 || strings.Contains(prompts, gone) != lost ||
					strings.Contains(prompts, "Look.") != lost || strings.Contains(events, warning) != lost {
					t.Errorf("asked %s: %s\n%s", asked, prompts, events)
				}
			})
		}
	}
}
