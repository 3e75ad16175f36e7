package cli

import (
	"encoding/json"
	"io"
	"net/http"
	"os/exec"
	"strings"
	"testing"

	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// serving begins a server and gives its address, and all that it says on standard error once it has
// left.
func (o *office) serving(args ...string) (address string, left func() string) {
	o.t.Helper()
	cmd := exec.Command("starling", append([]string{"serve", "--json"}, args...)...)
	cmd.Dir, cmd.Env = o.dir, o.env
	var said strings.Builder
	cmd.Stderr = &said
	out, err := cmd.StdoutPipe()
	if err == nil {
		err = cmd.Start()
	}
	var doc servingDocument
	if err == nil {
		err = json.NewDecoder(out).Decode(&doc)
	}
	if err != nil {
		o.t.Fatalf("serve: %v\n%s", err, said.String())
	}
	return doc.HTTP, func() string {
		o.t.Helper()
		if err := cmd.Wait(); err != nil {
			o.t.Errorf("serve ended with %v\n%s", err, said.String())
		}
		return said.String()
	}
}

// bearing adds a token to each request.
type bearing string

func (b bearing) RoundTrip(r *http.Request) (*http.Response, error) {
	r = r.Clone(r.Context())
	r.Header.Set("Authorization", "Bearer "+string(b))
	return http.DefaultTransport.RoundTrip(r)
}

// The same owner answers commands, programs and agents: a run is started over HTTP, found over MCP,
// answered there, and seen by a command. The server leaves while somebody still listens, and no
// secret is anywhere.
func TestServeOverHTTP(t *testing.T) {
	o := newOffice(t)
	address, left := o.serving("--http", "127.0.0.1:0", "--mcp")
	worker := strings.TrimSpace(o.cli(0, "token", "add", "worker", "--can", "define,run,read"))
	judge := strings.TrimSpace(o.cli(0, "token", "add", "judge", "--can", "read,signal"))
	post := func(token, tool, body string) (int, map[string]any) {
		t.Helper()
		client := &http.Client{Transport: bearing(token)}
		resp, err := client.Post(address+"/v1/"+tool, "application/json", strings.NewReader(body))
		if err != nil {
			t.Fatal(err)
		}
		defer resp.Body.Close()
		var answer map[string]any
		if err := json.NewDecoder(resp.Body).Decode(&answer); err != nil {
			t.Fatal(err)
		}
		return resp.StatusCode, answer
	}
	if status, answer := post("", "inbox", "{}"); status != http.StatusUnauthorized {
		t.Errorf("nobody got %d %v", status, answer)
	}
	if status, answer := post(worker, "run", `{"script": "./review.star"}`); status != http.StatusBadRequest {
		t.Errorf("a file of the server's: %d %v", status, answer)
	}
	_, run := post(worker, "run", `{"source": "def main():\n    return gate(\"g\", options = [\"yes\", \"no\"], target = \"judge\").by\n"}`)
	id, _ := run["run"].(string)

	agent := mcp.NewClient(&mcp.Implementation{Name: "test", Version: "1"}, nil)
	session, err := agent.Connect(t.Context(), &mcp.StreamableClientTransport{Endpoint: address + "/mcp", HTTPClient: &http.Client{Transport: bearing(judge)}}, nil)
	if err != nil {
		t.Fatal(err)
	}
	defer session.Close()
	r, err := session.CallTool(t.Context(), &mcp.CallToolParams{Name: "signal", Arguments: map[string]any{"run": id, "gate": "g", "choice": "yes"}})
	if err != nil || r.IsError {
		t.Fatalf("signal: %v %v", r, err)
	}
	if status, done := post(worker, "await", `{"run": "`+id+`"}`); status != http.StatusOK || done["output"] != "judge" {
		t.Errorf("await: %d %v", status, done)
	}
	if out := o.cli(0, "show", id, "--json"); !strings.Contains(out, `"started_by":"worker"`) {
		t.Errorf("show: %s", out)
	}

	_, other := post(worker, "run", `{"source": "def main():\n    gate(\"g\")\n"}`)
	listening, err := (&http.Client{Transport: bearing(worker)}).Get(address + "/v1/events?run=" + other["run"].(string))
	if err != nil {
		t.Fatal(err)
	}
	defer listening.Body.Close()
	o.cli(0, "stop")
	if rest, _ := io.ReadAll(listening.Body); strings.Contains(string(rest), "event: end") {
		t.Errorf("the stream of a run that goes on says that it is over: %s", rest)
	}
	said := left()
	if strings.Contains(said, worker) || strings.Contains(said, judge) || !strings.Contains(said, "answering at "+address) {
		t.Errorf("the server said %s", said)
	}
	if out, err := exec.Command("grep", "-r", "-a", "-F", worker, o.dir).Output(); err == nil {
		t.Errorf("the secret is in the store: %s", out)
	}
}

func TestServeRefusesFlags(t *testing.T) {
	o := newOffice(t)
	o.cli(2, "serve", "--mcp")
	o.cli(2, "serve", "--host", "x")
	o.cli(2, "serve", "--http", "127.0.0.1:0", "--host", "https://x.example:443")
	if said := o.cli(2, "serve", "--json", "--http", "127.0.0.1:0", "--host", "x.example:443"); !strings.Contains(said, "want a name without scheme, port and path") {
		t.Errorf("a host with a port: %s", said)
	}
	o.cli(2, "serve", "--http", "nowhere")
	taken := strings.TrimPrefix(o.sink.server.URL, "http://")
	if said := o.cli(2, "serve", "--json", "--http", taken); !strings.Contains(said, "another process listens there") {
		t.Errorf("an address that is taken: %s", said)
	}
}
