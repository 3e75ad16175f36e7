package agent_test

import (
	"bytes"
	"context"
	"encoding/base64"
	"encoding/json"
	"flag"
	"fmt"
	"image"
	"image/png"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"starling/stdlib/agent/modeltest"
)

// The coding agents of others are played by stubs in the other tests. With this flag they are asked
// themselves:
//
//	go test ./stdlib/agent -run Real -real -timeout 60m
//
// They are installed from the npm registry into the user's cache folder, in versions that are named
// below or, with -newest, in the newest; no key, login or model is needed. It prints a table, and
// writes it into programs.md with -update.
var (
	real     = flag.Bool("real", false, "play the coding agents of others themselves; needs Node and the npm registry")
	newest   = flag.Bool("newest", false, "with -real: in their newest versions")
	onlyReal = flag.String("program", "", "with -real: only this program")
	onlyCase = flag.String("case", "", "with -real: only this case")
	update   = flag.Bool("update", false, "with -real: write programs.md anew; every program is played, in the version that is named here")
)

// realProgram is a program of others, and how its model is told to use tools.
type realProgram struct {
	name    string
	pkg     string
	version string
	command []string // bin and arguments
	acp     bool
	env     map[string]string // with URL for the server of models
	home    map[string]string // files of its home
	key     string            // the variable of its key

	mode    string            // in which it asks before it changes files, "" for the one that it begins with
	edit    string            // a step that makes answer.txt with the word ready
	ask     string            // one that asks for leave to do so, where edit does not
	set     string            // a step that sets the variable k to 1
	faults  map[string]string // cases that fail for a reason that is the program's own
	notes   map[string]string // what holds of cases that do not
	without map[string]string // cases that it has nothing for, and why
	forgets bool              // a conversation that it loads in the minute in which that began
}

const (
	codexConfig = "model = \"gpt-5.2-codex\"\nmodel_provider = \"told\"\n[model_providers.told]\nname = \"told\"\nbase_url = \"URL/v1\"\n" +
		"env_key = \"OPENAI_API_KEY\"\nwire_api = \"responses\"\nrequest_max_retries = 0\nstream_max_retries = 0\n"
	noPeople  = "a preset asks nobody"
	forgetful = "it loses a conversation that is loaded in the minute in which it began, but in no later one:\n" +
		"   <https://github.com/google-gemini/gemini-cli/issues/28693>"
)

var (
	claudeEnv = map[string]string{"ANTHROPIC_BASE_URL": "URL", "ANTHROPIC_API_KEY": "sk-told-claude", "DISABLE_AUTOUPDATER": "1",
		"CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC": "1"}
	codexEnv  = map[string]string{"OPENAI_API_KEY": "sk-told-codex"}
	geminiEnv = map[string]string{"GEMINI_API_KEY": "told-gemini", "GOOGLE_GEMINI_BASE_URL": "URL"}

	geminiHome = map[string]string{".gemini/settings.json": `{"security": {"auth": {"selectedType": "gemini-api-key"}}}`}
	codexHome  = map[string]string{".codex/config.toml": codexConfig}
)

const (
	claudeEdit = `{"tool": "Write", "input": {"file_path": "DIR/answer.txt", "content": "ready"}}`
	codexEdit  = `{"tool": "exec_command", "input": {"cmd": "printf ready > answer.txt"}}`
	geminiAsk  = `{"tool": "run_shell_command", "input": {"command": "printf ready > answer.txt"}}`
	geminiEdit = `{"tool": "write_file", "input": {"file_path": "DIR/answer.txt", "content": "ready"}}`

	codexAsk = `{"tool": "exec_command", "input": {"cmd": "printf ready > answer.txt", "sandbox_permissions": "require_escalated", "justification": "to answer"}}`

	claudeSet  = `{"tool": "mcp__starling_vars__set", "input": {"key": "k", "value": 1}}`
	claudeFind = `{"tool": "ToolSearch", "input": {"query": "select:mcp__starling_vars__set"}}, `
	codexSet   = `{"tool": "set", "namespace": "mcp__starling_vars", "input": {"key": "k", "value": 1}}`
	geminiSet  = `{"tool": "mcp_starling_vars_set", "input": {"key": "k", "value": 1}}`
)

