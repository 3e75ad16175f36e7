package cli

import (
	"bufio"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"
	"github.com/spf13/cobra"
)

// atStoreOnly are the verbs that --server refuses.
var atStoreOnly = []string{"agents", "doctor", "export", "hook", "import", "prune", "repl", "replay", "resume", "review", "serve", "stop", "store", "token",
	"tools", "trust", "webhooks"}

// speaks are the verbs that print no document, with what they print or do instead.
var speaks = map[string]string{
	"completion": "a shell reads it", "hook session-start": "a coding agent reads it",
	"lsp": "an editor talks to it", "mcp": "a client talks to it",
	"repl": "a person talks to it", "review": "a person is asked; inbox --json has the questions, approve --json answers",
	"work": "it works until it is stopped; what it has done is in the journals of the runs",
}

// Each verb prints a document for machines, of which --jq takes a part, or says here why not.
func TestEachVerbHasADocument(t *testing.T) {
	seen := map[string]bool{}
	var visit func(cmd *cobra.Command)
	visit = func(cmd *cobra.Command) {
		for _, sub := range cmd.Commands() {
			visit(sub)
		}
		_, name, _ := strings.Cut(cmd.CommandPath(), " ")
		switch has := cmd.Flags().Lookup("json") != nil && cmd.Flags().Lookup("jq") != nil; {
		case cmd.HasSubCommands() || name == "help":
		case speaks[name] != "":
			seen[name] = true
			if has {
				t.Errorf("starling %s has a document: take it out of the list", name)
			}
		case !has:
			t.Errorf("starling %s has no --json", name)
		}
	}
	visit((&call{}).root())
	for name := range speaks {
		if !seen[name] {
			t.Errorf("%s is no verb", name)
		}
	}
}

// Each verb is either served by --server, or refused, or has no use for a store: whoever adds one
// decides.
func TestEachVerbIsServedOrRefused(t *testing.T) {
	var verbs []string
	for _, cmd := range (&call{}).root().Commands() {
		verbs = append(verbs, cmd.Name())
	}
	var decided []string
	for _, list := range [][]string{remoteVerbs(), local(), atStoreOnly} {
		decided = append(decided, list...)
	}
	slices.Sort(decided)
	slices.Sort(verbs)
	for _, v := range verbs {
		if !slices.Contains(decided, v) {
			t.Errorf("starling %s: is it served by --server?", v)
		}
	}
	for i, v := range decided {
		if !slices.Contains(verbs, v) && v != "help" || i > 0 && decided[i-1] == v {
			t.Errorf("%s is no verb, or decided twice", v)
		}
	}
}

// desk is a folder on another machine than the store, as far as --server can tell.
type desk struct {
	t   testing.TB
	dir string
	env []string
	at  []string // --server and its address
}

func (o *office) desk(address, token string, env ...string) *desk {
	return &desk{t: o.t, dir: o.t.TempDir(), env: append(append(slices.Clone(o.env), tokenVariable+"="+token, "STARLING_STORE="+filepath.Join(o.dir, "not here")), env...),
		at: []string{"--server", address}}
}

func (d *desk) write(name, text string) {
	if err := os.WriteFile(filepath.Join(d.dir, name), []byte(text), 0o600); err != nil {
		d.t.Fatal(err)
	}
}

func (d *desk) command(args ...string) *exec.Cmd {
	cmd := exec.CommandContext(d.t.Context(), "starling", append(slices.Clone(d.at), args...)...)
	cmd.Dir, cmd.Env = d.dir, d.env
	return cmd
}

// cli runs a command and gives all that it says.
func (d *desk) cli(code int, args ...string) string {
	d.t.Helper()
	cmd := d.command(args...)
	out, err := cmd.CombinedOutput()
	if got := cmd.ProcessState.ExitCode(); got != code {
		d.t.Fatalf("starling %v: exit code %d (%v), want %d\n%s", args, got, err, code, out)
	}
	return string(out)
}

func (d *desk) says(want string, code int, args ...string) string {
	d.t.Helper()
	said := d.cli(code, args...)
	if !regexp.MustCompile(want).MatchString(said) {
		d.t.Errorf("starling %v: said %q, want %s", args, said, want)
	}
	return said
}

// started is the run that a command has named.
func started(said string) string { return regexp.MustCompile(`\b[0-9a-z]{12}\b`).FindString(said) }

const askingScript = `def main(who = "nobody"):
    d = gate("ship", options = ["yes", "no"], data = {"who": who})
    return d.choice + " by " + d.by
`

