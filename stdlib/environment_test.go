package stdlib_test

import (
	"fmt"
	"regexp"
	"slices"
	"strings"
	"testing"

	"go.starlark.net/starlark"
	"go.starlark.net/starlarkstruct"
	"go.starlark.net/syntax"

	"starling/lang/effect"
	"starling/stdlib"
)

// desk evaluates expressions with the builtins, on go.starlark.net's own interpreter: what a call
// computes or asks for is seen without a machine.
type desk struct {
	env   *effect.Environment
	asked []*effect.Request
}

func newDesk() *desk { return &desk{env: stdlib.Environment(stdlib.Options{})} }

// eval evaluates an expression. A call that would ask the world is noted and gives None.
func (d *desk) eval(expr string) (starlark.Value, error) {
	names := starlark.StringDict{"token": &effect.Secret{Name: "TOKEN"}}
	for name, v := range d.env.Names {
		names[name] = d.wrap(v)
	}
	return starlark.EvalOptions(&syntax.FileOptions{Set: true}, new(starlark.Thread), "test.star", expr, names)
}

func (d *desk) wrap(v starlark.Value) starlark.Value {
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
			d.asked = append(d.asked, r)
			return starlark.None, err
		})
	case *starlarkstruct.Module:
		members := starlark.StringDict{}
		for name, m := range v.Members {
			members[name] = d.wrap(m)
		}
		return &starlarkstruct.Module{Name: v.Name, Members: members}
	}
	return v
}

// describe is a request on one line: class, kind, name, arguments, and what the policy says.
func describe(r *effect.Request) string {
	args, err := r.Args.Value()
	if err != nil {
		return err.Error()
	}
	s := fmt.Sprintf("%s %s %s %s", r.Class, r.Kind, r.Name, args)
	p := r.Policy
	for _, part := range []struct {
		word  string
		value any
		zero  any
	}{
		{"timeout", p.Timeout.String(), "0s"}, {"retries", p.Retries, 0}, {"reasks", p.Reasks, 0}, {"on_error", int(p.OnError), 0},
		{"on_uncertain", int(p.OnUncertain), 0}, {"idempotent", p.Idempotent, false},
	} {
		if part.value != part.zero {
			s += fmt.Sprintf(" %s=%v", part.word, part.value)
		}
	}
	return s
}

