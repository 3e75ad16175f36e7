// Package acptest is an agent for tests that speaks the Agent Client Protocol as real ones do, at
// their best and at their worst.
package acptest

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"os"
	"regexp"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"time"

	"github.com/coder/acp-go-sdk"
)

// Main serves standard input and output until they end. Arguments are what it can do (load, resume,
// http, images, aloof: it turns to no tool server, login, version=N, log=FILE, where each prompt,
// tool server, choice and session that it goes on with is noted; modes, models and options: it lets
// itself be told a mode and a model, as agents did and as they do; greeted: it notes which files it
// is offered) and what it does in a turn, one after the other:
//
//	says=TEXT thinks=TEXT plan=TEXT link=URL    tells; KEY stands for the variable MODEL_KEY
//	var=NAME                                    says what a variable of its environment holds
//	spells=                                     says a page and the variable MODEL_KEY, in pieces that break off within it
//	tool=KIND:TITLE                             tells of a tool that it uses, and that it has
//	ask=KIND:TITLE[:PATH]                       asks for leave, and says TITLE: selected, or cancelled
//	told=KIND:TITLE[:PATH]                      the same, but tells of the tool first, and then asks with no more than its id
//	read=PATH write=PATH:TEXT terminal=         asks its client, and says what that answers
//	writes=PATH                                 asks to write a file 30 times at once, and says how often it was
//	asks=N                                      asks for leave for N commands at once, and says how many it was given
//	symlink=PATH:TARGET                         makes a link, in the place of what is there
//	long=KIND:TITLE:N                           asks for leave with an input of N bytes, which begins as every other and ends with the title
//	deluge=N                                    asks for the file b N times
//	echo=                                       says what it is prompted
//	quota=IN:OUT:MODEL,…                        tells of its usage in the words of Gemini CLI
//	tokens=IN:OUT cost=USD before=USD           tells of its usage: of this turn, of the session so far, of the session when it is loaded
//	raw=LINE wait=FILE                          writes a line as it is, waits for a file
//	garbage= flood=N                            writes what is no message, or so many
//	fail=TEXT stop=REASON exit=CODE die=                  ends the turn
//	retry=STATUS                                tells of a failed try of the model's API, if it was asked to tell; with 401 it goes on trying
//	hang=FILE                                   makes a file and waits until the turn is cancelled; once, and is quick in further turns
//	deaf=FILE                                   the same, but never hears that
//	stall=FILE                                  reads no more than the first 64 KiB of what it is sent, and makes a file then
func Main(args []string) {
	a := &agent{args: args, cancelled: make(chan struct{}, 8)}
	fmt.Println("agent, at your service") // as many do
	heard, hears := io.Pipe()             // nothing is heard before the connection is set up
	a.conn = acp.NewConnection(a.serve, os.Stdout, heard)
	a.conn.SetLogger(slog.New(slog.DiscardHandler))
	_, err := io.Copy(hears, a.input())
	_ = hears.CloseWithError(err) // never fails
	<-a.conn.Done()
}

func (a *agent) input() io.Reader {
	if file, ok := a.option("stall"); ok {
		return io.MultiReader(io.LimitReader(os.Stdin, 64<<10), stalled(file))
	}
	return os.Stdin
}

// stalled is a reader that makes a file and then reads nothing.
type stalled string

func (file stalled) Read([]byte) (int, error) {
	if err := os.WriteFile(string(file), nil, 0o600); err != nil {
		panic(err)
	}
	time.Sleep(time.Hour)
	return 0, io.EOF
}

// agent is one process.
type agent struct {
	args      []string
	conn      *acp.Connection
	session   acp.SessionId
	turns     int
	calls     int
	known     bool // it was logged in
	tells     bool // it was asked to tell of failed tries
	cancelled chan struct{}
}

// option is the value of an argument, and whether it is there.
func (a *agent) option(name string) (string, bool) {
	for _, arg := range a.args {
		if key, value, _ := strings.Cut(arg, "="); key == name {
			return value, true
		}
	}
	return "", false
}