// From another folder, over https: a script is run with inputs, found, answered, looked at from all
// sides, defined and run by its name; an agent does the same over MCP. The project and the
// variables are those of the server, whatever stands beside the script and whatever the token may.
func TestWorkingOnAServer(t *testing.T) {
	o := newOffice(t)
	o.write("starling.toml", "[sh]\nallow = [\"cat\"]\n[budgets.all]\nusd = 5\n")
	cert, key, _ := issue(t, t.TempDir(), 1, time.Now().Add(time.Hour), "localhost")
	address, left := o.serving("--http", "127.0.0.1:0", "--tls-cert", cert, "--tls-key", key)
	address = strings.Replace(address, "127.0.0.1", "localhost", 1)
	d := o.desk(address+"/", strings.TrimSpace(o.cli(0, "token", "add", "ann", "--can", "all")), "SSL_CERT_FILE="+cert)
	d.write("ask.star", askingScript)
	d.write("starling.toml", "[sh]\nallow = [\"touch\"]\n")
	d.write("touch.star", "def main():\n    return sh.run([\"touch\", \"evil\"]).code\n")

	said := d.says(`suspended \w+: waits for a decision`, 3, "run", "ask.star", "-i", "who=bob", "--label", "team=web")
	id := started(said)
	hint := regexp.MustCompile(`starling (--server \S+ signal \S+ --choice yes)`).FindStringSubmatch(said)
	if id == "" || hint == nil {
		t.Fatalf("run said %q", said)
	}
	d.says(id+`.*team=web`, 0, "ps")
	d.says(id+`.*ship`, 0, "inbox")
	d.says(`"who": ?"bob"`, 0, "inbox", "--json")
	d.says(`gate.opened`, 0, "logs", id)
	d.says(`ship`, 0, "graph", id)
	cmd := exec.CommandContext(t.Context(), "starling", strings.Fields(hint[1])...)
	cmd.Dir, cmd.Env = d.dir, d.env
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Errorf("the command that was printed, %s: %v\n%s", hint[1], err, out)
	}
	d.says(`yes by ann`, 0, "wait", id)
	d.says(`yes by ann`, 0, "show", id)
	d.says(`ship`, 0, "steps", id)
	d.says(`ann`, 0, "decisions")
	d.says(`(?m)^total`, 0, "cost", id)
	d.says(`(?m)^all +run +0.00 of 5.00`, 0, "cost", id) // of the server's project
	d.says(`touch.*not allowed; the project allows cat`, 1, "run", "touch.star")

	d.cli(0, "define", "ask", "ask.star")
	run := started(d.cli(0, "run", "ask", "--detach"))
	d.cli(0, "cancel", run)
	d.says(`cancelled by ann`, 0, "show", run)
	o.viaMCP(d)

	for _, verb := range []string{"serve", "repl", "token ls", "resume --all", "store info"} {
		d.says(`not served by --server`, 2, strings.Fields(verb)...)
	}
	if made, _ := filepath.Glob(filepath.Join(d.dir, ".*")); len(made) > 0 {
		t.Errorf("there is %q beside the script", made)
	}
	o.cli(0, "stop")
	if said := left(); strings.Contains(said, "error") {
		t.Errorf("the server said %q", said)
	}
	d.says(`cannot be reached`, 7, "ps")
}