// TestRequests shows what each call asks for. These shapes are read by the runtime: doc.go has them
// as a table.
func TestRequests(t *testing.T) {
	for _, c := range []struct{ call, want string }{
		{`agent("reviewer")`, `request agent reviewer {"who": "reviewer"}`},
		{`agent("reviewer", "look", input = (1, 2), context = {"a": b"x"}, output = contract("{ok: bool}"), timeout = "9m", retries = 0, reasks = 3,
			on_error = "return", on_uncertain = "ask", name = "first-look", backend = "fast", events = ["delta"])`,
			`request agent first-look {"who": "reviewer", "task": "look", "input": [1, 2], "context": {"a": b"x"}, "output": {ok: bool}, ` +
				`"backend": "fast", "timeout": "9m", "retries": 0, "reasks": 3} on_error=1 on_uncertain=1`},
		{`agent(role("judge", instructions = "Be fair.", retries = 4))`,
			`request agent judge {"who": role(name = "judge", instructions = "Be fair.", backend = None, tools = None, input = None, output = None, ` +
				`requires = None, timeout = None, retries = 4, modifies = None, owns = None, limit = None)}`},
		{`handoff("builder", {"n": 1}, sender = "judge", accepts = contract("{n: int}"), returns = contract("any"), context = {"k": 1}, cycle = 2)`,
			`request handoff builder {"to": "builder", "payload": {"n": 1}, "sender": "judge", "accepts": {n: int}, "returns": any, ` +
				`"context": {"k": 1}, "cycle": 2}`},
		{`handoff("builder", None)`, `request handoff builder {"to": "builder", "payload": None}`},

		{`gate("ship")`, `request gate ship {"name": "ship"}`},
		{`gate("ship", prompt = "Ship?", options = ["yes", "no"], target = "anna", data = {"v": 1}, timeout = "2h", fallback = "no")`,
			`request gate ship {"name": "ship", "prompt": "Ship?", "options": ["yes", "no"], "target": "anna", "data": {"v": 1}, "timeout": "2h", ` +
				`"fallback": "no"} timeout=2h0m0s`},
		{`gate("ship", options = {"yes": "do it", "no": "do not"}, quorum = 2, editable = True, wait = False, on_timeout = "return", timeout = "1d")`,
			`open gate ship {"name": "ship", "options": {"yes": "do it", "no": "do not"}, "timeout": "1d", "on_timeout": "return", "quorum": 2, ` +
				`"editable": True} timeout=24h0m0s`},
		{`gate("n", schema = contract("int(1..9)"), fallback = 3, escalate = [("lead", "1h"), ("boss", "1d")])`,
			`request gate n {"name": "n", "schema": int(1..9), "fallback": 3, "escalate": [["lead", "1h"], ["boss", "1d"]]}`},
		{`gate("ship", options = [])`, `request gate ship {"name": "ship", "options": []}`},

		{`run("sub/child.star", {"n": 1})`, `request run child {"script": "sub/child.star", "inputs": {"n": 1}}`},
		{`run("child.star", name = "c", timeout = "1h", on_error = "return")`,
			`request run c {"script": "child.star", "name": "c", "timeout": "1h"} timeout=1h0m0s on_error=1`},
		{`sleep("90s")`, `request sleep sleep {"duration": "90s"}`},
		{`sleep("0s", name = "nap")`, `request sleep nap {"duration": "0s"}`},
		{`mailbox.take("news", timeout = "5s")`, `request mailbox.take mailbox.take {"name": "news", "timeout": "5s"} timeout=5s`},
		{`queue.push("jobs", {"n": 1})`, `request queue queue.push {"do": "push", "queue": "jobs", "value": {"n": 1}}`},
		{`queue.take("jobs", wait = False, timeout = "5s", lease = "1m")`,
			`request queue queue.take {"do": "take", "queue": "jobs", "wait": False, "timeout": "5s", "lease": "1m"} timeout=5s`},
		{`queue.all("jobs")`, `request queue queue.all {"do": "all", "queue": "jobs"}`},
		{`schedule.set("n", "job", every = "1d", inputs = {"a": 1}, overlap = "queue")`,
			`request schedule schedule.set {"do": "set", "every": "24h0m0s", "schedule": "n", "script": "job", "inputs": {"a": 1}, "overlap": "queue"} idempotent=true`},
		{`memory.project.set("k", None)`, `request memory.project memory.project.set {"do": "set", "key": "k", "value": None}`},
		{`memory.project.all()`, `request memory.project memory.project.all {"do": "all"}`},
		{`now()`, `answer now now {}`},
		{`time.now()`, `answer now now {}`},
		{`uuid()`, `answer uuid uuid {}`},
		{`random()`, `answer random random {}`},

		{`print("a", 1, [None], b"x", sep = "-")`, `output print print {"text": "a-1-[None]-x"}`},
		{`print()`, `output print print {}`},
		{`emit("found.it", n = 1, what = "x")`, `output emit emit {"kind": "found.it", "fields": {"n": 1, "what": "x"}}`},
		{`log.info("done", by = "anna")`, `output log log {"level": "info", "message": "done", "fields": {"by": "anna"}}`},
		{`log.error("")`, `output log log {"level": "error", "message": ""}`},

		{`http.get("https://example.org/a?b=c")`,
			`request http http.get {"method": "GET", "url": "https://example.org/a?b=c", "idempotent": True} timeout=30s retries=1 idempotent=true`},
		{`http.post("http://h/", json = None)`, `request http http.post {"method": "POST", "url": "http://h/"} timeout=30s on_uncertain=1`},
		{`http.post("http://h/", json = {"a": [1]}, headers = {"Authorization": token}, idempotent = True, timeout = "3s")`,
			`request http http.post {"method": "POST", "url": "http://h/", "headers": {"Authorization": secret("TOKEN")}, "json": {"a": [1]}, ` +
				`"idempotent": True} timeout=3s retries=1 idempotent=true`},
		{`http.request("put", "http://h/", body = b"x", on_uncertain = "fail", retries = 2, name = "save")`,
			`request http save {"method": "PUT", "url": "http://h/", "body": b"x"} timeout=30s retries=2 on_uncertain=2`},
		{`http.get("http://h/", idempotent = False)`, `request http http.get {"method": "GET", "url": "http://h/"} timeout=30s on_uncertain=1`},
	} {
		d := newDesk()
		if _, err := d.eval(c.call); err != nil {
			t.Errorf("%s: %v", c.call, err)
			continue
		}
		if got := describe(d.asked[len(d.asked)-1]); got != c.want {
			t.Errorf("%s\ngot  %s\nwant %s", c.call, got, c.want)
		}
	}
}