func (a *agent) serve(_ context.Context, method string, params json.RawMessage) (any, *acp.RequestError) {
	switch method {
	case acp.AgentMethodInitialize:
		var p acp.InitializeRequest
		if err := json.Unmarshal(params, &p); err != nil {
			return nil, acp.NewInvalidParams(err.Error())
		}
		fs := p.ClientCapabilities.Fs
		if _, ok := a.option("greeted"); ok {
			a.note(fmt.Sprintf("offered read=%t write=%t", fs.ReadTextFile, fs.WriteTextFile))
		}
		return a.hello(), nil
	case acp.AgentMethodSessionNew:
		if _, ok := a.option("login"); ok && !a.known {
			return nil, &acp.RequestError{Code: -32000, Message: "Authentication required"}
		}
		a.session = "new1"
		var p acp.NewSessionRequest
		if err := json.Unmarshal(params, &p); err != nil {
			return nil, acp.NewInvalidParams(err.Error())
		}
		_, a.tells = p.Meta["claudeCode"]
		for _, m := range p.McpServers {
			a.note(fmt.Sprintf("server %s %s %.7s", m.Http.Name, m.Http.Headers[0].Name, m.Http.Headers[0].Value))
			a.greet(m.Http)
		}
		return a.opened(), nil
	case acp.AgentMethodSessionLoad:
		a.session = sessionOf(params)
		a.note("load " + string(a.session))
		a.tell(acp.UpdateAgentMessageText("This I said before."))
		if usd, ok := a.option("before"); ok {
			a.act("cost", usd)
		}
		return acp.LoadSessionResponse{}, nil
	case acp.AgentMethodSessionResume:
		a.session = sessionOf(params)
		a.note("resume " + string(a.session))
		return a.opened(), nil
	case acp.AgentMethodAuthenticate:
		a.known = true
		a.note(fmt.Sprintf("login %s", params))
		return acp.AuthenticateResponse{}, nil
	case acp.AgentMethodSessionSetMode, acp.AgentMethodSessionSetModel, acp.AgentMethodSessionSetConfigOption:
		a.note(fmt.Sprintf("%s %s", method, params))
		return struct{}{}, nil
	case acp.AgentMethodSessionCancel:
		a.cancelled <- struct{}{}
		return nil, nil
	case acp.AgentMethodSessionPrompt:
		return a.turn(params)
	}
	return nil, acp.NewMethodNotFound(method)
}

// greet turns to a tool server, as real agents do when a session begins.
func (a *agent) greet(server *acp.McpServerHttpInline) {
	if _, ignores := a.option("aloof"); ignores {
		return
	}
	const hello = `{"jsonrpc":"2.0","id":1,"method":"tools/list","params":{}}`
	r, err := http.NewRequest(http.MethodPost, server.Url, strings.NewReader(hello))
	if err != nil {
		panic(err)
	}
	r.Header.Set("Content-Type", "application/json")
	r.Header.Set("Accept", "application/json, text/event-stream")
	r.Header.Set(server.Headers[0].Name, server.Headers[0].Value)
	resp, err := http.DefaultClient.Do(r)
	if err != nil {
		panic(err)
	}
	resp.Body.Close()
}

func sessionOf(params json.RawMessage) acp.SessionId {
	var p struct {
		ID acp.SessionId `json:"sessionId"`
	}
	if err := json.Unmarshal(params, &p); err != nil {
		panic(err)
	}
	return p.ID
}

func (a *agent) hello() acp.InitializeResponse {
	version := acp.ProtocolVersionNumber
	if v, ok := a.option("version"); ok {
		version, _ = strconv.Atoi(v)
	}
	able := acp.AgentCapabilities{}
	_, able.LoadSession = a.option("load")
	_, able.McpCapabilities.Http = a.option("http")
	_, able.PromptCapabilities.Image = a.option("images")
	if _, ok := a.option("resume"); ok {
		able.SessionCapabilities.Resume = &acp.SessionResumeCapabilities{}
	}
	return acp.InitializeResponse{ProtocolVersion: acp.ProtocolVersion(version), AgentCapabilities: able, AuthMethods: a.logins()}
}

func (a *agent) logins() []acp.AuthMethod {
	if _, ok := a.option("login"); !ok {
		return []acp.AuthMethod{}
	}
	return []acp.AuthMethod{{Agent: &acp.AuthMethodAgent{Id: "account", Name: "Account"}},
		{Agent: &acp.AuthMethodAgent{Id: "api-key", Name: "Key"}}}
}

func served(models string) (list []map[string]string) {
	for name := range strings.SplitSeq(models, ",") {
		list = append(list, map[string]string{"model": name})
	}
	return list
}