var realPrograms = []realProgram{
	{name: "claude", pkg: "@anthropic-ai/claude-code", version: "2.1.197", command: []string{"claude"}, env: claudeEnv,
		key: "ANTHROPIC_API_KEY", edit: claudeEdit, set: claudeSet, without: map[string]string{"gate": noPeople}},
	{name: "codex", pkg: "@openai/codex", version: "0.169.0", command: []string{"codex"}, env: codexEnv, home: codexHome,
		key: "OPENAI_API_KEY", edit: codexEdit, set: codexSet, without: map[string]string{"gate": noPeople},
		notes: map[string]string{"denied": "its sandbox refuses the command: nothing was changed, but it does not say that it was denied"}},
	{name: "gemini", pkg: "@google/gemini-cli", version: "0.61.0", command: []string{"gemini"}, env: geminiEnv, home: geminiHome,
		key: "GEMINI_API_KEY", edit: geminiEdit, set: geminiSet, without: map[string]string{"gate": noPeople}},
	{name: "claude-agent-acp", pkg: "@agentclientprotocol/claude-agent-acp", version: "0.101.0", command: []string{"claude-agent-acp"},
		acp: true, mode: "default", env: claudeEnv, key: "ANTHROPIC_API_KEY", edit: claudeEdit, set: claudeFind + claudeSet},
	{name: "codex-acp", pkg: "@zed-industries/codex-acp", version: "0.16.0", command: []string{"codex-acp"}, acp: true, env: codexEnv,
		home: codexHome, key: "OPENAI_API_KEY", edit: codexEdit, ask: codexAsk, set: codexSet,
		without: map[string]string{"tokens": "it tells none"}},
	{name: "gemini --acp", pkg: "@google/gemini-cli", version: "0.61.0", command: []string{"gemini", "--acp"}, acp: true, env: geminiEnv,
		home: geminiHome, key: "GEMINI_API_KEY", edit: geminiEdit, ask: geminiAsk, set: geminiSet, forgets: true,
		faults: map[string]string{"re-ask": forgetful},
		notes:  map[string]string{"SIGKILL in the first turn": forgetful, "SIGKILL after a tool": forgetful}},
}

// realCase is what every program is to do. It returns why it was not done, "" for nothing.
type realCase struct {
	name string
	play func(w *realWorld) string
}

var realCases = []realCase{
	{"text", func(w *realWorld) string {
		return w.gives(``, `agent("a", plan('{"text": "All is well."}')).text`, `"All is well."`)
	}},
	{"typed", func(w *realWorld) string {
		return w.gives(typedReply, `agent("a", plan('{"structured": {"word": "ready", "number": 7}}')).output`, `{"word":"ready","number":7}`)
	}},
	{"tokens", func(w *realWorld) string {
		return w.gives(``, `agent("a", plan('{"text": "counted"}')).usage["input_tokens"] > 0`, `true`)
	}},
	{"re-ask", func(w *realWorld) string { // the second step is taken in the same conversation alone
		w.early()
		return w.gives(typedReply, `agent("a", plan('{"text": "no"}', '{"structured": {"word": "ready", "number": 7}}')).output`,
			`{"word":"ready","number":7}`)
	}},
	{"edit", func(w *realWorld) string {
		return w.gives(w.mayEdit(), `[agent("a", plan(EDIT, '{"text": "done"}')).text, fs.read("answer.txt")]`, `["done","ready"]`)
	}},
	{"denied", func(w *realWorld) string {
		w.gives(``, `agent("a", plan(ASK, '{"text": "done"}')).text`, ``)
		if _, err := os.Stat(filepath.Join(w.dir, "answer.txt")); err == nil {
			return "it has made the file"
		}
		if text, _ := os.ReadFile(filepath.Join(w.dir, "last.json")); w.p.name != "codex" && !bytes.Contains(text, []byte(`"kind":"denied"`)) {
			return "nothing was changed, and nothing says that it was denied: " + clipped(text)
		}
		return ""
	}},
	{"gate", (*realWorld).answersLate},
	{"files", (*realWorld).shows},
	{"tool server", func(w *realWorld) string {
		return w.gives("tools = [\"vars\"]\n", `[[[t["name"], t["ok"], t["failed"], t["denied"]] for t in agent("a", plan(SET, '{"text": "done"}')).tools if not t["claimed"]],
        memory.vars.get("k")]`, `[[["vars.set",1,0,0]],1]`)
	}},
	{"steer", func(w *realWorld) string {
		w.project("")
		run := w.start(`agent("a", plan('{"sleep": 8000, "text": "slow"}')).text`)
		w.asked() // a preset is told by its end, ACP agents while they work
		w.starling("steer", "@last@a", `PLAN<<[{"text": "steered"}]>>`)
		return w.ended(run, `"steered"`)
	}},
	{"stop", func(w *realWorld) string {
		w.project("")
		run := w.start(`agent("a", plan('{"sleep": 60000, "text": "slow"}')).status`)
		w.until("attempt.started")
		w.starling("stop", "@last@a")
		return w.ended(run, `"stopped"`)
	}},
	{"SIGKILL in the first turn", func(w *realWorld) string {
		w.project("")
		return w.killed(`agent("a", plan('{"sleep": 8000, "text": "cut"}', '{"text": "over"}')).text`, 1)
	}},
	{"SIGKILL after a tool", func(w *realWorld) string {
		w.project(w.mayEdit())
		return w.killed(`agent("a", plan(EDIT, '{"sleep": 8000, "text": "cut"}', '{"text": "over"}')).text`, 2)
	}},
	{"lost conversation", (*realWorld).losesIt},
	{"timeout", func(w *realWorld) string {
		return w.gives("timeout = \"4s\"\n", `attempt(agent, "a", plan('{"sleep": 60000, "text": "slow"}')).error.kind`, `"timeout"`)
	}},
	{"wrong key", func(w *realWorld) string {
		return w.endsAtOnce(`plan('{"status": 401}')`)
	}},
	{"no key", func(w *realWorld) string {
		delete(w.env, w.p.key)
		return w.endsAtOnce(`plan('{"text": "done"}')`)
	}},
	{"rate limit", func(w *realWorld) string {
		return w.gives("retries = 2\n", `agent("a", plan('{"status": 429, "once": true, "header": {"Retry-After": "1"}, "text": "after"}')).text`, `"after"`)
	}},
	{"worktree", func(w *realWorld) string {
		w.git("init", "-q")
		w.git("commit", "-q", "--allow-empty", "-m", "empty")
		return w.gives(w.mayEdit(), `[parallel({"x": lambda: agent("a", plan(HERE, '{"text": "done"}')).text}, isolation = "worktree")["x"], fs.read("answer.txt")]`,
			`["done","ready"]`)
	}},
}