func TestRefusedCalls(t *testing.T) {
	const name = `letters, digits, '.', '_' and '-', beginning with a letter or a digit`
	for _, c := range []struct{ call, want string }{
		{`agent()`, `agent: missing argument for who`},
		{`agent("")`, `agent: for parameter who: got an empty name`},
		{`agent("my agent")`, `agent: for parameter who: got the name "my agent", want ` + name},
		{`agent(proceed())`, `agent: for parameter who: got Verdict, want string or role`},
		{`agent("a", name = "!x")`, `agent: for parameter name: got the name "!x", want ` + name},
		{`agent("a", input = [len])`, `agent: for parameter input: [0]: a builtin_function_or_method cannot leave the script`},
		{`agent("a", input = {"tags": set([1])})`, `agent: for parameter input: tags: a set cannot leave the script; pass a list of its elements`},
		{`agent("a", input = "x" * (1 << 20))`, `agent: for parameter input: the value is larger than 1048576 bytes`},
		{`agent("a", input = "x" * 600000, context = "x" * 600000)`, `agent: the arguments are larger than 1048576 bytes together`},
		{`agent("a", timeout = "0s")`, `agent: for parameter timeout: got "0s", want a duration longer than 0`},
		{`agent("a", retries = -1)`, `agent: for parameter retries: got -1, want an int from 0 to 100`},
		{`agent("a", reasks = 101)`, `agent: for parameter reasks: got 101, want an int from 0 to 100`},
		{`agent("a", on_error = "raise")`, `agent: for parameter on_error: got "raise", want one of fail, return`},
		{`agent("a", on_uncertain = "retyr")`, `agent: for parameter on_uncertain: got "retyr", want one of retry, ask, fail (did you mean "retry"?)`},
		{`agent("a", output = "string")`, `agent: for parameter output: got string, want contract`},
		{`agent("a", events = [1])`, `agent: for parameter events: [0]: got int, want string`},
		{`agent("a", backend = "a b")`, `agent: for parameter backend: got the name "a b", want ` + name},
		{`agent("a", outptu = 1)`, `agent: unexpected keyword argument "outptu" (did you mean output?)`},
		{`handoff("a")`, `handoff: missing argument for payload`},
		{`handoff("a", 1, sender = "a/b")`, `handoff: for parameter sender: got the name "a/b", want ` + name},
		{`handoff("a", 1, cycle = -1)`, `handoff: for parameter cycle: got -1, want an int from 0 to 2147483647`},
		{`handoff("a", 1, context = [1])`, `handoff: for parameter context: got list, want dict`},

		{`pdf.make("x" * 262145)`, `pdf.make: for parameter body: got 262145 bytes, want 262144 at most: make several files`},
		{`artifact("a/b", "c")`, `artifact: for parameter file: got the name "a/b", want ` + name},
		{`context.pack([])`, `context.pack: for parameter paths: got none, want files, folders or patterns; "." is all there is`},
		{`context.pack(["../x"])`, `context.pack: for parameter paths: [0]: ../x: it leads out of the workspace`},
		{`context.pack(["a"], budget = 0)`, `context.pack: for parameter budget: got 0, want an int from 1 to 200000`},
		{`context.pack(["a"], queries = [" "])`, `context.pack: for parameter queries: [0]: got no word`},
		{`context.trim([])`, `context.trim: for parameter context: got list, want dict`},

		{`gate("")`, `gate: for parameter name: got an empty name`},
		{`gate("!x")`, `gate: for parameter name: got the name "!x", want ` + name},
		{`gate("g", options = ["yes", "yes"])`, `gate: for parameter options: "yes" is there twice`},
		{`gate("g", options = ["yes", 1])`, `gate: for parameter options: [1]: got int, want string`},
		{`gate("g", options = [""])`, `gate: for parameter options: got an empty name`},
		{`gate("g", options = {"yes": 1})`, `gate: for parameter options: "yes": got int, want its description`},
		{`gate("g", options = [str(i) for i in range(101)])`, `gate: for parameter options: got 101, want at most 100`},
		{`gate("g", options = "yes")`, `gate: for parameter options: got string, want list or tuple or dict`},
		{`gate("g", options = ["approve", "reject"], fallback = "aprove", timeout = "1h")`,
			`gate: for parameter fallback: got "aprove", want one of the options approve, reject; did you mean "approve"?`},
		{`gate("g", options = ["approve"], fallback = 1, timeout = "1h")`, `gate: for parameter fallback: got 1, want one of the options approve`},
		{`gate("g", schema = contract("{n: int}"), fallback = {"n": "x"}, timeout = "1h")`,
			`gate: for parameter fallback: it does not meet the schema: n: got "x", want int`},
		{`gate("g", options = ["a"], fallback = "a")`, `gate: for parameter fallback: it never applies without a deadline; add timeout = "2h"`},
		{`gate("g", on_timeout = "return")`, `gate: for parameter on_timeout: it never applies without a deadline; add timeout = "2h"`},
		{`gate("g", timeout = "soon")`, `gate: for parameter timeout: duration: got "soon", want a number with a unit (ns us ms s m h d), such as "90s", "2h" or "1d"`},
		{`gate("g", timeout = "0s")`, `gate: for parameter timeout: got "0s", want a duration longer than 0`},
		{`gate("g", quorum = 0)`, `gate: for parameter quorum: got 0, want an int from 1 to 100`},
		{`gate("g", target = "")`, `gate: for parameter target: got an empty name; leave it out to let anybody decide`},
		{`gate("g", escalate = [])`, `gate: for parameter escalate: got an empty list; leave it out`},
		{`gate("g", escalate = [("lead", 1)])`,
			`gate: for parameter escalate: [0]: got ("lead", 1), want a pair of target and duration, such as ("lead", "1h")`},
		{`gate("g", escalate = ["ab"])`, `gate: for parameter escalate: [0]: got "ab", want a pair of target and duration, such as ("lead", "1h")`},

		{`role("")`, `role: for parameter name: got an empty name`},
		{`role("r", tools = [1])`, `role: for parameter tools: [0]: got int, want string or ToolServer`},
		{`role("r", timeout = "0s")`, `role: for parameter timeout: got "0s", want a duration longer than 0`},
		{`role("r", retries = 101)`, `role: for parameter retries: got 101, want an int from 0 to 100`},
		{`role("r", limit = 0)`, `role: for parameter limit: got 0, want an int from 1 to 2147483647`},
		{`role("r", backend = "!")`, `role: for parameter backend: got the name "!", want ` + name},

		{`run("")`, `run: for parameter script: got an empty path`},
		{`run("my script.star")`, `run: for parameter script: the step cannot be called "my script"; pass name = "…"`},
		{`run("a.star", name = "b c")`, `run: for parameter name: got the name "b c", want ` + name},
		{`run("c.star", timeout = "0s")`, `run: for parameter timeout: got "0s", want a duration longer than 0`},
		{`sleep(5)`, `sleep: for parameter duration: got int, want duration`},
		{`mailbox.take("a b")`, `mailbox.take: for parameter name: got the name "a b", want ` + name},
		{`now(1)`, `now: got 1 arguments, want at most 0; the signature is now() -> timestamp`},

		{`fail("no", "items:", 3)`, `no items: 3`},
		{`fail("a", "b", sep = "")`, `ab`},
		{`fail(token)`, `fail: a secret cannot be shown`},
		{`print(token)`, `print: a secret cannot be shown`},
		{`emit("a b")`, `emit: for parameter kind: got the name "a b", want ` + name},
		{`emit("k", f = len)`, `emit: for parameter fields: f: a builtin_function_or_method cannot leave the script`},
		{`log.warn(1)`, `log.warn: for parameter message: got int, want string`},
		{`log.warn("x", message = "y")`, `log.warn: got multiple values for keyword argument "message"`},

		{`http.get("example.org")`, `http.get: for parameter url: got "example.org", want a URL that begins with http:// or https:// and a host`},
		{`http.get("ftp://h/")`, `http.get: for parameter url: got "ftp://h/", want a URL that begins with http:// or https:// and a host`},
		{`http.get("http:///x")`, `http.get: for parameter url: got "http:///x", want a URL that begins with http:// or https:// and a host`},
		{`http.get("http://u:p@h/")`, `http.get: for parameter url: it holds a user name or password, which would be recorded; send them as a header`},
		{`http.get("http://h/", json = 1)`, `http.get: unexpected keyword argument "json"`},
		{`http.get("http://h/", headers = {"a b": "c"})`, `http.get: for parameter headers: got the name "a b", want letters, digits and '-'`},
		{`http.get("http://h/", headers = {"a": "b\nc"})`, `http.get: for parameter headers: a: a value is one line`},
		{`http.get("http://h/", headers = {"a": 1})`, `http.get: for parameter headers: a: got int, want string or secret`},
		{`http.post("http://h/", json = 1, body = "x")`, `http.post: got both json and body, want one of them`},
		{`http.post("http://h/", json = {"a": token})`, `http.post: for parameter json: a: got secret, want plain data`},
		{`http.request("A B", "http://h/")`, `http.request: for parameter method: got "A B", want the name of a method, such as "PUT"`},

		{`fs.read("/etc/passwd")`, `fs.read: for parameter path: /etc/passwd: it leads out of the workspace: paths are relative to it`},
		{`fs.write("a/../../b", "")`, `fs.write: for parameter path: a/../../b: it leads out of the workspace`},
		{`fs.exists("")`, `fs.exists: for parameter path: got an empty path`},
		{`fs.write("a", 1)`, `fs.write: for parameter content: got int, want string or bytes`},
		{`fs.write("a", "x" * (1 << 20))`, `fs.write: for parameter content: the value is larger than 1048576 bytes`},
		{`fs.glob("[")`, `fs.glob: for parameter pattern: [: "[" is no pattern: *, ? and [a-z] stand for characters, ** for folders`},

		{`sh.run("ls")`, `sh.run: for parameter argv: got string, want list or tuple`},
		{`sh.run([])`, `sh.run: for parameter argv: got an empty list, want a program and its arguments`},
		{`sh.run(["ls", 1])`, `sh.run: for parameter argv: [1]: got int, want string`},
		{`sh.run(["ls", "a\x00b"])`, `sh.run: for parameter argv: [1]: an argument holds no NUL byte`},
		{`sh.run(["ls"], dir = "..")`, `sh.run: for parameter dir: ..: it leads out of the workspace`},
		{`sh.run(["ls"], env = {"A B": "c"})`, `sh.run: for parameter env: got the name "A B", want letters, digits and '_', not beginning with a digit`},
		{`sh.run(["ls"], env = {"A": 1})`, `sh.run: for parameter env: A: got int, want string`},
		{`sh.run(["ls"], env = {"STARLING_TOKEN": "x"})`, `sh.run: for parameter env: got the name "STARLING_TOKEN"; these are set for every command`},
		{`sh.run(["ls"], timeout = "0s")`, `sh.run: for parameter timeout: got "0s", want a duration longer than 0`},

		{`workspace.rollback("main")`, `workspace.rollback: for parameter checkpoint: got "main", want what workspace.checkpoint() gave`},
		{`workspace.commit("")`, `workspace.commit: for parameter message: got an empty message`},
		{`workspace.commit("m", paths = ["a", ".."])`, `workspace.commit: for parameter paths: [1]: ..: it leads out of the workspace`},

		{`stop()["x"]`, `unhandled index operation Verdict[string]`},
		{`steer()`, `steer: missing argument for message`},
		{`reply("x")`, `reply: got 1 arguments, want at most 0; the signature is reply(*, output = None, text = None, events = None, usage = None, ` +
			`delay = None, status = "ok", note = None, files = None) -> Reply`},
		{`reply(status = "bad")`, `reply: for parameter status: got "bad", want one of ok, stopped, blocked, error`},
		{`contract("{a: strin}")`, `contract:1:5: unknown type strin; did you mean "string"?`},
		{`json.decode("{")`, `json.decode: at offset 1, unexpected end of file`},
		{`json.encode(len)`, `json.encode: cannot encode builtin_function_or_method as JSON`},
		{`math.sqrt("2")`, `math.sqrt: for parameter x: got string, want number`},
		{`math.log(2, 1)`, `division by zero`},
		{`secrets.get("a b")`, `secrets.get: for parameter name: got the name "a b", want letters, digits, '.', '_' and '-', beginning with a letter or a digit`},
		{`token == token`, `secrets cannot be compared`},
		{`{token: 1}`, `unhashable type: secret`},
		{`token.wrap("Bearer")`, `secret.wrap: got "Bearer", want a text that contains {}`},
		{`re.search("(a", "x")`, "re.search: for parameter pattern: missing closing ): `(a`"},
		{`re.search("a(?=b)", "x")`, "re.search: for parameter pattern: invalid or unsupported Perl syntax: `(?=`: RE2 has no look-around; match more and take a group"},
		{`re.sub("(a)", r"\2", "a")`, `re.sub: for parameter repl: \2 is no group of the pattern, which has 1; write \1, \g<name>, or \\ for a backslash`},
		{`re.sub("a", r"\g<n", "a")`, `re.sub: for parameter repl: \n is no group of the pattern, which has 0; write \1, \g<name>, or \\ for a backslash`},
		{`re.sub("a", "b\\", "a")`, `re.sub: for parameter repl: \ is no group of the pattern, which has 0; write \1, \g<name>, or \\ for a backslash`},
		{`re.split("a", "b", -1)`, `re.split: for parameter maxsplit: got -1, want an int from 0 to 1073741824`},
		{`re.findall("a" * 1001, "b")`, `re.findall: for parameter pattern: got 1001 bytes, want at most 1000`},
		{`re.findall(1, "b")`, `re.findall: for parameter pattern: got int, want string`},
		{`digest.sha256(1)`, `digest.sha256: for parameter data: got int, want string or bytes`},
		{`text.wrap("a", 0)`, `text.wrap: for parameter width: got 0, want an int from 1 to 1048576`},
		{`text.truncate("abcdef", 2, "...")`, `text.truncate: for parameter length: got 2, want at least the 3 code points of end`},
		{`yaml.decode("a: 1\na: 2\n")`, `yaml.decode: line 2, column 1: the key "a" is there twice`},
		{`yaml.decode("a: &x 1\nb: *x\n")`, `yaml.decode: line 2, column 4: the alias *x cannot be read here; want plain data`},
		{`yaml.decode("a: !mine 1\n")`, `yaml.decode: line 1, column 4: the tag !mine cannot be read here; want plain data`},
		{`yaml.decode("<<: {a: 1}\n")`, `yaml.decode: line 1, column 1: the merge key << cannot be read here; want plain data`},
		{`yaml.decode("[a]: 1\n")`, `yaml.decode: line 1, column 1: a key that is no text or number cannot be read here; want plain data`},
		{`yaml.decode("a: 1\n---\nb: 2\n")`, `yaml.decode: line 2: a second document begins; want one`},
		{`yaml.decode("a:\n  - b\n c: [")`, `yaml.decode: line 3, column 2: did not find expected key`},
		{`yaml.encode(len)`, `yaml.encode: cannot encode builtin_function_or_method as YAML`},
		{`yaml.encode([token])`, `yaml.encode: cannot encode secret as YAML`},
		{`yaml.encode({(1, 2): 3})`, `yaml.encode: cannot encode a key that is a tuple as YAML`},
		{`time.parse("yesterday")`, `time.parse: for parameter timestamp: got "yesterday", want RFC 3339, such as "2026-01-31T09:30:00Z"`},
		{`time.format(1e300)`, `time.format: for parameter seconds: got 1e+300, want a time from the year 0 to 9999`},
		{`time.format(float("nan"))`, `time.format: for parameter seconds: got nan, want a time from the year 0 to 9999`},
	} {
		_, err := newDesk().eval(c.call)
		if err == nil || err.Error() != c.want {
			t.Errorf("%s\ngot  %v\nwant %s", c.call, err, c.want)
		}
	}
}