// viaMCP has an agent at a desk start a run and find it.
func (o *office) viaMCP(d *desk) {
	o.t.Helper()
	session, err := connectMCP(o.t.Context(), d.command("mcp"))
	if err != nil {
		o.t.Fatal(err)
	}
	defer session.Close()
	for _, c := range []struct{ tool, want string }{{"run", `"labels":{"team":"web"}`}, {"inbox", `"ship"`}} {
		arguments := map[string]any{}
		if c.tool == "run" {
			arguments["source"], arguments["labels"] = askingScript, map[string]any{"team": "web"}
		}
		r, err := session.CallTool(o.t.Context(), &mcp.CallToolParams{Name: c.tool, Arguments: arguments})
		text, _ := json.Marshal(r)
		if err != nil || r.IsError || !strings.Contains(strings.ReplaceAll(string(text), `\`, ""), c.want) {
			o.t.Errorf("%s: %s %v", c.tool, text, err)
		}
	}
}

// Whoever watches goes on where it was when the server was killed and is there again.
func TestWatchingOverARestart(t *testing.T) {
	o := newOffice(t)
	address, _ := o.serving("--http", "127.0.0.1:0")
	d := o.desk(address, strings.TrimSpace(o.cli(0, "token", "add", "ann", "--can", "all")))
	d.write("ask.star", askingScript)
	id := started(d.cli(0, "run", "ask.star", "--detach"))
	logs := d.command("logs", "--follow", id)
	out, err := logs.StdoutPipe()
	if err == nil {
		err = logs.Start()
	}
	if err != nil {
		t.Fatal(err)
	}
	lines := bufio.NewScanner(out)
	var said []string
	until := func(kind string) {
		for lines.Scan() {
			if said = append(said, strings.Fields(lines.Text())[1]); said[len(said)-1] == kind {
				return
			}
		}
		t.Fatalf("logs said %q, and never %s", said, kind)
	}
	until("run.suspended")
	o.kill()
	_, port, _ := net.SplitHostPort(strings.TrimPrefix(address, "http://"))
	o.serving("--http", "127.0.0.1:"+port)
	d.cli(0, "signal", id+"/ship", "--choice", "yes")
	until("run.completed")
	if err := logs.Wait(); err != nil {
		t.Error(err)
	}
	if n := strings.Count(d.cli(0, "logs", id), "\n"); n != len(said) {
		t.Errorf("it saw %q, of %d records", said, n)
	}
}

// recorder is a server that answers as one of Starling does, as far as a test wants, and keeps what
// it was told.
type recorder struct {
	*httptest.Server
	mu     sync.Mutex
	heard  []string
	answer func(w http.ResponseWriter, r *http.Request)
}

func newRecorder(t *testing.T, answer func(w http.ResponseWriter, r *http.Request)) *recorder {
	c := &recorder{answer: answer}
	c.Server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		c.mu.Lock()
		c.heard = append(c.heard, fmt.Sprint(r.URL.Path, " ", r.Header, " ", string(body)))
		c.mu.Unlock()
		c.answer(w, r)
	}))
	t.Cleanup(c.Close)
	return c
}

func (c *recorder) told() string {
	c.mu.Lock()
	defer c.mu.Unlock()
	return strings.Join(c.heard, "\n")
}

func sayHello(protocol int) func(w http.ResponseWriter, r *http.Request) {
	return func(w http.ResponseWriter, r *http.Request) {
		if strings.HasSuffix(r.URL.Path, "/hello") {
			fmt.Fprintf(w, `{"protocol": %d, "state": "serving"}`, protocol)
			return
		}
		w.WriteHeader(http.StatusForbidden)
		fmt.Fprint(w, `{"error": {"kind": "denied", "message": "not today"}}`)
	}
}

// A run takes to a server its script and its inputs: neither the project beside the script nor its
// path, nor any variable of this machine.
func TestRunTakesOnlyItsScript(t *testing.T) {
	o := newOffice(t)
	there := newRecorder(t, sayHello(1))
	d := o.desk(there.URL, "starling_secret", "PRIVATE_KEY=hunter2")
	d.dir = filepath.Join(d.dir, "private-folder")
	if err := os.Mkdir(d.dir, 0o700); err != nil {
		t.Fatal(err)
	}
	d.write("starling.toml", "[agents.writer]\ncommand = [\"private-command\"]\nenv = [\"PRIVATE_KEY\"]\n")
	d.write("ask.star", askingScript)
	d.says("not today", 9, "run", "ask.star")
	told := there.told()
	if !strings.Contains(told, "/engine/start") {
		t.Fatalf("the server was told %q", told)
	}
	for _, private := range []string{"hunter2", "private-command", d.dir, "PRIVATE_KEY", filepath.Base(d.dir)} {
		if strings.Contains(told, private) {
			t.Errorf("the server was told %q: %s", private, told)
		}
	}
}

// A token goes to the server that was named and nowhere else, and over nothing that others read.
func TestServersThatAreRefused(t *testing.T) {
	o := newOffice(t)
	elsewhere := newRecorder(t, sayHello(1))
	moved := newRecorder(t, func(w http.ResponseWriter, r *http.Request) {
		http.Redirect(w, r, elsewhere.URL+r.URL.Path, http.StatusTemporaryRedirect)
	})
	later := newRecorder(t, sayHello(99))
	other := newRecorder(t, func(w http.ResponseWriter, _ *http.Request) { fmt.Fprint(w, "<html>a page</html>") })
	cert, key, _ := issue(t, t.TempDir(), 1, time.Now().Add(time.Hour), "localhost")
	address, _ := o.serving("--http", "127.0.0.1:0", "--tls-cert", cert, "--tls-key", key)
	local := strings.Replace(address, "127.0.0.1", "localhost", 1)
	secret := strings.TrimSpace(o.cli(0, "token", "add", "ann", "--can", "all"))
	silent, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	silent.Close()
	for _, c := range []struct {
		server, token string
		code          int
		want          string
	}{
		{"http://192.0.2.1:7443", secret, 9, `unencrypted.*--tls-cert`},
		{"http://starling.invalid", secret, 9, `unencrypted`},
		{"ftp://127.0.0.1", secret, 2, `want an address with https`},
		{"127.0.0.1:7443", secret, 2, `want an address with https`},
		{"https://ann:pass@127.0.0.1", secret, 2, `want an address with https`},
		{local, "", 9, `needs a token, in STARLING_TOKEN.*starling token add`},
		{local, "starling_forged", 9, `token`},
		{"http://" + silent.Addr().String(), secret, 7, `cannot be reached`},
		{moved.URL, secret, 7, `not the address of a Starling server`},
		{later.URL, secret, 7, `speaks protocol 99, this command protocol 1`},
		{other.URL, secret, 7, `not the address of a Starling server`},
		{local, secret, 7, `certificate.*SSL_CERT_FILE`},
	} {
		d := o.desk(c.server, c.token)
		if c.token == "starling_forged" {
			d.env = append(d.env, "SSL_CERT_FILE="+cert)
		}
		said := d.says(`(?s)`+c.want, c.code, "ps")
		if c.token != "" && strings.Contains(said, c.token) || strings.Contains(said, "pass@") {
			t.Errorf("%s: the secret is in %q", c.server, said)
		}
	}
	if told := elsewhere.told(); told != "" {
		t.Errorf("where the server pointed was told %q", told)
	}
	d := o.desk(local, secret)
	d.says(`exclude each other`, 2, "--store", ".starling", "ps")
}
