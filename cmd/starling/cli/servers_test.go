package cli

import (
	"bufio"
	"bytes"
	"encoding/json"
	"flag"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// The tool servers of scripts/tools play what real ones have said. With this flag the real ones are
// asked the same, and the scripts are run with them:
//
//	go test ./cmd/starling/cli -run TestToolServers -servers /tmp/tools -timeout 30m
//
// What FOLDER lacks is installed by scripts/tools/servers.sh, for which npm and its registry must
// be there. With -update as well, what they say is written down anew.
var realServers = flag.String("servers", "", "the `FOLDER` in which the real tool servers of scripts/tools are, or will be, installed")

// toolServers are those of scripts/tools, each with its recording and the arguments of node that
// start the real one.
var toolServers = []struct {
	tape string
	real []string
}{
	{"dbhub", []string{"@bytebase/dbhub/dist/index.js", "--transport", "stdio", "--config", "dbhub.toml"}},
	{"filesystem", []string{"@modelcontextprotocol/server-filesystem/dist/index.js", "pages"}},
	{"fetch", []string{"mcp-fetch-server/dist/index.js"}},
}

var toolPages = map[string]string{
	"/":       `<html><head><title>Birds</title></head><body><h1>Birds</h1><p>Gannets <a href="/diving">dive</a>. There was <a href="http://birds.example/gone">more</a>.</p></body></html>`,
	"/diving": `<html><body><h1>How birds dive</h1><p>Gannets dive <b>head first</b> from 30&nbsp;metres.</p><script>track()</script></body></html>`,
}

// S1-36, S1-38, S1-39: the answers that the examples are tested with are those of servers that
// exist.
func TestToolServers(t *testing.T) {
	scripts, err := filepath.Abs(filepath.Join("..", "..", "..", "scripts", "tools"))
	if err != nil {
		t.Fatal(err)
	}
	folder, world := scripts, []string(nil)
	if *realServers != "" {
		folder, world = installed(t, scripts), []string{"NODE_USE_ENV_PROXY=1", "HTTP_PROXY=" + proxied(t)}
	}
	for _, s := range toolServers {
		t.Run(s.tape, func(t *testing.T) {
			cmd := exec.Command("sh", "played.sh", "testdata/"+s.tape+".txt")
			if *realServers != "" {
				cmd = exec.Command("servers/bin/node", append([]string{"servers/node_modules/" + s.real[0]}, s.real[1:]...)...)
			}
			cmd.Dir, cmd.Env = folder, append(os.Environ(), world...)
			sameAsTape(t, cmd, filepath.Join(scripts, "testdata", s.tape+".txt"))
		})
	}
	if *realServers == "" {
		return
	}
	for _, script := range []string{"sql", "docs", "web"} {
		t.Run(script, func(t *testing.T) {
			if real, played := outputOf(t, folder, script, world), outputOf(t, scripts, script, nil); real != played {
				t.Errorf("with the real servers:\n%s\nwith the recordings:\n%s", real, played)
			}
		})
	}
}

// installed is the folder of -servers, with the servers in it.
func installed(t *testing.T, scripts string) string {
	t.Helper()
	out, err := exec.Command("sh", filepath.Join(scripts, "servers.sh"), *realServers).CombinedOutput()
	if err != nil {
		t.Fatalf("the tool servers could not be installed: %v\n%s", err, out)
	}
	folder, err := filepath.Abs(*realServers)
	if err != nil {
		t.Fatal(err)
	}
	toml := filepath.Join(folder, "starling.toml")
	text, err := os.ReadFile(toml)
	if err != nil {
		t.Fatal(err)
	}
	text = bytes.Replace(text, []byte("[tools.web]\n"), []byte("[tools.web]\nenv = [\"NODE_USE_ENV_PROXY\"]\n"), 1)
	if err := os.WriteFile(toml, text, 0o600); err != nil {
		t.Fatal(err)
	}
	return folder
}

// proxied is the address of a proxy behind which birds.example is: the fetch server refuses pages
// of this machine.
func proxied(t *testing.T) string {
	t.Helper()
	var address string
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Method == http.MethodConnect {
			tunnel(w, address)
			return
		}
		page, found := toolPages[r.URL.Path]
		if !found || r.Host != "birds.example" {
			http.NotFound(w, r)
			return
		}
		fmt.Fprint(w, page)
	}))
	t.Cleanup(s.Close)
	address = s.Listener.Addr().String()
	return s.URL
}