func TestPureBuiltins(t *testing.T) {
	for _, c := range []struct{ expr, want string }{
		{`contract("{n:int=3}").parse({})`, `{"n": 3}`},
		{`contract("int") == contract(" int ")`, `True`},
		{`re.match("b", "ab"), re.match("", ""), re.match(r"(?i)A(b)?", "ac")`, `(None, ("",), ("a", None))`},
		{`re.search(r"^b", "ab"), re.search(r"\bb", "a b")`, `(None, ("b",))`},
		{`re.findall(r"^a", "aa"), re.findall(r"(?m)^a", "a\na"), re.findall(r"\b\w", "ab cd")`, `(["a"], ["a", "a"], ["a", "c"])`},
		{`re.findall("(a)(b)?", "aab"), re.findall("x*", "axb"), re.findall("", "é")`, `([("a", ""), ("a", "b")], ["", "x", ""], ["", ""])`},
		{`re.split(",", ""), re.split("(,)", "a,b,c", 1), re.split("b", "abc")`, `([""], ["a", ",", "b,c"], ["a", "c"])`},
		{`re.sub("a", r"\\\0", "ban", 1), re.sub("(x)?a", r"[\1]", "a"), re.sub("^a", "", "aab")`, `("b\\an", "[]", "ab")`},
		{`digest.sha1(""), digest.sha256(b"a") == digest.sha256("a"), len(digest.sha512(""))`, `("da39a3ee5e6b4b0d3255bfef95601890afd80709", True, 128)`},
		{`text.dedent("\n    a\n\n   \n      b"), text.dedent(""), text.dedent("\ta\n b")`, `("a\n\n\n  b", "", "\ta\n b")`},
		{`text.indent(""), text.indent("a\n\nb\n", "- ")`, `("", "- a\n\n- b\n")`},
		{`text.wrap("  a  b", 80), text.wrap("aaaa bb\n\nc", 3), text.wrap("é é", 1)`, `("  a  b", "aaaa\nbb\n\nc", "é\né")`},
		{`text.truncate("abc", 3), text.truncate("ééé", 2), text.truncate("abc", 0, "")`, `("abc", "é…", "")`},
		{`text.slug("--"), text.slug("Straße 7")`, `("", "stra-e-7")`},
		{`text.diff("a", "a"), text.diff("", "x\n", "old", "new")`, `("", "--- old\n+++ new\n@@ -0,0 +1 @@\n+x\n")`},
		{`yaml.decode(""), yaml.decode("null"), yaml.decode("[]"), yaml.decode("-")`, `(None, None, [], [None])`},
		{`yaml.decode("a: 123456789012345678901234567890\nb: 0x1F\nc: 1.5e3\nd: 2026-01-31\ne: yes\nf: ~\ng: True")`,
			`{"a": 123456789012345678901234567890, "b": 31, "c": 1500.0, "d": "2026-01-31", "e": "yes", "f": None, "g": True}`},
		{`yaml.decode("1: a\ntrue: b"), yaml.decode("{", default = 7), yaml.decode("a", default = None)`, `({1: "a", True: "b"}, 7, "a")`},
		{`yaml.encode({"n": 10 << 70, "s": "1", "d": "2026-01-31", "l": [], "t": (1.0, True)})`,
			`"\"n\": 11805916207174113034240\ns: '1'\nd: '2026-01-31'\nl: []\nt:\n- 1.0\n- true\n"`},
		{`yaml.encode("a\nb\n"), yaml.encode(stop("x"))`, `("|\n  a\n  b\n", "action: stop\nmessage: x\n")`},
		{`json.encode({"b": [1, 2.0, None], "a": "é"})`, `"{\"a\":\"é\",\"b\":[1,2.0,null]}"`},
		{`json.encode(None)`, `"null"`},
		{`json.encode(stop("x"))`, `"{\"action\":\"stop\",\"message\":\"x\"}"`},
		{`json.decode("[1, 1.5, {}]")`, `[1, 1.5, {}]`},
		{`json.decode("nope", default = None)`, `None`},
		{`json.decode("nope", "x")`, `"x"`},
		{`json.indent("[1]", indent = " ")`, `"[\n 1\n]"`},
		{`json.encode_indent([1], prefix = ">", indent = " ")`, `"[\n> 1\n>]"`},
		{`[math.ceil(1.2), math.floor(-1.2), math.pow(2, 10), math.round(2.5), math.log(8, 2), math.pi > 3]`, `[2, -2, 1024.0, 3.0, 3.0, True]`},
		{`time.parse("1970-01-01T01:00:00.250+01:00")`, `0.25`},
		{`time.format(0.0)`, `"1970-01-01T00:00:00.000Z"`},
		{`time.format(time.parse("2026-01-31T09:30:00.123Z"))`, `"2026-01-31T09:30:00.123Z"`},
		{`time.duration("1m30s")`, `90.0`},
		{`proceed()`, `Verdict(action = "proceed", message = "")`},
		{`stop("enough")`, `Verdict(action = "stop", message = "enough")`},
		{`steer("left")`, `Verdict(action = "steer", message = "left")`},
		{`reply(output = [1], delay = "2s")`,
			`Reply(output = [1], text = None, events = None, usage = None, delay = "2s", status = None, note = None, files = None)`},
		{`role("r", tools = ["a"]).tools`, `("a",)`},
		{`role("r") == role("r")`, `True`},
		{`role("r", limit = 1) == role("r", limit = 2)`, `False`},
	} {
		v, err := newDesk().eval(c.expr)
		if err != nil {
			t.Errorf("%s: %v", c.expr, err)
		} else if v.String() != c.want {
			t.Errorf("%s: got %s, want %s", c.expr, v, c.want)
		}
	}
}

