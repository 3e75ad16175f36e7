package cli

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"starling/cmd/starling/place"
	"starling/lang"
	"starling/runtime"
)

const outsiderProject = `[agents.writer]
command = ["./writer.sh"]
env = ["WRITER_KEY"]
[agents.helper]
backend = "inbox"
[sh]
allow = ["sh", "cat"]
env = ["SH_KEY"]
[tools.db]
command = ["toolserver"]
[secrets.api]
file = %q

# Each has all but what it is named for; inside has all there is.
[grants.no-agents]
by = ["outsider"]
hosts = ["127.0.0.1"]
files = ["read", "write"]
programs = ["sh", "cat"]
tools = ["db"]
[grants.no-hosts]
by = ["outsider"]
agents = ["writer", "helper"]
files = ["read", "write"]
programs = ["sh", "cat"]
tools = ["db"]
[grants.no-reading]
by = ["outsider"]
agents = ["writer", "helper"]
hosts = ["127.0.0.1"]
programs = ["sh", "cat"]
tools = ["db"]
[grants.no-writing]
by = ["outsider"]
agents = ["writer", "helper"]
hosts = ["127.0.0.1"]
files = ["read"]
programs = ["sh", "cat"]
tools = ["db"]
[grants.no-programs]
by = ["outsider"]
agents = ["writer", "helper"]
hosts = ["127.0.0.1"]
files = ["read", "write"]
tools = ["db"]
[grants.no-tools]
by = ["outsider"]
agents = ["writer", "helper"]
hosts = ["127.0.0.1"]
files = ["read", "write"]
programs = ["sh", "cat"]
[grants.others]
by = ["boss"]
files = ["write"]
[grants.inside]
by = ["outsider"]
agents = ["writer", "helper"]
hosts = ["127.0.0.1"]
files = ["read", "write"]
programs = ["sh", "cat"]
tools = ["db"]
`

// outsider is somebody with a token for define, run, read and signal, and one with a token that
// lacks read.
type outsider struct {
	*office
	address    string
	own, blind string // secrets of tokens
	victim     string // a run of the local user, which waits for boss and for helper's work
	session    *mcp.ClientSession
}

func newOutsider(t *testing.T) *outsider {
	o := &outsider{office: newOffice(t)}
	outside := t.TempDir()
	for path, text := range map[string]string{filepath.Join(outside, "api"): "sesame-of-the-api", filepath.Join(outside, "diary"): "sesame-of-the-diary", filepath.Join(o.dir, "writer.sh"): "#!/bin/sh\necho \"$WRITER_KEY\"\n"} {
		if err := os.WriteFile(path, []byte(text), 0o700); err != nil {
			t.Fatal(err)
		}
	}
	git := exec.Command("git", "init", "-q")
	git.Dir = o.dir
	if out, err := git.CombinedOutput(); err != nil {
		t.Fatalf("git: %v %s", err, out)
	}
	if err := os.Symlink(filepath.Join(outside, "diary"), filepath.Join(o.dir, "link")); err != nil {
		t.Fatal(err)
	}
	o.write("starling.toml", fmt.Sprintf(outsiderProject, filepath.Join(outside, "api")))
	o.write("victim.star", "def main():\n    parallel({\"a\": lambda: gate(\"ship\", options = [\"yes\"], target = \"boss\"), \"b\": lambda: agent(\"helper\")})\n")
	o.env = append(o.env, "SH_KEY=sesame-of-the-shell", "WRITER_KEY=sesame-of-the-writer", "OUTSIDE="+outside)
	o.address, _ = o.serving("--http", "127.0.0.1:0", "--mcp")
	o.own = strings.TrimSpace(o.cli(0, "token", "add", "outsider", "--can", "define,run,read,signal"))
	o.blind = strings.TrimSpace(o.cli(0, "token", "add", "blind", "--can", "define,run,signal"))
	var run struct{ ID string }
	if err := json.Unmarshal([]byte(o.cli(3, "run", "victim.star", "--json")), &run); err != nil {
		t.Fatal(err)
	}
	o.victim = run.ID
	client := mcp.NewClient(&mcp.Implementation{Name: "test", Version: "1"}, nil)
	session, err := client.Connect(t.Context(), &mcp.StreamableClientTransport{Endpoint: o.address + "/mcp", HTTPClient: &http.Client{Transport: bearing(o.own)}}, nil)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { session.Close() })
	o.session = session
	return o
}