// opened is the answer to the request for a session, with what can be chosen in it.
func (a *agent) opened() map[string]any {
	o := map[string]any{"sessionId": a.session}
	current := "ask"
	if begins, ok := a.option("modes"); ok {
		current = cmp.Or(begins, current)
		o["modes"] = json.RawMessage(`{"currentModeId": "` + current + `", "availableModes": [
			{"id": "` + current + `", "name": "First"}, {"id": "auto", "name": "Auto"}]}`)
	}
	if _, ok := a.option("models"); ok {
		o["models"] = json.RawMessage(`{"currentModelId": "small", "availableModels": [
			{"modelId": "small", "name": "S"}, {"modelId": "large", "name": "L"}]}`)
	}
	if _, ok := a.option("options"); ok {
		o["configOptions"] = json.RawMessage(`[
			{"type": "novelty", "id": "n", "of": 1}, {"type": "boolean", "id": "b", "currentValue": true},
			{"type": "select", "id": "m1", "name": "Mode", "category": "mode", "currentValue": "` + current + `",
			 "options": [{"value": "` + current + `", "name": "First"}, {"value": "auto", "name": "Auto"}]},
			{"type": "select", "id": "m2", "name": "Model", "category": "model", "currentValue": "small",
			 "options": [{"group": "g", "name": "All", "options": [
				{"value": "small", "name": "S"}, {"value": "large", "name": "L"}]}]}]`)
	}
	return o
}

func (a *agent) tell(u acp.SessionUpdate) {
	_ = a.conn.SendNotification(context.Background(), acp.ClientMethodSessionUpdate, acp.SessionNotification{SessionId: a.session, Update: u}) // a client that has gone ends the process
}

func (a *agent) say(text string) {
	a.tell(acp.UpdateAgentMessageText(keyed(text)))
}

// keyed puts the key where it belongs.
func keyed(text string) string {
	return regexp.MustCompile(`\bKEY\b`).ReplaceAllString(text, os.Getenv("MODEL_KEY"))
}

// turn does what the arguments say, one after the other.
func (a *agent) turn(params json.RawMessage) (any, *acp.RequestError) {
	var p acp.PromptRequest
	if err := json.Unmarshal(params, &p); err != nil {
		return nil, acp.NewInvalidParams(err.Error())
	}
	prompt := p.Prompt[len(p.Prompt)-1].Text.Text
	for _, b := range p.Prompt[:len(p.Prompt)-1] {
		switch {
		case b.Image != nil:
			a.note(fmt.Sprintf("image %s %s", b.Image.MimeType, b.Image.Data))
		case b.ResourceLink != nil:
			a.note(fmt.Sprintf("link %s %s %s", b.ResourceLink.Name, *b.ResourceLink.MimeType, b.ResourceLink.Uri))
		}
	}
	a.note(fmt.Sprintf("%s %q", a.session, prompt))
	a.turns++
	r := acp.PromptResponse{StopReason: acp.StopReasonEndTurn}
	for _, arg := range a.args {
		do, what, _ := strings.Cut(arg, "=")
		switch do {
		case "echo":
			a.say(prompt)
		case "tokens":
			in, out, _ := strings.Cut(what, ":")
			r.Usage = &acp.Usage{InputTokens: number(in), OutputTokens: number(out), CachedReadTokens: acp.Ptr(1)}
		case "quota": // as Gemini CLI tells it
			in, rest, _ := strings.Cut(what, ":")
			out, models, _ := strings.Cut(rest, ":")
			r.Meta = map[string]any{"quota": map[string]any{"token_count": map[string]int{"input_tokens": number(in), "output_tokens": number(out)},
				"model_usage": served(models)}}
		case "stop":
			r.StopReason = acp.StopReason(what)
		case "fail":
			return nil, acp.NewInternalError(map[string]any{"details": what})
		case "hang", "deaf":
			if a.hang(what, do == "deaf") {
				r.StopReason = acp.StopReasonCancelled
				return r, nil
			}
		default:
			a.act(do, what)
		}
	}
	return r, nil
}

func number(s string) int {
	n, err := strconv.Atoi(s)
	if err != nil {
		panic(err)
	}
	return n
}

func (a *agent) note(line string) {
	file, ok := a.option("log")
	if !ok {
		return
	}
	f, err := os.OpenFile(file, os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o600)
	if err == nil {
		_, err = fmt.Fprintln(f, line)
		f.Close()
	}
	if err != nil {
		panic(err)
	}
}

// hang waits for the end of the first turn, and tells whether it was cancelled.
func (a *agent) hang(file string, deaf bool) bool {
	if a.turns > 1 {
		return false
	}
	if err := os.WriteFile(file, nil, 0o600); err != nil {
		panic(err)
	}
	if deaf {
		time.Sleep(time.Hour)
	}
	<-a.cancelled
	return true
}