func TestFailIsAnErrorOfTheScript(t *testing.T) {
	b, _ := newDesk().env.Lookup("fail")
	_, err := b.(*effect.Builtin).CallInternal(nil, starlark.Tuple{starlark.String("100%")}, nil)
	e, ok := err.(*effect.Error)
	if !ok || e.Kind != effect.KindScript || e.Message != "100%" {
		t.Errorf("got %#v", err)
	}
}

// walk calls fn for every builtin under the name by which snapshots refer to it.
func walk(env *effect.Environment, fn func(name string, b *effect.Builtin)) {
	for name, v := range env.Names {
		switch v := v.(type) {
		case *effect.Builtin:
			fn(name, v)
		case *starlarkstruct.Module:
			for member, m := range v.Members {
				if b, ok := m.(*effect.Builtin); ok {
					fn(name+"."+member, b)
				}
			}
		}
	}
}

// Documentation is data: it is shown by the command line and by editors, so that nothing may lack
// it.
func TestEverythingIsDocumented(t *testing.T) {
	sentence := regexp.MustCompile(`^\S.*[.?]$`)
	walk(newDesk().env, func(name string, b *effect.Builtin) {
		if name != b.FullName && name != "time.now" {
			t.Errorf("%s calls itself %s", name, b.FullName)
		}
		if !sentence.MatchString(b.Doc) {
			t.Errorf("%s: its documentation is no sentence: %q", name, b.Doc)
		}
		for _, p := range b.Params {
			if !sentence.MatchString(p.Doc) {
				t.Errorf("%s: the documentation of %s is no sentence: %q", name, p.Name, p.Doc)
			}
		}
		if (b.Pure == nil) != (b.Class != effect.Pure) || (b.Request == nil) != (b.Class == effect.Pure) {
			t.Errorf("%s: its functions do not fit its class %s", name, b.Class)
		}
	})
}