// face is a way in: it tries something and gives all that comes back.
type face func(o *outsider, try, body string) string

// overHTTP makes a request: METHOD PATH and a body.
func overHTTP(o *outsider, try, body string) string { return o.request(o.own, try, body) }

func blindly(o *outsider, try, body string) string { return o.request(o.blind, try, body) }

func (o *outsider) request(token, try, body string) string {
	method, path, _ := strings.Cut(try, " ")
	q, err := http.NewRequest(method, o.address+path, strings.NewReader(body))
	if err != nil {
		return err.Error()
	}
	q.Header.Set("Starling-Protocol", "1") // only what is below /engine looks at it
	resp, err := (&http.Client{Transport: bearing(token)}).Do(q)
	if err != nil {
		return err.Error()
	}
	defer resp.Body.Close()
	text, _ := io.ReadAll(resp.Body)
	return fmt.Sprint(resp.StatusCode, " ", string(text))
}

// overEngine makes a request of the protocol between command lines and servers.
func overEngine(o *outsider, try, body string) string { return o.speak(o.own, try, body) }

func blindlyOverEngine(o *outsider, try, body string) string { return o.speak(o.blind, try, body) }

func nobodyOverEngine(o *outsider, try, body string) string { return o.speak("", try, body) }

func (o *outsider) speak(token, try, body string) string {
	return o.request(token, strings.Replace(try, " ", " /engine", 1), body)
}

// withSettings starts a script over the protocol under a project of its own, and tells what became
// of it.
func withSettings(o *outsider, token, source string) string {
	bundle, err := lang.Read("evil.star", func(string) ([]byte, error) { return []byte(source), nil }, nil)
	if err != nil {
		return err.Error()
	}
	r := runtime.StartRequest{Bundle: bundle.Encode(), Script: "evil.star", Env: map[string]string{"SH_KEY": "forged"}}
	r.Settings.Project, r.Settings.ProjectFile, r.Settings.Workspace = []byte("[sh]\nallow = [\"touch\"]\n"), filepath.Join(o.dir, "starling.toml"), o.dir
	body, err := json.Marshal(r)
	if err != nil {
		return err.Error()
	}
	said := o.speak(token, "POST /start", string(body))
	id := regexp.MustCompile(`"id":"(\w+)"`).FindStringSubmatch(said)
	if id == nil {
		return said
	}
	return o.request(o.own, "POST /v1/await", fmt.Sprintf(`{"run": %q}`, id[1]))
}

// ownProject is withSettings with the token of the outsider.
func ownProject(o *outsider, _, source string) string { return withSettings(o, o.own, source) }

// byServer runs a command with --server.
func byServer(o *outsider, try, _ string) string {
	cmd := exec.Command("starling", append([]string{"--server", o.address}, strings.Fields(try)...)...)
	cmd.Dir, cmd.Env = o.t.TempDir(), append(o.env, "STARLING_TOKEN="+o.own)
	out, err := cmd.CombinedOutput()
	return fmt.Sprint(err, " ", string(out))
}

// overMCP calls a tool, or reads a resource.
func overMCP(o *outsider, try, body string) string {
	if strings.HasPrefix(try, "starling://") {
		r, err := o.session.ReadResource(o.t.Context(), &mcp.ReadResourceParams{URI: try})
		return fmt.Sprint(r, err)
	}
	if try == "tools/list" {
		r, err := o.session.ListTools(o.t.Context(), nil)
		var names []string
		for _, t := range r.Tools {
			names = append(names, t.Name)
		}
		return fmt.Sprint(names, err)
	}
	r, err := o.session.CallTool(o.t.Context(), &mcp.CallToolParams{Name: try, Arguments: json.RawMessage(body)})
	if err != nil {
		return err.Error()
	}
	text, _ := json.Marshal(r)
	return string(text)
}

// overSocket runs a command with the token in STARLING_TOKEN.
func overSocket(o *outsider, try, _ string) string {
	cmd := exec.Command("starling", strings.Fields(try)...)
	cmd.Dir, cmd.Env = o.dir, append(o.env, "STARLING_TOKEN="+o.own)
	out, err := cmd.CombinedOutput()
	return fmt.Sprint(err, " ", string(out))
}

