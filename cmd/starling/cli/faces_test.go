package cli

import (
	"bufio"
	"bytes"
	"cmp"
	"encoding/json"
	"flag"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"runtime"
	"slices"
	"strings"
	"testing"
	"time"
)

// The clients of others are played by the SDK of Go and by net/http in the other tests. With this
// flag they are asked themselves:
//
//	go test ./cmd/starling/cli -run RealFaces -real -timeout 30m
//
// They are installed from the npm registry into the user's cache folder, in the versions below or,
// with -newest, in the newest. It prints a table, and writes it into clients.md with -update.
var (
	realFaces   = flag.Bool("real", false, "play clients of others themselves; needs Node and the npm registry")
	newestFaces = flag.Bool("newest", false, "with -real: in their newest versions")
)

// faceClients are the packages, by name and version.
var faceClients = []string{
	"@modelcontextprotocol/inspector@2.12.0", "@modelcontextprotocol/sdk@1.32.2", "eventsource@5.1.5",
	"openapi-typescript@7.13.0", "openapi-fetch@0.17.0", "typescript@5.9.3", "@types/node@26.6.6",
	"@redocly/cli@2.77.0", "@stoplight/spectral-cli@6.16.3", "@anthropic-ai/claude-code@2.1.197",
}

// faceCase is what clients are to do. It returns why it was not done, "" for nothing.
type faceCase struct {
	name    string
	clients []string // the packages that it plays
	play    func(w *faceWorld, o *office) string
}

var (
	inspector = []string{"@modelcontextprotocol/inspector"}
	sdkForJS  = []string{"@modelcontextprotocol/sdk"}
)

var faceCases = []faceCase{
	{"inspector over standard input", inspector, (*faceWorld).inspectorStdio},
	{"inspector over HTTP", inspector, (*faceWorld).inspectorHTTP},
	{"JavaScript SDK over standard input", sdkForJS, (*faceWorld).sdkStdio},
	{"JavaScript SDK over HTTP", sdkForJS, (*faceWorld).sdkHTTP},
	{"JavaScript SDK over HTTP, over a SIGKILL", sdkForJS, (*faceWorld).session},
	{"claude mcp add", []string{"@anthropic-ai/claude-code"}, (*faceWorld).claudeAdds},
	{"OpenAPI: two linters find no error", []string{"@redocly/cli", "@stoplight/spectral-cli"}, (*faceWorld).lint},
	{"OpenAPI: a client that was generated", []string{"openapi-typescript", "openapi-fetch", "typescript"}, (*faceWorld).generated},
	{"EventSource over three SIGKILLs", []string{"eventsource"}, (*faceWorld).events},
}

// TestRealFaces plays every case, and prints what came of it.
func TestRealFaces(t *testing.T) {
	if !*realFaces {
		return // see above
	}
	if *update && *newestFaces {
		t.Fatal("clients.md has the versions that are named here: use -update without -newest")
	}
	w := &faceWorld{t: t, folder: installClients(t)}
	came := map[string]string{}
	for _, c := range faceCases {
		t.Run(c.name, func(t *testing.T) {
			w.t = t
			came[c.name] = "ok"
			if why := c.play(w, newOffice(t)); why != "" {
				came[c.name] = "FAILS"
				t.Error(why)
			}
		})
	}
	node, err := exec.Command("node", "--version").Output()
	if err != nil {
		t.Fatal(err)
	}
	played := fmt.Sprintf("Played on %s with Node %s, on %s.", time.Now().UTC().Format("2 January 2006"), strings.TrimSpace(string(node)), runtime.GOOS)
	page := clientsPage(played, w.version, func(c faceCase) string { return came[c.name] })
	t.Log(page)
	if *update && len(came) == len(faceCases) && !t.Failed() {
		if err := os.WriteFile("clients.md", []byte(page), 0o644); err != nil {
			t.Fatal(err)
		}
	}
}

