package cli

import (
	"bufio"
	"context"
	"encoding/json"
	"flag"
	"io"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// The second client of the tests below is a process of its own that takes calls on its standard
// input, {"tool","arguments"} a line, and answers each with a line, the result. By default it is
// this test binary, with the Go SDK; testdata/mcp/client.mjs is the same with the JavaScript SDK:
//
//	npm install --prefix DIR @modelcontextprotocol/sdk && cp testdata/mcp/client.mjs DIR
//	go test ./cmd/starling/cli -run 'A01|A20' -mcp-client "node DIR/client.mjs"
var otherClient = flag.String("mcp-client", "", "the `COMMAND` of the second MCP client")

// clientVariable makes this test binary the second client.
const clientVariable = "STARLING_TEST_MCP_CLIENT"

// beClient is the second client: it starts `starling mcp` and passes calls on.
func beClient(in io.Reader, out io.Writer) error {
	session, err := connectMCP(context.Background(), exec.Command("starling", "mcp"))
	if err != nil {
		return err
	}
	defer session.Close()
	for lines := bufio.NewScanner(in); lines.Scan(); {
		var call struct {
			Tool      string
			Arguments map[string]any
		}
		if err := json.Unmarshal(lines.Bytes(), &call); err != nil {
			return err
		}
		r, err := session.CallTool(context.Background(), &mcp.CallToolParams{Name: call.Tool, Arguments: call.Arguments})
		if err != nil {
			return err
		}
		if err := json.NewEncoder(out).Encode(r); err != nil {
			return err
		}
	}
	return nil
}

func connectMCP(ctx context.Context, cmd *exec.Cmd) (*mcp.ClientSession, error) {
	c := mcp.NewClient(&mcp.Implementation{Name: "test", Version: "1"}, nil)
	return c.Connect(ctx, &mcp.CommandTransport{Command: cmd}, nil)
}

// toolCaller calls a tool and gives its answer, as data, and whether it is a refusal.
type toolCaller func(tool string, arguments map[string]any) (answer map[string]any, refused bool)

// goClient is a client in this process with a server in another, in somebody's name.
func (o *office) goClient(token string) toolCaller {
	call, _ := o.leavingClient(token)
	return call
}

// leavingClient is a goClient that can leave before the test ends.
func (o *office) leavingClient(token string) (call toolCaller, leave func()) {
	cmd := exec.Command("starling", "mcp")
	cmd.Dir, cmd.Env = o.dir, append(o.env, tokenVariable+"="+token)
	session, err := connectMCP(o.t.Context(), cmd)
	if err != nil {
		o.t.Fatal(err)
	}
	o.t.Cleanup(func() { session.Close() })
	return func(tool string, arguments map[string]any) (map[string]any, bool) {
		o.t.Helper()
		r, err := session.CallTool(o.t.Context(), &mcp.CallToolParams{Name: tool, Arguments: arguments})
		if err != nil {
			o.t.Fatalf("%s: %v", tool, err)
		}
		answer, _ := r.StructuredContent.(map[string]any)
		return answer, r.IsError
	}, func() { session.Close() }
}

// processClient is the second client.
func (o *office) processClient(token string) toolCaller {
	words := strings.Fields(*otherClient)
	if len(words) == 0 {
		self, err := os.Executable()
		if err != nil {
			o.t.Fatal(err)
		}
		words = []string{self}
	}
	cmd := exec.Command(words[0], words[1:]...)
	cmd.Dir, cmd.Env, cmd.Stderr = o.dir, append(o.env, tokenVariable+"="+token, clientVariable+"=1"), os.Stderr
	in, err1 := cmd.StdinPipe()
	out, err2 := cmd.StdoutPipe()
	if err := cmd.Start(); err1 != nil || err2 != nil || err != nil {
		o.t.Fatal(err1, err2, err)
	}
	o.t.Cleanup(func() {
		in.Close()
		cmd.Wait()
	})
	answers := json.NewDecoder(out)
	return func(tool string, arguments map[string]any) (map[string]any, bool) {
		o.t.Helper()
		if err := json.NewEncoder(in).Encode(map[string]any{"tool": tool, "arguments": arguments}); err != nil {
			o.t.Fatal(err)
		}
		var r struct {
			StructuredContent map[string]any
			IsError           bool
		}
		if err := answers.Decode(&r); err != nil {
			o.t.Fatalf("%s: %v", tool, err)
		}
		return r.StructuredContent, r.IsError
	}
}

// office is a store with the world around it, and people who work with it.
type office struct {
	t    testing.TB
	dir  string
	env  []string
	sink *sink
}

func newOffice(t testing.TB) *office {
	sockets, err := os.MkdirTemp("", "starling")
	if err != nil {
		t.Fatal(err)
	}
	o := &office{t: t, dir: t.TempDir(), env: append(os.Environ(), "XDG_RUNTIME_DIR="+sockets), sink: newSink()}
	o.sink.dir = o.dir
	o.sink.server = httptest.NewServer(o.sink)
	o.write("items.json", `{"items": [{"score": 0.9}, {"score": 0.5}, {"score": 0.85}, {"score": 0.3}]}`)
	t.Cleanup(func() {
		o.cli(0, "stop")
		o.sink.close()
		os.RemoveAll(sockets)
	})
	return o
}

func (o *office) write(name, text string) {
	if err := os.WriteFile(filepath.Join(o.dir, name), []byte(text), 0o600); err != nil {
		o.t.Fatal(err)
	}
}

// cli runs a command with an exit code and gives its standard output.
func (o *office) cli(code int, args ...string) string {
	o.t.Helper()
	cmd := exec.Command("starling", args...)
	cmd.Dir, cmd.Env = o.dir, o.env
	var said strings.Builder
	cmd.Stderr = &said
	out, err := cmd.Output()
	if got := cmd.ProcessState.ExitCode(); got != code {
		o.t.Fatalf("starling %v: exit code %d (%v), want %d\n%s%s", args, got, err, code, out, said.String())
	}
	return string(out)
}

// kill ends the owner with SIGKILL and gives its pid.
func (o *office) kill() int {
	o.t.Helper()
	pid, err := ownerPid(filepath.Join(o.dir, ".starling", ownerFile))
	if err != nil {
		o.t.Fatal(err)
	}
	if err := syscall.Kill(pid, syscall.SIGKILL); err != nil {
		o.t.Fatal(err)
	}
	if !gone(pid) {
		o.t.Fatalf("the owner %d lives on", pid)
	}
	return pid
}

// reviewed is scripts/multi_agent_review.star, in which two agents meet.
func (o *office) reviewed() string {
	text, err := os.ReadFile(filepath.Join("..", "..", "..", "scripts", "multi_agent_review.star"))
	if err != nil {
		o.t.Fatal(err)
	}
	return string(text)
}

// inputs of the reviewed publication, against the sink.
func (o *office) inputs() map[string]any {
	return map[string]any{"data_url": o.sink.server.URL + "/items.json", "publish_url": o.sink.server.URL + "/publish", "threshold": 0.85}
}

// published wants one GET and one POST, with what was computed before the owner was killed, and a
// journal that tells it in order.
func (o *office) published(run string) {
	o.t.Helper()
	o.sink.mu.Lock()
	requests := strings.Join(o.sink.requests, "\n")
	o.sink.mu.Unlock()
	if strings.Count(requests, "\n") != 1 || !strings.HasPrefix(requests, "GET /items.json ") || !strings.HasSuffix(requests, ` [{"score":0.9},{"score":0.85}]`) {
		o.t.Errorf("the world was asked\n%s", requests)
	}
	journal, at := o.cli(0, "logs", run, "--jsonl"), 0
	for _, event := range []string{"run.started", "gate.opened", "run.suspended", "signal.accepted", "run.resumed", "gate.decided", "run.completed"} {
		next := strings.Index(journal[at:], `"type":"`+event+`"`)
		if next < 0 {
			o.t.Fatalf("the journal has no %s after what came before it:\n%s", event, journal)
		}
		at += next
	}
}

// A20 (3): await holds no longer than asked, its handle serves another process after the owner and
// the server are gone, and it answers at once when the end is there.
func TestA20AwaitSurvivesTheServer(t *testing.T) {
	o := newOffice(t)
	first := o.goClient("")
	started, _ := first("run", map[string]any{"source": "def main():\n    return gate(\"g\", options = [\"yes\", \"no\"]).choice\n"})
	begin := time.Now()
	pending, _ := first("await", map[string]any{"run": started["run"], "hold": 0.3})
	if held := time.Since(begin); pending["pending"] != true || held < 300*time.Millisecond || held > 20*time.Second {
		t.Errorf("await held for %v and said %v", held, pending)
	}
	o.kill()
	second := o.processClient("")
	type result struct {
		answer  map[string]any
		refused bool
	}
	ended := make(chan result)
	go func() {
		answer, refused := first("await", map[string]any{"handle": pending["handle"]})
		ended <- result{answer, refused}
	}()
	second("signal", map[string]any{"run": started["run"], "gate": "g", "choice": "yes"})
	if r := <-ended; r.refused || r.answer["output"] != "yes" {
		t.Errorf("await: %v", r)
	}
	begin = time.Now()
	again, _ := second("await", map[string]any{"handle": pending["handle"]})
	if again["pending"] != false || time.Since(begin) > 10*time.Second {
		t.Errorf("await after the end: %v", again)
	}
}