// byScript defines a script under a name and runs it: what its last line gives, or why it failed.
func byScript(o *outsider, name, body string) string {
	source, _ := json.Marshal("def main():\n    return str(" + body + ")\n")
	if said := o.request(o.own, "POST /v1/define", fmt.Sprintf(`{"name": %q, "source": %s}`, name, source)); !strings.HasPrefix(said, "200") {
		return said
	}
	said := o.request(o.own, "POST /v1/run", fmt.Sprintf(`{"script": %q}`, name))
	id := regexp.MustCompile(`"run":"(\w+)"`).FindStringSubmatch(said)
	if id == nil {
		return said
	}
	return o.request(o.own, "POST /v1/await", fmt.Sprintf(`{"run": %q}`, id[1]))
}

// What somebody with a token for define, run, read and signal tries, and what comes of it.
func outsiderTries(o *outsider, evil string) []struct {
	what string
	by   face
	try  string
	body string
	want string // in what comes back
} {
	run := `{"run": "` + o.victim + `"`
	outside := strings.TrimPrefix(o.env[len(o.env)-1], "OUTSIDE=")
	return []struct {
		what string
		by   face
		try  string
		body string
		want string
	}{
		{"a token of one's own", overHTTP, "POST /v1/token/add", `{"name": "evil", "can": ["all"]}`, `^404`},
		{"the routes of the socket", overHTTP, "POST /token/add", `{"name": "evil", "can": ["all"]}`, `^404`},
		{"the owner's end", overHTTP, "POST /stop", "", `^404`},
		{"the end of another's run", overHTTP, "POST /v1/cancel", run + `}`, `^403.*capability cancel`},
		{"the end of another's agent", overHTTP, "POST /v1/stop", run + `, "step": "parallel/b/helper"}`, `^403.*capability cancel`},
		{"a gate that is for boss", overHTTP, "POST /v1/signal", run + `, "gate": "parallel/a/ship", "choice": "yes"}`, `^403.*wrong_target`},
		{"the same as boss", overHTTP, "POST /v1/signal", run + `, "gate": "parallel/a/ship", "choice": "yes", "as": "boss"}`, `^403.*denied`},
		{"the same by force", overHTTP, "POST /v1/signal", run + `, "gate": "parallel/a/ship", "choice": "yes", "override": true}`, `^403`},
		{"the same under another spelling", overHTTP, "POST /v1/signal", run + `, "gate": "parallel/a//ship", "choice": "yes"}`, `^4`},
		{"work that is for helper", overHTTP, "POST /v1/claim", run + `}`, `^403.*wrong_target`},
		{"the same as helper", overHTTP, "POST /v1/claim", run + `, "as": "helper"}`, `^403.*denied`},
		{"the result of a claim that is nobody's", overHTTP, "POST /v1/submit", `{"claim": "` + o.victim + `@parallel/b/helper:1", "text": "done"}`, `^4`},
		{"a claim that is nobody's", overHTTP, "POST /v1/heartbeat", `{"claim": "` + o.victim + `@parallel/b/helper:1"}`, `^4`},
		{"a run again with another agent", overHTTP, "POST /v1/rerun", run + `, "from": "parallel/b/helper", "set": {"backend": "writer"}}`, `^403.*capability admin`},
		{"settings with a run", overHTTP, "POST /v1/run", `{"source": "def main():\n    pass\n", "settings": {"Project": "x"}}`, `^400.*settings`},
		{"a project with a run", overHTTP, "POST /v1/run", `{"source": "def main():\n    pass\n", "project": "x"}`, `^400.*project`},
		{"a script file of the server", overHTTP, "POST /v1/run", `{"script": "./victim.star"}`, `^400.*out of reach`},
		{"any file of the server", overHTTP, "POST /v1/run", `{"script": "../../../../etc/passwd"}`, `^400`},
		{"a file that a script loads", overHTTP, "POST /v1/run", `{"source": "load(\"/etc/passwd\", \"x\")\n"}`, `^4`},
		{"a file beside that a script loads", overHTTP, "POST /v1/run", `{"source": "load(\"victim.star\", \"main\")\n"}`, `^4`},
		{"a name that is for boss to define", overHTTP, "POST /v1/define", `{"name": "others", "source": "def main():\n    pass\n"}`, `^403.*grants something to that name`},
		{"an import", overHTTP, "POST /v1/import", `starling export`, `^404`},
		{"an import as the socket takes it", overHTTP, "POST /bring", `{"trust_project": true}`, `^404`},
		{"a definition in another folder", overHTTP, "POST /v1/define", `{"name": "../evil", "source": "def main():\n    pass\n"}`, `^4`},
		{"a definition with a slash", overHTTP, "POST /v1/define", `{"name": "a/b", "source": "def main():\n    pass\n"}`, `^400`},
		{"a definition that looks like another", overHTTP, "POST /v1/define", `{"name": "inѕide", "source": "def main():\n    pass\n"}`, `^400`},
		{"a definition that reads backwards", overHTTP, "POST /v1/define", `{"name": "a\u202eb", "source": "def main():\n    pass\n"}`, `^400`},
		{"a definition like a file", overHTTP, "POST /v1/define", `{"name": "victim.star", "source": "def main():\n    pass\n"}`, `^400`},
		{"a body without end", overHTTP, "POST /v1/define", `{"name": "` + strings.Repeat("a", 9<<20) + `"}`, `^413`},
		{"a body without bottom", overHTTP, "POST /v1/push", `{"queue": "q", "value": ` + strings.Repeat("[", 1<<20), `^400`},
		{"a file as content", overHTTP, "GET /v1/blob?hash=../../../../etc/passwd", "", `^404`},
		{"a path with dots", overHTTP, "GET /v1/../../../../etc/passwd", "", `^404`},
		{"a run with dots", overHTTP, "POST /v1/status", `{"run": "../../etc"}`, `^404`},
		{"a queue with dots", overHTTP, "POST /v1/push", `{"queue": "../j/x", "value": 1}`, `^400`},
		{"inputs that no parameter takes", overHTTP, "POST /v1/run", `{"source": "def main():\n    pass\n", "inputs": {"__class__": 1}}`, `^4`},

		{"the newest run, without read", blindly, "POST /v1/status", `{"run": "@last"}`, `^403.*capability read`},
		{"events, without read", blindly, "GET /v1/events?run=" + o.victim, "", `^403.*capability read`},
		{"content, without read", blindly, "GET /v1/blob?hash=" + strings.Repeat("0", 64), "", `^403.*capability read`},
		{"the inbox, without read", blindly, "POST /v1/inbox", `{}`, `^403.*capability read`},
		{"the runs, without read", blindly, "POST /v1/query", `{}`, `^403.*capability read`},
		{"a picture of a run, without read", blindly, "POST /v1/diagram", run + `}`, `^403.*capability read`},
		{"a definition of others, without read", blindly, "POST /v1/run", `{"script": "inside"}`, `^403.*capability read`},
		{"the names of gates, without read", blindly, "POST /v1/signal", run + `, "gate": "nosuch", "choice": "yes"}`, `^404.*has no gate \\"nosuch\\""\}\}`},

		{"anything, without a token", nobodyOverEngine, "GET /hello", "", `^401`},
		{"where the store lies", overEngine, "GET /hello", "", `^200 .*"pid":0,"store":"",`},
		{"a token of one's own", overEngine, "POST /token/add", `{"name": "evil", "can": ["all"]}`, `^400.*no such request`},
		{"the owner's end", overEngine, "POST /stop", "", `^400.*no such request`},
		{"the store's care", overEngine, "POST /care", `{"task": "backup", "path": "/tmp/evil"}`, `^400.*no such request`},
		{"runs of an export", overEngine, "POST /bring", `{"trust_project": true}`, `^400.*no such request`},
		{"an export", overEngine, "GET /export?run=" + o.victim, "", `^400.*no such request`},
		{"trust in a project", overEngine, "POST /trust", `{}`, `^400.*no such request`},
		{"another script for a run", overEngine, "POST /move", `{}`, `^400.*no such request`},
		{"a project for a run", overEngine, "POST /carry", run + `, "settings": {}}`, `^400.*no such request`},
		{"to keep the owner", overEngine, "GET /attach", "", `^400.*no such request`},
		{"a session", overEngine, "POST /start", `{"session": true}`, `^400.*machine of its store only`},
		{"a chunk of a session", overEngine, "POST /signal", run + `, "kind": "chunk"}`, `^400.*machine of its store only`},
		{"a gate that is for boss", overEngine, "POST /signal", run + `, "kind": "answer", "gate": "parallel/a/ship", "choice": "yes"}`, `^403.*wrong_target`},
		{"the same as boss", overEngine, "POST /signal", run + `, "kind": "answer", "gate": "parallel/a/ship", "choice": "yes", "as": "boss"}`, `^403.*denied`},
		{"the end of another's run", overEngine, "POST /cancel", run + `}`, `^403.*capability cancel`},
		{"a run again with another agent", overEngine, "POST /fork", run + `, "kind": "rerun", "step": "parallel/b/helper", "set": ["backend=writer"]}`, `^403.*capability admin`},
		{"a name that is for boss to define", overEngine, "POST /define", `{"name": "others", "bundle": ""}`, `^4`},
		{"a project with a run", ownProject, "", "def main():\n    return sh.run([\"touch\", \"evil\"]).code\n", `denied.*(not granted|not allowed)`},
		{"a run, without read", blindlyOverEngine, "GET /run?run=" + o.victim, "", `^403.*capability read`},
		{"the runs, without read", blindlyOverEngine, "POST /list", `{}`, `^403.*capability read`},
		{"events, without read", blindlyOverEngine, "POST /watch", run + `}`, `^403.*capability read`},
		{"content, without read", blindlyOverEngine, "GET /blob?hash=" + strings.Repeat("0", 64), "", `^403.*capability read`},
		{"steps, without read", blindlyOverEngine, "POST /steps", run + `}`, `^403.*capability read`},
		{"variables, without read", blindlyOverEngine, "POST /declared", `"` + o.victim + `"`, `^403.*capability read`},
		{"decisions, without read", blindlyOverEngine, "POST /decisions", `{}`, `^403.*capability read`},
		{"definitions, without read", blindlyOverEngine, "POST /defined", `""`, `^403.*capability read`},
		{"schedules, without read", blindlyOverEngine, "POST /scheduled", `{}`, `^403.*capability read`},
		{"a schedule under a key of schedules", overHTTP, "POST /v1/run", `{"source": "def main():\n    pass\n", "key": "\u0000schedule/s/1"}`, `^400.*does not begin with`},
		{"a schedule with a path for a name", overHTTP, "POST /v1/schedule", `{"name": "../t/x", "script": "inside", "cron": "@daily"}`, `^400`},
		{"a schedule of a file", overHTTP, "POST /v1/schedule", `{"name": "s", "script": "./victim.star", "cron": "@daily"}`, `^404`},
		{"a token of one's own", byServer, "token add evil", "", `^exit status 2.*not served by --server`},
		{"the end of another's run", byServer, "cancel " + o.victim, "", `^exit status 9`},
		{"a gate that is for boss", byServer, "approve " + o.victim + "/parallel/a/ship", "", `^exit status [49]`},

		{"the tools of others", overMCP, "tools/list", "", `^\[define run status signal inbox claim heartbeat submit steer await push schedule remember query diagram cost rerun( run_\S+)*\] <nil>$`},
		{"the end of another's run", overMCP, "cancel", run + `}`, `capability cancel`},
		{"a gate that is for boss", overMCP, "signal", run + `, "gate": "parallel/a/ship", "choice": "yes"}`, `wrong_target`},
		{"a token of one's own", overMCP, "token", `{"name": "evil"}`, `unknown tool|not found`},
		{"a resource with dots", overMCP, "starling://runs/../../etc/passwd", "", `(?i)not found|unknown`},

		{"a token of one's own", overSocket, "token add evil --can all", "", `^exit status 9.*capability admin`},
		{"the tokens", overSocket, "token ls", "", `^exit status 9`},
		{"the end of another's token", overSocket, "token rm blind", "", `^exit status 9`},
		{"the end of another's run", overSocket, "cancel " + o.victim, "", `^exit status 9`},
		{"a gate that is for boss", overSocket, "approve " + o.victim + "/parallel/a/ship --choice yes", "", `^exit status [2459]`},
		{"the same as boss", overSocket, "signal " + o.victim + "/parallel/a/ship --choice yes --as boss", "", `^exit status 9`},
		{"a project of one's own", overSocket, "resume " + o.victim + " --project evil.toml", "", `^exit status 9`},
		{"another script for a run", overSocket, "resume " + o.victim + " --script evil.star", "", `^exit status [29]`},
		{"runs of an export", overSocket, "import evil.export", "", `^exit status 9`},
		{"a copy of the store", overSocket, "store backup evil.backup", "", `^exit status 9`},
		{"the store's care", overSocket, "store gc", "", `^exit status 9`},
		{"the end of what has been", overSocket, "prune --older 1s", "", `^exit status 9`},

		{"an agent", byScript, "no-agents", `agent("writer")`, `denied.*not granted the agent`},
		{"a host", byScript, "no-hosts", `http.get("` + evil + `")`, `denied.*not granted the host`},
		{"a file to read", byScript, "no-reading", `fs.read("victim.star")`, `denied.*(not granted|not allowed)`},
		{"a file to write", byScript, "no-writing", `fs.write("evil", "x")`, `denied.*(not granted|not allowed)`},
		{"a program", byScript, "no-programs", `sh.run(["cat", "victim.star"])`, `denied.*not granted the program`},
		{"a tool server", byScript, "no-tools", `mcp.call("db", "select", {})`, `denied.*not granted the tool server`},
		{"anything without a name that is granted", byScript, "nameless", `fs.read("victim.star")`, `denied.*(not granted|not allowed)`},
		{"a secret of the project", byScript, "inside", `http.get("` + evil + `", headers = {"X": secrets.get("api")})`, `denied.*cannot use the secret`},
		{"a host that a granted one names", byScript, "inside", `http.get("` + evil + `/away")`, `denied.*not granted the host localhost`},
		{"the variables of a program", byScript, "inside", `sh.run(["sh", "-c", "echo $SH_KEY; echo $WRITER_KEY; env"]).text`, `\[SH_KEY\]`},
		{"the key of an agent", byScript, "inside", `agent("writer").text`, `\[WRITER_KEY\]`},
		{"another program", byScript, "inside", `sh.run(["starling", "token", "ls"])`, `denied.*not allowed`},
		{"a file outside", byScript, "inside", `fs.read("` + outside + `/diary")`, `leads out of the workspace`},
		{"a file above", byScript, "inside", `fs.read("../../../../../../` + outside + `/diary")`, `leads out of the workspace`},
		{"a file behind a link", byScript, "inside", `fs.read("link")`, `"kind":"(denied|refused|effect)"`},
		{"the same for a program", byScript, "inside", `sh.run(["cat", "link"]).stderr`, `denied|No such file`},
		{"the same for its key", byScript, "inside", `sh.run(["cat", "` + outside + `/api"]).stderr`, `denied|No such file`},
		{"the store", byScript, "inside", `fs.read(".starling/MANIFEST")`, `"kind":"(denied|refused|effect)"`},
		{"the same for a program", byScript, "inside", `sh.run(["sh", "-c", "ls .starling | wc -l"]).text`, `"output":"0\\n"`},
		{"a hook of git", byScript, "inside", `fs.write(".git/hooks/pre-commit", "#!/bin/sh\n")`, `"kind":"(denied|refused|effect)"`},
		{"a tool server of one's own", byScript, "inside", `mcp.tools(mcp.server("own", cmd = ["cat"]))`, `denied.*cannot declare`},
	}
}