// tunnel has what comes over a CONNECT answered at an address.
func tunnel(w http.ResponseWriter, address string) {
	there, err := net.Dial("tcp", address)
	if err != nil {
		http.Error(w, err.Error(), http.StatusBadGateway)
		return
	}
	here, _, err := http.NewResponseController(w).Hijack()
	if err != nil {
		there.Close()
		return
	}
	fmt.Fprint(here, "HTTP/1.1 200 OK\r\n\r\n")
	go func() { io.Copy(there, here); there.Close() }()
	go func() { io.Copy(here, there); here.Close() }()
}

var answerID = regexp.MustCompile(`"id":[0-9]+`)

// sameAsTape asks a server what its recording asks, and wants the same answers, byte for byte but
// for the id and its folder, which is /shop on the tape.
func sameAsTape(t *testing.T, server *exec.Cmd, tape string) {
	t.Helper()
	in, _ := server.StdinPipe()
	out, _ := server.StdoutPipe()
	if err := server.Start(); err != nil {
		t.Fatal(err)
	}
	defer func() { in.Close(); server.Process.Kill(); server.Wait() }()
	text, err := os.ReadFile(tape)
	if err != nil {
		t.Fatal(err)
	}
	var said strings.Builder
	answers := bufio.NewReader(out)
	for id, line := range strings.SplitAfter(string(text), "\n") {
		if strings.HasPrefix(line, "< ") {
			continue
		}
		said.WriteString(line)
		method, params, _ := strings.Cut(strings.TrimPrefix(strings.TrimSpace(line), "> "), " ")
		if !strings.HasPrefix(line, "> ") {
			continue
		}
		if method == "initialize" {
			params = `{"protocolVersion":"2025-11-25","capabilities":{},"clientInfo":{"name":"starling","version":"1"}}`
		} else if params == "" {
			params = "{}"
		}
		fmt.Fprintf(in, `{"jsonrpc":"2.0","id":%d,"method":"%s","params":%s}`+"\n", id, method, params)
		answer, err := answers.ReadString('\n')
		if err != nil {
			t.Fatalf("%s: no answer: %v", line, err)
		}
		if method == "initialize" {
			fmt.Fprintln(in, `{"jsonrpc":"2.0","method":"notifications/initialized","params":{}}`)
		}
		first := answerID.FindStringIndex(answer)
		if first == nil {
			t.Fatalf("%s: the answer has no id: %s", line, answer)
		}
		said.WriteString("< " + strings.ReplaceAll(answer[:first[0]]+`"id":ID`+answer[first[1]:], server.Dir, "/shop"))
	}
	if *update && *realServers != "" {
		if err := os.WriteFile(tape, []byte(said.String()), 0o600); err != nil {
			t.Fatal(err)
		}
	} else if said.String() != string(text) {
		t.Errorf("%s says now:\n%s\nand said:\n%s", filepath.Base(tape), said.String(), text)
	}
}

// outputOf is the output of an example, run in a folder with its fake agents.
func outputOf(t *testing.T, folder, script string, world []string) string {
	t.Helper()
	cmd := exec.Command("starling", "run", script+".star", "--fake", script+"_agents.star", "--json", "--store", t.TempDir())
	cmd.Dir, cmd.Env = folder, append(os.Environ(), world...)
	out, err := cmd.Output()
	var run struct{ Output json.RawMessage }
	if err != nil || json.Unmarshal(out, &run) != nil {
		t.Fatalf("%s in %s: %v\n%s", script, folder, err, out)
	}
	return string(run.Output)
}