func (a *agent) act(do, what string) {
	switch do {
	case "says":
		a.say(what)
	case "var":
		a.say(os.Getenv(what))
	case "spells":
		key := os.Getenv("MODEL_KEY")
		a.say(strings.Repeat("x", 1024) + key[:len(key)/2])
		a.say(key[len(key)/2:] + ".")
	case "thinks":
		a.tell(acp.UpdateAgentThoughtText(what))
	case "plan":
		a.tell(acp.UpdatePlan(acp.PlanEntry{Content: what, Priority: acp.PlanEntryPriorityHigh, Status: acp.PlanEntryStatusCompleted}))
	case "link":
		a.tell(acp.UpdateAgentMessage(acp.ResourceLinkBlock("a link", what)))
	case "cost":
		usd, _ := strconv.ParseFloat(what, 64)
		a.tell(acp.SessionUpdate{UsageUpdate: &acp.SessionUsageUpdate{SessionUpdate: "usage_update", Used: 100, Size: 1000, Cost: &acp.Cost{Amount: usd, Currency: "USD"}}})
	case "tool":
		kind, title, _ := strings.Cut(what, ":")
		id := a.call()
		a.tell(acp.StartToolCall(id, title, acp.WithStartKind(acp.ToolKind(kind)), acp.WithStartRawInput(map[string]any{"of": title})))
		a.tell(acp.UpdateToolCall(id, acp.WithUpdateStatus(acp.ToolCallStatusCompleted)))
	case "garbage":
		fmt.Println(`loading…` + "\n{\n[]\n{\"jsonrpc\":\"2.0\"}\n" + `{"jsonrpc":"2.0","method":"session/update","params":{"sessionId":"x","update":{"sessionUpdate":"novelty","of":[1]}}}` +
			"\n" + `{"jsonrpc":"2.0","method":"session/update","params":3}` + "\n" + `{"jsonrpc":"2.0","id":99,"result":{}}`)
	case "raw":
		fmt.Println(what)
	case "retry":
		for try := 1; try <= 2 && a.tells && (try == 1 || what == "401"); try++ {
			fmt.Printf(`{"jsonrpc":"2.0","method":"_claude/sdkMessage","params":{"sessionId":"new1","message":{"type":"system","subtype":"api_retry",`+
				`"attempt":%d,"max_retries":10,"error_status":%s,"error":"told"}}}`+"\n", try, what)
		}
		if what == "401" {
			time.Sleep(time.Hour)
		}
	case "wait":
		for {
			if _, err := os.Stat(what); err == nil {
				return
			}
			time.Sleep(time.Millisecond)
		}
	case "flood":
		for range number(what) {
			a.say("x")
		}
	case "symlink":
		path, target, _ := strings.Cut(what, ":")
		_ = os.Remove(path) // it need not be there
		if err := os.Symlink(target, path); err != nil {
			panic(err)
		}
	case "deluge":
		for i := range number(what) {
			fmt.Printf(`{"jsonrpc":"2.0","id":"d%d","method":"fs/read_text_file","params":{"sessionId":"x","path":"b"}}`+"\n", i)
		}
	case "exit":
		os.Exit(number(what))
	case "die":
		_ = syscall.Kill(os.Getpid(), syscall.SIGKILL) // does not return
	default:
		a.request(do, what)
	}
}

// request asks the client for something.
func (a *agent) request(do, what string) {
	first, rest, _ := strings.Cut(what, ":")
	ctx := context.Background()
	var said string
	var err error
	switch do {
	case "ask", "told":
		said, err = a.ask(ctx, first, rest, do == "told")
	case "read":
		var r acp.ReadTextFileResponse
		r, err = acp.SendRequest[acp.ReadTextFileResponse](a.conn, ctx, acp.ClientMethodFsReadTextFile, acp.ReadTextFileRequest{SessionId: a.session, Path: absolute(first), Line: acp.Ptr(2), Limit: acp.Ptr(1)})
		said = r.Content
	case "write":
		_, err = acp.SendRequest[acp.WriteTextFileResponse](a.conn, ctx, acp.ClientMethodFsWriteTextFile, acp.WriteTextFileRequest{SessionId: a.session, Path: absolute(first), Content: keyed(rest)})
		said = "written"
	case "long":
		said, err = a.long(ctx, first, rest)
	case "asks":
		said = strconv.Itoa(a.asks(ctx, number(first)))
	case "writes":
		said = strconv.Itoa(a.writes(ctx, acp.WriteTextFileRequest{SessionId: a.session, Path: absolute(first), Content: strings.Repeat("x", 100_000)}))
	case "terminal":
		_, err = acp.SendRequest[acp.CreateTerminalResponse](a.conn, ctx, acp.ClientMethodTerminalCreate, acp.CreateTerminalRequest{SessionId: a.session, Command: "true"})
		said = "opened"
	default:
		return // what it can, not what it does
	}
	if err != nil {
		said = "refused"
	}
	a.say(said + ". ")
}