// clientsPage is clients.md.
func clientsPage(played string, version func(pkg string) string, came func(c faceCase) string) string {
	var b strings.Builder
	b.WriteString(`# Clients that were played

The test that plays clients of others has written this page; [faces_test.go](faces_test.go) says
what each case is.

` + played + `

| case | clients | |
|---|---|---|
`)
	for _, c := range faceCases {
		var clients []string
		for _, pkg := range c.clients {
			clients = append(clients, pkg+" "+version(pkg))
		}
		fmt.Fprintf(&b, "| %s | %s | %s |\n", c.name, strings.Join(clients, ", "), came(c))
	}
	return b.String()
}

// namedVersion is the version of a package that is named here.
func namedVersion(pkg string) string {
	for _, c := range faceClients {
		if version, ok := strings.CutPrefix(c, pkg+"@"); ok {
			return version
		}
	}
	return "none"
}

// clients.md has the cases and versions of this file, all played and ok.
func TestClientsPage(t *testing.T) {
	text, err := os.ReadFile("clients.md")
	if err != nil {
		t.Fatal(err)
	}
	played := regexp.MustCompile(`(?m)^Played on .*$`).FindString(string(text))
	if want := clientsPage(played, namedVersion, func(faceCase) string { return "ok" }); string(text) != want {
		t.Errorf("clients.md is not of these clients and cases; play them anew:\n"+
			"go test ./cmd/starling/cli -run RealFaces -real -update -timeout 30m\ngot:\n%s\nwant:\n%s", text, want)
	}
}

// faceWorld is a folder of clients that were installed, with the sources of testdata/faces beside
// them.
type faceWorld struct {
	t      *testing.T
	folder string
}