// Somebody with every grant but the one that is needed gains nothing.
func TestOutsider(t *testing.T) {
	o := newOutsider(t)
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, q *http.Request) {
		if q.URL.Path == "/away" {
			http.Redirect(w, q, strings.Replace("http://"+q.Host+"/", "127.0.0.1", "localhost", 1), http.StatusFound)
		}
	}))
	t.Cleanup(server.Close)
	o.write("evil.toml", "[sh]\nallow = [\"touch\"]\n")
	o.write("evil.star", "def main():\n    pass\n")
	o.cli(0, "export", o.victim, "-o", "evil.export")
	before := o.cli(0, "show", o.victim, "--json")
	tokens := o.cli(0, "token", "ls")
	for _, c := range outsiderTries(o, server.URL) {
		said := c.by(o, c.try, c.body)
		if !regexp.MustCompile(`(?s)` + c.want).MatchString(said) {
			t.Errorf("%s: %s %.200s\ngot  %.600s\nwant %s", c.what, c.try, c.body, said, c.want)
		}
		if strings.Contains(said, "sesame") {
			t.Errorf("%s: %s: a secret: %.300s", c.what, c.try, said)
		}
	}
	if after := o.cli(0, "show", o.victim, "--json"); stateOf(after) != stateOf(before) {
		t.Errorf("the run was %s\nand is   %s", before, after)
	}
	if now := o.cli(0, "token", "ls"); now != tokens {
		t.Errorf("the tokens were\n%sand are\n%s", tokens, now)
	}
	for _, name := range []string{"evil", "evil.backup", ".git/hooks/pre-commit"} {
		if place.Exists(filepath.Join(o.dir, name)) {
			t.Errorf("%s was written", name)
		}
	}
}

// stateOf is what a run waits for.
func stateOf(document string) string {
	waits, _, _ := strings.Cut(document, `"steps":`)
	return waits
}