// writes asks to write a file many times at once, and tells how often it was written.
func (a *agent) writes(ctx context.Context, r acp.WriteTextFileRequest) int {
	var done atomic.Int64
	var all sync.WaitGroup
	for i := range 30 {
		r := r
		r.Content += strconv.Itoa(i)
		all.Go(func() {
			if _, err := acp.SendRequest[acp.WriteTextFileResponse](a.conn, ctx, acp.ClientMethodFsWriteTextFile, r); err == nil {
				done.Add(1)
			}
		})
	}
	all.Wait()
	return int(done.Load())
}

// asks asks for leave many times at once, and tells how often it was given.
func (a *agent) asks(ctx context.Context, n int) int {
	var given atomic.Int64
	var all sync.WaitGroup
	for i := range n {
		call := acp.ToolCallUpdate{ToolCallId: a.call(), Title: acp.Ptr(strconv.Itoa(i)), Kind: acp.Ptr(acp.ToolKindExecute)}
		all.Go(func() {
			if said, err := a.leave(ctx, call); err == nil && said == "allow" {
				given.Add(1)
			}
		})
	}
	all.Wait()
	return int(given.Load())
}

// long asks for leave for something long.
func (a *agent) long(ctx context.Context, kind, rest string) (string, error) {
	title, size, _ := strings.Cut(rest, ":")
	said, err := a.leave(ctx, acp.ToolCallUpdate{ToolCallId: a.call(), Title: &title, Kind: acp.Ptr(acp.ToolKind(kind)), RawInput: strings.Repeat("x", number(size)) + title})
	return title + ": " + said, err
}

// absolute is a path from the root, with its dots and links as they are.
func absolute(path string) string {
	folder, err := os.Getwd()
	if err != nil {
		panic(err)
	}
	return folder + "/" + path
}

// call numbers the calls of tools.
func (a *agent) call() acp.ToolCallId {
	a.calls++
	return acp.ToolCallId("t" + strconv.Itoa(a.calls))
}

func (a *agent) ask(ctx context.Context, kind, rest string, told bool) (string, error) {
	title, path, _ := strings.Cut(rest, ":")
	var at []acp.ToolCallLocation
	if path != "" {
		at = []acp.ToolCallLocation{{Path: absolute(path)}}
	}
	call := acp.ToolCallUpdate{ToolCallId: a.call(), Title: acp.Ptr(title), Kind: acp.Ptr(acp.ToolKind(kind)), Locations: at, RawInput: map[string]any{"of": title}}
	if told {
		a.tell(acp.StartToolCall(call.ToolCallId, title, acp.WithStartKind(acp.ToolKind(kind))))
		a.tell(acp.UpdateToolCall(call.ToolCallId, acp.WithUpdateLocations(at), acp.WithUpdateRawInput(call.RawInput)))
		call = acp.ToolCallUpdate{ToolCallId: call.ToolCallId}
	}
	said, err := a.leave(ctx, call)
	return title + ": " + said, err
}

// leave asks for leave, and gives the option that was chosen.
func (a *agent) leave(ctx context.Context, call acp.ToolCallUpdate) (string, error) {
	r, err := acp.SendRequest[acp.RequestPermissionResponse](a.conn, ctx, acp.ClientMethodSessionRequestPermission, acp.RequestPermissionRequest{SessionId: a.session, ToolCall: call,
		Options: []acp.PermissionOption{{Kind: acp.PermissionOptionKindAllowAlways, Name: "Always", OptionId: "always"}, {Kind: acp.PermissionOptionKindAllowOnce, Name: "Allow", OptionId: "allow"},
			{Kind: acp.PermissionOptionKindRejectOnce, Name: "Reject", OptionId: "reject"}}})
	if err != nil || r.Outcome.Selected == nil {
		return "cancelled", err
	}
	return string(r.Outcome.Selected.OptionId), nil
}