func installClients(t *testing.T) string {
	t.Helper()
	cache, err := os.UserCacheDir()
	if err != nil {
		t.Fatal(err)
	}
	folder := filepath.Join(cache, "starling", "faces")
	install := slices.Clone(faceClients)
	if *newestFaces {
		folder += "-newest"
		for i, c := range install {
			if name := c[:strings.LastIndex(c, "@")]; name != "typescript" { // openapi-typescript says which it takes
				install[i] = name + "@latest"
			}
		}
	}
	args := append([]string{"install", "--no-audit", "--no-fund", "--prefix", folder}, install...)
	if out, err := exec.Command("npm", args...).CombinedOutput(); err != nil {
		t.Fatalf("the clients cannot be installed: %v; npm and its registry are needed\n%s", err, out)
	}
	for _, name := range []string{"sdk.mjs", "session.mjs", "client.mts", "events.mjs"} {
		text, err := os.ReadFile(filepath.Join("../../../testdata/faces", name))
		if err == nil {
			err = os.WriteFile(filepath.Join(folder, name), text, 0o600)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	return folder
}

// version is the version of a package that is installed.
func (w *faceWorld) version(pkg string) string {
	text, err := os.ReadFile(filepath.Join(w.folder, "node_modules", pkg, "package.json"))
	var doc struct{ Version string }
	if err == nil {
		err = json.Unmarshal(text, &doc)
	}
	if err != nil {
		w.t.Fatal(err)
	}
	return doc.Version
}

// run runs a client for at most two minutes, and gives what it printed on standard output and on
// both.
func (w *faceWorld) run(o *office, env []string, args ...string) (out string, all string, err error) {
	w.t.Helper()
	cmd := exec.CommandContext(w.t.Context(), filepath.Join(w.folder, "node_modules", ".bin", args[0]), args[1:]...)
	if strings.HasSuffix(args[0], "js") {
		cmd = exec.CommandContext(w.t.Context(), "node", append([]string{filepath.Join(w.folder, args[0])}, args[1:]...)...)
	}
	cmd.Dir, cmd.Env, cmd.WaitDelay = o.dir, append(slices.Clone(o.env), env...), time.Second
	var both, only bytes.Buffer
	cmd.Stdout, cmd.Stderr = &only, &both
	limit := time.AfterFunc(2*time.Minute, func() { _ = cmd.Process.Kill() }) // it ends with an error
	defer limit.Stop()
	err = cmd.Run()
	all = only.String() + both.String()
	if err != nil {
		all = fmt.Sprintf("%v: %s", err, all) // never nothing, which would be a success
	}
	return only.String(), all, err
}

// served gives the address of an owner with HTTP and MCP, and a token that may do what a client
// does.
func (w *faceWorld) served(o *office) (address, token string) {
	w.t.Helper()
	address, _ = o.serving("--http", "127.0.0.1:0", "--mcp")
	return address, strings.TrimSpace(o.cli(0, "token", "add", "client", "--can", "read,run,define,signal,cancel"))
}

const faceScript = "source=def main(): return 42"

func (w *faceWorld) inspectorStdio(o *office) string {
	return w.inspects(o, func(args ...string) []string {
		return append([]string{"mcp-inspector", "--cli", starlingPath(w.t), "mcp"}, args...)
	})
}

func (w *faceWorld) inspectorHTTP(o *office) string {
	address, token := w.served(o)
	at := func(token string) func(args ...string) []string {
		return func(args ...string) []string {
			return append([]string{"mcp-inspector", "--cli", address + "/mcp", "--transport", "http", "--header", "Authorization: Bearer " + token}, args...)
		}
	}
	if _, all, err := w.run(o, nil, at("wrong")("--method", "tools/list")...); err == nil || !strings.Contains(all, "auth_required") {
		return "with a wrong token it is told: " + all
	}
	return w.inspects(o, at(token))
}

// inspects lists the tools, runs a script and asks for what is not there.
func (w *faceWorld) inspects(o *office, command func(args ...string) []string) string {
	out, all, err := w.run(o, nil, command("--method", "tools/list")...)
	if err != nil || !strings.Contains(out, `"name": "run"`) || !strings.Contains(out, `"name": "await"`) {
		return "tools/list: " + all
	}
	out, all, err = w.run(o, nil, command("--method", "tools/call", "--tool-name", "run", "--tool-arg", faceScript)...)
	var called struct {
		StructuredContent struct{ Run string }
	}
	if err != nil || json.Unmarshal([]byte(out), &called) != nil || called.StructuredContent.Run == "" {
		return "tools/call run: " + all
	}
	out, all, err = w.run(o, nil, command("--method", "tools/call", "--tool-name", "await", "--tool-arg", "run="+called.StructuredContent.Run)...)
	if err != nil || !strings.Contains(out, `"output": 42`) {
		return "tools/call await: " + all
	}
	out, all, _ = w.run(o, nil, command("--method", "tools/call", "--tool-name", "status", "--tool-arg", "run=zzzzzzzzzzzz")...)
	if !strings.Contains(out, `"isError": true`) || !strings.Contains(out, "zzzzzzzzzzzz") {
		return "tools/call status of no run: " + all
	}
	return ""
}

func (w *faceWorld) sdkStdio(o *office) string {
	return w.sdk(o, nil, "sdk.mjs", starlingPath(w.t), "mcp")
}

func (w *faceWorld) sdkHTTP(o *office) string {
	address, token := w.served(o)
	return w.sdk(o, []string{"MCP_URL=" + address + "/mcp", "MCP_TOKEN=" + token}, "sdk.mjs")
}

func (w *faceWorld) sdk(o *office, env []string, args ...string) string {
	out, all, err := w.run(o, env, args...)
	var seen struct {
		Tools []string
		Asked []struct {
			Message string
			Fields  []string
		}
		Output, Twenty, Cancelled string
		Misfit, Wrong, Unknown    struct{ Error string }
	}
	if err != nil || json.Unmarshal([]byte(out), &seen) != nil {
		return "it says " + all
	}
	switch {
	case !slices.Contains(seen.Tools, "run") || !slices.Contains(seen.Tools, "await"):
		return "the tools are " + strings.Join(seen.Tools, " ")
	case len(seen.Asked) == 0 || !slices.Contains(seen.Asked[0].Fields, "choice"):
		return "its user was not asked: " + out
	case seen.Output != "yes" || seen.Twenty != "completed" || seen.Cancelled != "cancelled":
		return out
	case !strings.Contains(seen.Misfit.Error, "maybe") || !strings.Contains(seen.Misfit.Error, "waits on: status has its gates"):
		return "a form that was filled in wrongly comes to " + out
	case !strings.Contains(seen.Wrong.Error, "ship") || !strings.Contains(seen.Unknown.Error, "script"):
		return "what is wrong is not said: " + out
	}
	return ""
}

// session has a client with no token, with a wrong one, and one whose session ends with the owner:
// it is told what to do, and does it.
func (w *faceWorld) session(o *office) string {
	address, token := w.served(o)
	cmd := exec.CommandContext(w.t.Context(), "node", filepath.Join(w.folder, "session.mjs"))
	cmd.Dir, cmd.Env, cmd.Stderr = o.dir, append(slices.Clone(o.env), "MCP_URL="+address+"/mcp", "MCP_TOKEN="+token), os.Stderr
	in, err1 := cmd.StdinPipe()
	out, err2 := cmd.StdoutPipe()
	if err := cmp.Or(err1, err2, cmd.Start()); err != nil {
		w.t.Fatal(err)
	}
	defer cmd.Wait()
	late := time.AfterFunc(2*time.Minute, func() { _ = cmd.Process.Kill() }) // its output ends
	defer late.Stop()
	lines := bufio.NewScanner(out)
	if !lines.Scan() || lines.Text() != "waiting" {
		return "it begins with " + lines.Text()
	}
	o.kill()
	o.serving("--http", strings.TrimPrefix(address, "http://"), "--mcp")
	_, _ = io.WriteString(in, "go on\n") // without it there is no answer
	var seen struct{ Nobody, Stranger, Ended, Output string }
	if !lines.Scan() || json.Unmarshal(lines.Bytes(), &seen) != nil {
		return "it ends with " + lines.Text()
	}
	for _, told := range []struct{ got, code, says string }{
		{seen.Nobody, "401: ", "starling token add"}, {seen.Stranger, "401: ", "it was revoked, or never made"},
		{seen.Ended, "404: ", "no run is lost"},
	} {
		if !strings.HasPrefix(told.got, told.code) || !strings.Contains(told.got, told.says) {
			return fmt.Sprintf("it is told %q, want %s and %q", told.got, told.code, told.says)
		}
	}
	if seen.Output != "yes" {
		return "the run came to " + seen.Output
	}
	return ""
}

func (w *faceWorld) claudeAdds(o *office) string {
	home := []string{"HOME=" + w.t.TempDir(), "ANTHROPIC_API_KEY=none", "CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC=1", "DISABLE_AUTOUPDATER=1"}
	if _, all, err := w.run(o, home, "claude", "mcp", "add", "starling", "--", starlingPath(w.t), "mcp", "-C", o.dir); err != nil {
		return all
	}
	address, token := w.served(o)
	for name, token := range map[string]string{"known": token, "unknown": "wrong"} {
		if _, all, err := w.run(o, home, "claude", "mcp", "add", "--transport", "http", name, address+"/mcp", "--header", "Authorization: Bearer "+token); err != nil {
			return all
		}
	}
	_, all, err := w.run(o, home, "claude", "mcp", "list")
	for _, want := range []string{`(?m)^starling: .* ✔ Connected$`, `(?m)^known: .* ✔ Connected$`, `(?m)^unknown: .* ✘ Failed to connect`} {
		if err != nil || !regexp.MustCompile(want).MatchString(all) {
			return "claude mcp list: " + all
		}
	}
	return ""
}

// document writes /openapi.json into a folder.
func (w *faceWorld) document(address, token, folder string) string {
	w.t.Helper()
	client := &http.Client{Transport: bearing(token)}
	response, err := client.Get(address + "/openapi.json")
	if err != nil {
		w.t.Fatal(err)
	}
	defer response.Body.Close()
	var text bytes.Buffer
	if _, err := text.ReadFrom(response.Body); err != nil {
		w.t.Fatal(err)
	}
	name := filepath.Join(folder, "openapi.json")
	if err := os.WriteFile(name, text.Bytes(), 0o600); err != nil {
		w.t.Fatal(err)
	}
	return name
}

func (w *faceWorld) lint(o *office) string {
	address, token := w.served(o)
	name := w.document(address, token, o.dir)
	if _, all, err := w.run(o, nil, "redocly", "lint", name); err != nil {
		return all
	}
	o.write(".spectral.yaml", "extends: spectral:oas\n")
	if _, all, err := w.run(o, nil, "spectral", "lint", name, "--ruleset", filepath.Join(o.dir, ".spectral.yaml")); err != nil {
		return all
	}
	return ""
}

func (w *faceWorld) generated(o *office) string {
	address, token := w.served(o)
	name := w.document(address, token, o.dir)
	if _, all, err := w.run(o, nil, "openapi-typescript", name, "-o", filepath.Join(w.folder, "schema.mts")); err != nil {
		return all
	}
	_, all, err := w.run(o, nil, "tsc", "--strict", "--target", "es2022", "--module", "nodenext", "--moduleResolution", "nodenext", "--types", "node",
		"--typeRoots", filepath.Join(w.folder, "node_modules", "@types"), "--outDir", filepath.Join(w.folder, "made"), filepath.Join(w.folder, "client.mts"))
	if err != nil {
		return all
	}
	out, all, err := w.run(o, []string{"STARLING_URL=" + address, "STARLING_TOKEN=" + token}, "made/client.mjs")
	if want := `{"wrong":[422,"bad_choice"],"output":"yes","nothing":[404,"unknown_run"]}`; err != nil || strings.TrimSpace(out) != want {
		return fmt.Sprintf("got %s, want %s", all, want)
	}
	return ""
}

// events follows a run over SIGKILLs of its owner: every record comes once, in order.
func (w *faceWorld) events(o *office) string {
	free, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		w.t.Fatal(err)
	}
	at := free.Addr().String()
	_ = free.Close() // for the owners, one after the other
	token := strings.TrimSpace(o.cli(0, "token", "add", "client", "--can", "read,run"))
	o.write("slow.star", "def main():\n    for i in range(40):\n        sleep(\"100ms\")\n")
	serve := func() *exec.Cmd {
		cmd := exec.Command("starling", "serve", "--http", at)
		cmd.Dir, cmd.Env = o.dir, o.env
		if err := cmd.Start(); err != nil {
			w.t.Fatal(err)
		}
		for range 600 {
			if c, err := net.Dial("tcp", at); err == nil {
				_ = c.Close() // it is there
				break
			}
			time.Sleep(50 * time.Millisecond)
		}
		return cmd
	}
	owner := serve()
	run := strings.TrimSpace(o.cli(0, "run", "-d", "slow.star"))
	follower := exec.Command("node", filepath.Join(w.folder, "events.mjs"))
	follower.Dir, follower.Stderr = o.dir, os.Stderr
	follower.Env = append(slices.Clone(o.env), "STARLING_URL=http://"+at+"/v1/events?run="+run, "STARLING_TOKEN="+token)
	heard, err := follower.StdoutPipe()
	if err == nil {
		err = follower.Start()
	}
	if err != nil {
		w.t.Fatal(err)
	}
	defer follower.Process.Kill()
	late := time.AfterFunc(2*time.Minute, func() { _ = follower.Process.Kill() }) // its output ends
	defer late.Stop()
	kills, next, last := 0, 1, ""
	for lines := bufio.NewScanner(heard); lines.Scan(); {
		if last = lines.Text(); strings.HasPrefix(last, "end") {
			break
		}
		if last != fmt.Sprint(next) {
			return fmt.Sprintf("record %s came in the place of %d", last, next)
		}
		if next++; kills < 3 && next%15 == 0 {
			kills++
			_ = owner.Process.Kill() // it ends
			_ = owner.Wait()
			owner = serve()
			resume := exec.Command("starling", "resume", run)
			resume.Dir, resume.Env = o.dir, o.env
			if err := resume.Start(); err != nil {
				w.t.Fatal(err)
			}
			go resume.Wait() // it follows the run, and goes when its owner does
		}
	}
	records := strings.Count(o.cli(0, "logs", run, "--jsonl"), "\n")
	if kills < 3 || !strings.HasPrefix(last, "end") || next-1 != records {
		return fmt.Sprintf("%d kills, %d of %d records, the last line is %q", kills, next-1, records, last)
	}
	return ""
}

// starlingPath is where this program lies, for clients that look for it themselves.
func starlingPath(t *testing.T) string {
	t.Helper()
	path, err := exec.LookPath("starling")
	if err != nil {
		t.Fatal(err)
	}
	return path
}
