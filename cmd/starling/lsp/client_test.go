package lsp_test

import (
	"bufio"
	"encoding/json"
	"fmt"
	"io"
	"net/textproto"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"starling/cmd/starling/lsp"
	"starling/lang/check"
	"starling/lang/effect"
	"starling/lang/vm"
	"starling/stdlib"
)

// client is an editor at the other end of a pipe.
type client struct {
	t       testing.TB
	in      *bufio.Reader
	out     io.WriteCloser
	done    chan error
	dir     string
	next    int
	notes   map[string][]message // diagnostics by file, in the order in which they came
	texts   map[string]string
	version int
}

type message struct {
	ID     int             `json:"id"`
	Method string          `json:"method"`
	Params json.RawMessage `json:"params"`
	Result json.RawMessage `json:"result"`
	Error  *struct {
		Code    int    `json:"code"`
		Message string `json:"message"`
	} `json:"error"`
}

// start begins a session in a folder of its own that has the files.
func start(t testing.TB, files map[string]string) *client {
	t.Helper()
	c := &client{t: t, dir: t.TempDir(), done: make(chan error, 1), notes: map[string][]message{}, texts: map[string]string{}}
	for name, text := range files {
		path := filepath.Join(c.dir, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	in, serverOut := io.Pipe()
	serverIn, out := io.Pipe()
	env := stdlib.Environment(stdlib.Options{Natives: vm.Natives()})
	host := lsp.Host{Version: "test", Library: stdlib.Library, Modules: stdlib.LibraryNames(),
		Environment: func(string) *effect.Environment { return env },
		Root:        func(string) (string, bool) { return c.dir, true },
		Project: func(string) (check.Project, error) {
			return check.Project{Agents: []check.Agent{{Name: "reviewer", Own: true}, {Name: "builder", Own: true}}, Tools: []string{"sql", "web"}}, nil
		}}
	go func() {
		err := lsp.Serve(host, serverIn, serverOut)
		serverOut.Close()
		c.done <- err
	}()
	c.greet(in, out)
	return c
}

// greet begins a session as the protocol has it.
func (c *client) greet(in io.Reader, out io.WriteCloser) {
	c.in, c.out = bufio.NewReader(in), out
	c.t.Cleanup(c.leave)
	c.ask("initialize", map[string]any{"rootUri": "file://" + c.dir, "capabilities": map[string]any{}})
	c.tell("initialized", map[string]any{})
}

// startProgram is start of the program itself, over its standard input and output.
func startProgram(t testing.TB) *client {
	t.Helper()
	c := &client{t: t, dir: t.TempDir(), done: make(chan error, 1), notes: map[string][]message{}, texts: map[string]string{}}
	program := filepath.Join(t.TempDir(), "starling")
	if out, err := exec.Command("go", "build", "-o", program, "..").CombinedOutput(); err != nil {
		t.Fatalf("go build: %v\n%s", err, out)
	}
	cmd := exec.Command(program, "lsp")
	cmd.Dir = c.dir
	out, _ := cmd.StdinPipe()
	in, _ := cmd.StdoutPipe()
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	go func() { c.done <- cmd.Wait() }()
	c.greet(in, out)
	return c
}

// leave ends the session as the protocol has it.
func (c *client) leave() {
	c.ask("shutdown", nil)
	c.tell("exit", nil)
	if err := <-c.done; err != nil {
		c.t.Errorf("the server ended with %v", err)
	}
}

func (c *client) write(m map[string]any) {
	m["jsonrpc"] = "2.0"
	body, err := json.Marshal(m)
	if err != nil {
		c.t.Fatal(err)
	}
	if _, err := fmt.Fprintf(c.out, "Content-Length: %d\r\n\r\n%s", len(body), body); err != nil {
		c.t.Fatal(err)
	}
}

func (c *client) tell(method string, params any) {
	c.write(map[string]any{"method": method, "params": params})
}

// request asks for something and reads until it is answered.
func (c *client) request(method string, params any) message {
	c.t.Helper()
	c.next++
	id := c.next
	go c.write(map[string]any{"id": id, "method": method, "params": params})
	return c.until(func(m message) bool { return m.ID == id && m.Method == "" })
}

// ask is request of something that must not fail.
func (c *client) ask(method string, params any) json.RawMessage {
	c.t.Helper()
	m := c.request(method, params)
	if m.Error != nil {
		c.t.Fatalf("%s: %s", method, m.Error.Message)
	}
	return m.Result
}

func (c *client) until(is func(message) bool) message {
	c.t.Helper()
	for {
		header, err := textproto.NewReader(c.in).ReadMIMEHeader()
		if err != nil {
			c.t.Fatalf("reading: %v", err)
		}
		n, _ := strconv.Atoi(header.Get("Content-Length"))
		body := make([]byte, n)
		if _, err := io.ReadFull(c.in, body); err != nil {
			c.t.Fatal(err)
		}
		var m message
		if err := json.Unmarshal(body, &m); err != nil {
			c.t.Fatalf("%v in %s", err, body)
		}
		if m.Method == "window/logMessage" {
			c.t.Errorf("the server says %s", m.Params)
		}
		if is(m) {
			return m
		}
	}
}

func (c *client) uri(name string) string { return "file://" + filepath.Join(c.dir, name) }

// open opens a file in the editor, with another text than the disk has if there is one.
func (c *client) open(name string, text ...string) []diagnostic {
	c.t.Helper()
	if len(text) == 0 {
		is, err := os.ReadFile(filepath.Join(c.dir, name))
		if err != nil {
			c.t.Fatal(err)
		}
		text = []string{string(is)}
	}
	c.texts[name] = text[0]
	c.version++
	go c.tell("textDocument/didOpen", map[string]any{"textDocument": map[string]any{"uri": c.uri(name), "languageId": "starlark", "version": c.version, "text": text[0]}})
	return c.diagnostics(name)
}

// edit puts a text in the place of another that stands once in the file.
func (c *client) edit(name, old, new string) []diagnostic {
	c.t.Helper()
	was := c.texts[name]
	from := strings.Index(was, old)
	if from < 0 {
		c.t.Fatalf("%s has no %q", name, old)
	}
	c.texts[name] = was[:from] + new + was[from+len(old):]
	c.version++
	go c.tell("textDocument/didChange", map[string]any{"textDocument": map[string]any{"uri": c.uri(name), "version": c.version},
		"contentChanges": []any{map[string]any{"range": map[string]any{"start": at(was, from), "end": at(was, from+len(old))}, "text": new}}})
	return c.diagnostics(name)
}

type place struct {
	Line      int `json:"line"`
	Character int `json:"character"`
}

type area struct{ Start, End place }

// at is a position as the protocol has it.
func at(text string, offset int) place {
	line := strings.Count(text[:offset], "\n")
	units := 0
	for _, r := range text[strings.LastIndexByte(text[:offset], '\n')+1 : offset] {
		units++
		if r > 0xffff {
			units++
		}
	}
	return place{line, units}
}

type diagnostic struct {
	Range    area
	Severity int
	Code     string
	Message  string
}

// diagnostics waits for those of the newest version of a file.
func (c *client) diagnostics(name string) []diagnostic {
	c.t.Helper()
	var list struct {
		URI         string
		Version     int
		Diagnostics []diagnostic
	}
	c.until(func(m message) bool {
		if m.Method != "textDocument/publishDiagnostics" {
			return false
		}
		json.Unmarshal(m.Params, &list)
		return list.URI == c.uri(name) && list.Version == c.version
	})
	return list.Diagnostics
}

// cursor is where a request is made: behind a text that stands in the file, the first time.
func (c *client) cursor(name, behind string) map[string]any {
	c.t.Helper()
	i := strings.Index(c.texts[name], behind)
	if i < 0 {
		c.t.Fatalf("%s has no %q", name, behind)
	}
	return map[string]any{"textDocument": map[string]any{"uri": c.uri(name)}, "position": at(c.texts[name], i+len(behind)), "context": map[string]any{"includeDeclaration": true}}
}

// completions are the labels of what could stand behind a text.
func (c *client) completions(name, behind string) []string {
	c.t.Helper()
	var list struct {
		Items []struct{ Label string }
	}
	json.Unmarshal(c.ask("textDocument/completion", c.cursor(name, behind)), &list)
	var labels []string
	for _, item := range list.Items {
		labels = append(labels, item.Label)
	}
	return labels
}

func wantAll(t *testing.T, what string, got []string, want ...string) {
	t.Helper()
	for _, w := range want {
		if !slices.Contains(got, w) {
			t.Errorf("%s: %q is not among %q", what, w, got)
		}
	}
}