func TestNamesFindTheirBuiltins(t *testing.T) {
	env := newDesk().env
	walk(env, func(name string, b *effect.Builtin) {
		if v, ok := env.Lookup(b.FullName); !ok || v != b {
			t.Errorf("%s: looked up as %v", name, v)
		}
	})
}

// The names that scripts see, so that adding one is a decision.
func TestPredeclared(t *testing.T) {
	var names []string
	for name := range newDesk().env.Names {
		names = append(names, name)
	}
	slices.Sort(names)
	const want = "agent artifact context contract digest emit fail fs gate handoff http journal json log mailbox math mcp measure memory now pdf print proceed project queue random re reply role run schedule secrets sh sleep steer stop text time uuid workspace yaml"
	if got := strings.Join(names, " "); got != want {
		t.Errorf("got  %s\nwant %s", got, want)
	}
}

func TestNativesStandBeside(t *testing.T) {
	native := starlark.NewBuiltin("parallel", nil)
	env := stdlib.Environment(stdlib.Options{Natives: starlark.StringDict{"parallel": native}})
	if v, ok := env.Lookup("parallel"); !ok || v != native {
		t.Errorf("got %v", v)
	}
	defer func() {
		if r := recover(); r != "stdlib: two builtins are called gate" {
			t.Errorf("got %v", r)
		}
	}()
	stdlib.Environment(stdlib.Options{Natives: starlark.StringDict{"gate": native}})
}