const typedReply = "output = \"{word: string, number: int}\"\nreasks = 1\n"

// TestRealPrograms plays every case with every program, and prints what came of it.
func TestRealPrograms(t *testing.T) {
	if !*real {
		return // the others play stubs, which say what these have said
	}
	if *update && (*newest || *onlyReal != "" || *onlyCase != "") {
		t.Fatal("programs.md has every program, in the version that is named here: use -update without -newest, -program and -case")
	}
	cache, starling := realTools(t)
	models := modeltest.Start(t)
	came := map[string]outcome{}
	for i, p := range realPrograms {
		if *onlyReal != "" && *onlyReal != p.name {
			continue
		}
		bin, version := p.install(t, cache)
		realPrograms[i].version = version
		for _, c := range realCases {
			if *onlyCase != "" && *onlyCase != c.name {
				continue
			}
			o := p.plays(t, c, func() *realWorld { return newRealWorld(t, p, cache, bin, starling, models) })
			t.Logf("%s %s, %s: %s %s", p.name, version, c.name, o.word, o.note)
			came[p.name+c.name] = o
		}
	}
	text := programsPage(playedOn(t), func(p realProgram, name string) outcome { return came[p.name+name] })
	t.Log(text)
	if *update {
		if err := os.WriteFile("programs.md", []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
}

// plays plays a case in a world of its own.
func (p realProgram) plays(t *testing.T, c realCase, world func() *realWorld) outcome {
	t.Helper()
	due := p.due(c.name)
	if due.word == "none" {
		return due
	}
	w := world()
	why := c.play(w)
	w.close(why)
	switch {
	case why != "" && due.word == "ok":
		t.Errorf("%s, %s: %s (%s)", p.name, c.name, why, w.dir)
		return outcome{"FAILS", why}
	case why == "" && due.word == "fails":
		t.Errorf("%s, %s: it is ok, and listed as: %s", p.name, c.name, due.note)
		return outcome{"ok", ""}
	}
	return due
}

// install installs a program, and returns the folder of its commands and its version.
func (p realProgram) install(t *testing.T, cache string) (bin, version string) {
	t.Helper()
	version = p.version
	if *newest {
		out, err := exec.Command("npm", "view", p.pkg, "version").Output()
		if err != nil {
			t.Fatalf("the newest version of %s: %v; npm and its registry are needed", p.pkg, err)
		}
		version = strings.TrimSpace(string(out))
	}
	folder := filepath.Join(cache, strings.NewReplacer("@", "", "/", "-").Replace(p.pkg)+"-"+version)
	bin = filepath.Join(folder, "node_modules", ".bin")
	if _, err := os.Stat(filepath.Join(bin, p.command[0])); err == nil {
		return bin, version
	}
	if out, err := exec.Command("npm", "install", "--no-audit", "--no-fund", "--prefix", folder, p.pkg+"@"+version).CombinedOutput(); err != nil {
		t.Fatalf("%s cannot be installed: %v; npm and its registry are needed\n%s", p.pkg, err, out)
	}
	return bin, version
}

// realWorld is a folder with a project, a store and a home for one case.
type realWorld struct {
	t       *testing.T
	p       realProgram
	root    string
	dir     string
	bin     string
	program string
	url     string
	models  *modeltest.Server
	env     map[string]string // of the program, as p.env
	before  int               // requests before the case
}

// newRealWorld makes one where nobody else may write: coding agents mistrust what lies below the
// system's folder of temporary files.
func newRealWorld(t *testing.T, p realProgram, cache, bin, starling string, models *modeltest.Server) *realWorld {
	t.Helper()
	root, err := os.MkdirTemp(cache, "world")
	if err != nil {
		t.Fatal(err)
	}
	w := &realWorld{t: t, p: p, root: root, dir: filepath.Join(root, "work"), bin: bin, program: starling, url: models.URL, models: models, env: maps.Clone(p.env), before: len(models.Requests())}
	for name, text := range p.home {
		w.write(filepath.Join("..", "home", name), strings.ReplaceAll(text, "URL", w.url))
	}
	w.write("../home/.empty", "")
	w.write(".keep", "")
	return w
}

// close ends a world. It stays where something went wrong, with what the model was asked.
func (w *realWorld) close(why string) {
	w.starling("stop")
	if why == "" {
		_ = os.RemoveAll(w.root) // what is left is in the cache folder
		return
	}
	asked, _ := json.Marshal(w.models.Requests()[w.before:])
	w.write("asked.json", string(asked))
}

func (w *realWorld) write(name, text string) {
	w.t.Helper()
	at := filepath.Join(w.dir, name)
	if err := os.MkdirAll(filepath.Dir(at), 0o700); err != nil {
		w.t.Fatal(err)
	}
	if err := os.WriteFile(at, []byte(text), 0o600); err != nil {
		w.t.Fatal(err)
	}
}

// mayEdit are the lines of an agent that may change files.
func (w *realWorld) mayEdit() string {
	if w.p.name == "codex-acp" {
		return "modifies = true\nmode = \"full-access\"\n"
	}
	return "modifies = true\n"
}

// project writes a project with the one agent a; more has further lines of it.
func (w *realWorld) project(more string) {
	w.t.Helper()
	var b strings.Builder
	var names, command []string
	for name := range w.env {
		names = append(names, fmt.Sprintf("%q", name))
	}
	for i, word := range w.p.command {
		if i == 0 {
			word = filepath.Join(w.bin, word)
		}
		command = append(command, fmt.Sprintf("%q", word))
	}
	fmt.Fprintf(&b, "[agents.a]\ncommand = [%s]\nenv = [%s]\n", strings.Join(command, ", "), strings.Join(names, ", "))
	if w.p.acp {
		b.WriteString("backend = \"acp\"\n")
	} else {
		fmt.Fprintf(&b, "preset = %q\n", w.p.name)
	}
	if !strings.Contains(more, "retries") {
		b.WriteString("retries = 0\n")
	}
	if w.p.mode != "" && !strings.Contains(more, "mode") {
		fmt.Fprintf(&b, "mode = %q\n", w.p.mode)
	}
	w.write("starling.toml", b.String()+more)
}

// script writes a script that returns an expression.
func (w *realWorld) script(expression string) {
	w.t.Helper()
	dir := func(step string) string { return strings.ReplaceAll(step, "DIR", w.dir) }
	ask := w.p.edit
	if w.p.ask != "" {
		ask = w.p.ask
	}
	w.write("go.star", fmt.Sprintf("EDIT = %q\nASK = %q\nHERE = %q\nSET = %q\n\ndef plan(*steps):\n    return \"PLAN<<[\" + \", \".join(steps) + \"]>>\"\n\ndef main():\n    return %s\n",
		dir(w.p.edit), dir(ask), strings.ReplaceAll(w.p.edit, "DIR/", ""), dir(w.p.set), expression))
}

// maxCase is how long a command of a case may take: one that hangs is one that failed.
const maxCase = 3 * time.Minute

func (w *realWorld) command(args ...string) *exec.Cmd {
	ctx, stop := context.WithTimeout(w.t.Context(), maxCase)
	w.t.Cleanup(stop)
	cmd := exec.CommandContext(ctx, w.program, args...)
	cmd.Dir, cmd.WaitDelay = w.dir, 10*time.Second
	cmd.Env = []string{"PATH=" + w.bin + ":" + os.Getenv("PATH"), "HOME=" + filepath.Join(w.root, "home"), "NO_COLOR=1"}
	for name, value := range w.env {
		cmd.Env = append(cmd.Env, name+"="+strings.ReplaceAll(value, "URL", w.url))
	}
	return cmd
}

func (w *realWorld) starling(args ...string) (out []byte, err error) {
	return w.command(args...).Output()
}

func (w *realWorld) git(args ...string) {
	w.t.Helper()
	cmd := exec.Command("git", append([]string{"-c", "user.name=t", "-c", "user.email=t@localhost"}, args...)...)
	cmd.Dir = w.dir
	if out, err := cmd.CombinedOutput(); err != nil {
		w.t.Fatalf("git %v: %v\n%s", args, err, out)
	}
}

// gives runs a script that returns an expression under a project with further lines, and says why
// it did not return want; "" where it did.
func (w *realWorld) gives(more, expression, want string) string {
	w.t.Helper()
	w.project(more)
	w.script(expression)
	out, _ := w.starling("run", "go.star", "--json")
	w.write("last.json", string(out))
	return w.said(out, want)
}

func (w *realWorld) said(out []byte, want string) string {
	var doc struct {
		Output json.RawMessage
		Error  *struct{ Message string }
	}
	switch err := json.Unmarshal(out, &doc); {
	case err != nil:
		return "it answers " + clipped(out)
	case string(doc.Output) == want:
		return ""
	case doc.Error != nil:
		return doc.Error.Message
	}
	return fmt.Sprintf("got %s, want %s", clipped(doc.Output), want)
}

func clipped(text []byte) string { return string(text[:min(len(text), 400)]) }

// maxTries is how often a model is asked with a key that its API refuses: codex-acp does not tell
// of its tries, and takes six.
const maxTries = 6

// endsAtOnce has an attempt fail that no other could mend, and no program go on trying.
func (w *realWorld) endsAtOnce(task string) string {
	why := w.gives("retries = 2\n", `[agent("a", `+task+`, on_error = "return").status, len(journal.events(types = ["attempt.started"]))]`, `["error",1]`)
	if n := len(w.models.Requests()) - w.before; why == "" && n > maxTries {
		return fmt.Sprintf("the model was asked %d times", n)
	}
	return why
}

// losesIt has the program lose a conversation that a second task is to go on with: that begins
// anew, and the journal says so.
func (w *realWorld) losesIt() string {
	w.project("")
	run := w.start(`[agent("a", plan('{"text": "one"}'), session = "s").text, gate("lost", options = ["approve"]).choice, agent("a", plan('{"text": "two"}'), session = "s").text]`)
	w.until("gate.opened")
	_ = run.Wait() // it waits for a person
	for _, kept := range []string{".claude/projects", ".codex/sessions", ".gemini/tmp"} {
		if err := os.RemoveAll(filepath.Join(w.root, "home", kept)); err != nil {
			return err.Error()
		}
	}
	out, _ := w.starling("approve", "@last/lost", "--json")
	if log, _ := w.starling("logs", "@last"); !bytes.Contains(log, []byte("could not be resumed")) {
		return "nothing says that a new conversation began: " + clipped(out)
	}
	out, _ = w.starling("show", "@last", "--json")
	return w.said(out, `["one","approve","two"]`)
}

// start starts a run of an expression.
func (w *realWorld) start(expression string) *exec.Cmd {
	w.t.Helper()
	w.script(expression)
	cmd := w.command("run", "go.star", "--json")
	cmd.Stdout = new(bytes.Buffer)
	if err := cmd.Start(); err != nil {
		w.t.Fatal(err)
	}
	return cmd
}

// ended waits for a run that was started.
func (w *realWorld) ended(run *exec.Cmd, want string) string {
	_ = run.Wait() // its output says how
	return w.said(run.Stdout.(*bytes.Buffer).Bytes(), want)
}

// until waits for a text in the journal, for a minute.
func (w *realWorld) until(text string) {
	for range 600 {
		if out, _ := w.starling("logs", "@last", "--jsonl"); bytes.Contains(out, []byte(text)) {
			return
		}
		time.Sleep(100 * time.Millisecond)
	}
}

// shows has an image of the workspace and one that is an artifact go with a task, and a third with
// the next task of the same conversation: the model is shown them all.
func (w *realWorld) shows() string {
	shot, later := w.image(64), w.image(48)
	w.write("shot 1.png", shot)
	w.write("later.png", later)
	why := w.gives("", `[
        agent("a", plan('{"text": "seen"}'), session = "s", files = ["shot 1.png", artifact("other.png", fs.read("shot 1.png", binary = True))]).text,
        agent("a", plan('{"text": "seen again"}'), session = "s", files = ["later.png"]).text]`, `["seen","seen again"]`)
	if why != "" {
		return why
	}
	first, second := 0, 0
	for _, r := range w.models.Requests()[w.before:] {
		first, second = max(first, strings.Count(r.Body, pngHead(shot))), max(second, strings.Count(r.Body, pngHead(later)))
	}
	if first < 2 || second < 1 {
		return fmt.Sprintf("the model was shown %d of 2 images, and %d of 1 in the next task", first, second)
	}
	return ""
}

func (w *realWorld) image(side int) string {
	var text bytes.Buffer
	if err := png.Encode(&text, image.NewRGBA(image.Rect(0, 0, side, side))); err != nil {
		w.t.Fatal(err)
	}
	return text.String()
}

// pngHead is how a PNG begins in base64, with its width and height.
func pngHead(text string) string { return base64.StdEncoding.EncodeToString([]byte(text[:24])) }

// asked waits for the model to be asked for its first turn: some keep a conversation no sooner.
func (w *realWorld) asked() { w.askedFor(1) }

// askedFor waits for a turn of the model, for a minute at most, and a second more.
func (w *realWorld) askedFor(turns int) {
	for range 600 {
		n := 0
		for _, r := range w.models.Requests()[w.before:] {
			if !r.Aside {
				n++
			}
		}
		if n >= turns {
			break
		}
		time.Sleep(100 * time.Millisecond)
	}
	time.Sleep(time.Second)
}

// killed ends Starling with SIGKILL in a turn of the model, and has the run go on. The plan is
// known to the conversation that was cut alone; some count the turn that was cut.
func (w *realWorld) killed(expression string, turn int) string {
	run := w.start(expression)
	w.askedFor(turn)
	_ = run.Process.Kill() // it ends
	_ = run.Wait()
	w.settle()
	text, _ := w.starling("resume", "@last", "--json")
	if out, _ := w.starling("logs", "@last"); bytes.Contains(out, []byte("could not be resumed")) {
		return "its conversation could not be resumed, and a new one began"
	}
	if why := w.said(text, `"cut"`); why == "" || w.said(text, `"over"`) != "" {
		return why
	}
	return ""
}

// settle waits for the next minute, for a program that forgets what it loads in this one.
func (w *realWorld) settle() {
	if w.p.forgets {
		time.Sleep(time.Until(time.Now().Truncate(time.Minute).Add(time.Minute + time.Second)))
	}
}

// early waits for the first half of a minute, for such a program to forget.
func (w *realWorld) early() {
	if w.p.forgets && time.Now().Second() > 30 {
		w.settle()
	}
}

// answersLate has people decide while nobody carries the run.
func (w *realWorld) answersLate() string {
	w.project("permissions = \"ask\"\n")
	run := w.start(`[agent("a", plan(ASK, ASK, ASK, '{"text": "done"}')).text, fs.read("answer.txt")]`) // the turn that is cut counts, as one or two
	w.until("gate.opened")
	_ = run.Process.Kill() // it ends
	_ = run.Wait()
	w.settle()
	if _, err := w.starling("approve", "@last/!permission:a", "--no-wait"); err != nil {
		return "its question cannot be answered: " + err.Error()
	}
	out, _ := w.starling("resume", "@last", "--json")
	return w.said(out, `["done","ready"]`)
}
