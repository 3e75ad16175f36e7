package agent

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/coder/acp-go-sdk"

	"starling/lang/effect"
	"starling/stdlib/process"
)

const (
	leaveTime   = 300 * time.Millisecond // that a program has to end once its standard input has
	cancelTime  = time.Second            // that it has to end a turn which was cancelled
	authMissing = -32000                 // the protocol's code for a session without a login
)

// acpAgent asks agents that speak the Agent Client Protocol: JSON-RPC, one message a line, over
// standard input and output. It is their client. An attempt is one process and one session, new or,
// where the attempt goes on with a conversation and the agent keeps sessions, loaded. The
// environment, guard and redaction are those of [command].
type acpAgent struct{}

// Ask leads one session to the end of its turn: when it returns, nothing that the program started
// is left.
func (acpAgent) Ask(ctx context.Context, q Question) effect.Reply {
	q.tellUnheld()
	closed, err := q.serveTools()
	if err != nil {
		return failed(effect.Errorf(effect.KindEffect, "%s: %v", q.Definition.Agent, err), effect.Retryable)
	}
	defer closed()
	spec, err := newSpec(q, invocation{env: geminiTrust()})
	if err != nil {
		return failed(effect.Errorf(effect.KindRefused, "%s: %v", q.Definition.Agent, err), effect.Missing)
	}
	undo, err := confined(q, &spec, invocation{})
	if err != nil {
		return failed(effect.Errorf(effect.KindRefused, "%s: %v", q.Definition.Agent, err), effect.Missing)
	}
	defer undo()
	s, err := startSession(q, spec)
	if err != nil {
		return judge{q, s}.notStarted(ctx, err)
	}
	// Whoever writes to a program that does not read waits, whatever its own context says.
	defer context.AfterFunc(ctx, func() { time.AfterFunc(cancelTime, func() { _ = s.hears.Close() }) })() // never fails
	fault := s.converse(ctx)
	result := s.leave()
	q.tellLacks(result)
	reply := q.equippedReply(s.judge(ctx, result, fault))
	reply.Blobs = judge{q, s}.transcript(result, s.heard)
	return reply
}

// session is one process and the conversation with it. As a [dialect] it hears what the process
// writes.
type session struct {
	acpTurn
	conn  *acp.Connection // for what the process is asked
	child *process.Child
	heard *outputStream
	hears *io.PipeWriter // what the process reads
	pass  *io.PipeWriter // its answers, on their way to said
	said  *io.PipeReader
	able  acp.AgentCapabilities
	ways  []string // in which it lets itself be logged in
	id    string

	version string   // as it tells it, "" where it does not
	modes   []string // that its session has

	keyless   *fault         // a try of the model's API was refused for its key
	raw       []byte         // the line that is being heard, keys and all
	over      atomic.Bool    // nothing is done for the process any more
	unread    chan struct{}  // a place for each answer that the process has not read
	answering sync.WaitGroup // those who have something to say to it
	asked     chan struct{}  // closed when the newest question for people has its answer, and all before it
}

// newSession is a session with a process that reads from in.
func newSession(q Question) (s *session, in *io.PipeReader) {
	in, hears := io.Pipe()
	said, pass := io.Pipe()
	s = &session{acpTurn: newTurn(q), hears: hears, pass: pass, said: said, unread: make(chan struct{}, maxUnread), asked: make(chan struct{})}
	close(s.asked)
	s.heard = newOutputStream(q, s, s.emit, func() { _ = said.Close() })
	return s, in
}

// startSession starts the program. The session is there for the judge also when it cannot.
func startSession(q Question, spec process.Spec) (*session, error) {
	s, in := newSession(q)
	s.conn = acp.NewConnection(unserved, s.hears, s.said)
	s.conn.SetLogger(slog.New(slog.DiscardHandler))
	spec.Stdin = in
	spec.OnLine = func(raw []byte, whole bool) {
		s.raw = raw
		s.heard.line(raw, whole)
	}
	child, err := process.Start(context.Background(), spec)
	if err != nil {
		_ = s.pass.Close() // never fails
		return s, err
	}
	s.child = child
	go func() {
		child.Wait()
		_ = s.pass.Close()
		_ = in.Close()
	}()
	return s, nil
}

// unserved is for what the connection is not given: what the process asks for is served in its
// place, see serve.
func unserved(_ context.Context, method string, _ json.RawMessage) (any, *acp.RequestError) {
	return nil, acp.NewMethodNotFound(method)
}

// meet greets the program, logs in where that is said and opens a session.
func (s *session) meet(ctx context.Context) (resumes bool, f *fault) {
	init, err := acp.SendRequest[greeting](s.conn, ctx, acp.AgentMethodInitialize, s.hello())
	if err != nil {
		return false, s.broken(err)
	}
	if init.ProtocolVersion != acp.ProtocolVersionNumber {
		return false, &fault{message: fmt.Sprintf("it speaks version %d of the protocol, and this build version %d", init.ProtocolVersion, acp.ProtocolVersionNumber), kind: effect.KindAgent,
			class: effect.Final, said: true}
	}
	if f := s.login(ctx, init.Logins); f != nil {
		return false, f
	}
	s.able, s.version = init.AgentCapabilities, init.Info.Version
	return s.open(ctx)
}

// converse has the program take turns until it has heard all that it is told.
func (s *session) converse(ctx context.Context) *fault {
	resumes, f := s.meet(ctx)
	if f != nil {
		return f
	}
	s.emit.say("session", "id", s.id)
	text, err := prompt(s.q, resumes)
	if err != nil {
		return &fault{message: err.Error(), kind: effect.KindRefused, class: effect.Final, said: true}
	}
	blocks := acpFiles(attached(s.q, resumes), s.able.PromptCapabilities)
	for text != "" {
		if text, f = s.take(ctx, append(blocks, acp.TextBlock(text))); f != nil {
			return f
		}
		blocks = nil
	}
	return nil
}

// take has the agent take one turn. What it is told meanwhile ends the turn, and is the text of the
// next; "" is the end.
func (s *session) take(ctx context.Context, blocks []acp.ContentBlock) (next string, f *fault) {
	type end struct {
		acp.PromptResponse
		err error
	}
	turning, stop := context.WithCancel(ctx)
	defer stop()
	s.begin(turning)
	ended := make(chan end, 1)
	go func() {
		r, err := acp.SendRequest[acp.PromptResponse](s.conn, context.Background(), acp.AgentMethodSessionPrompt,
			acp.PromptRequest{SessionId: acp.SessionId(s.id), Prompt: blocks})
		ended <- end{r, err}
	}()
	var told []effect.Steer
	for {
		select {
		case e := <-ended:
			s.flush(e.err == nil)
			if f := s.finish(e.PromptResponse, e.err, len(told) > 0); f != nil || len(told) == 0 {
				return "", f
			}
			s.emit.used(s.spent())
			return heed(told), nil
		case m := <-s.q.Told:
			told = append(told, m)
			stop()
			s.cancel()
		case <-ctx.Done():
			s.cancel()
			select {
			case e := <-ended:
				s.count(e.PromptResponse)
			case <-time.After(cancelTime):
			}
			s.flush(false)
			return "", nil
		}
	}
}

// cancel asks for the end of the turn.
func (s *session) cancel() {
	_ = s.conn.SendNotification(context.Background(), acp.AgentMethodSessionCancel, acp.CancelNotification{SessionId: acp.SessionId(s.id)}) // a dead peer is noticed by its turn
}

// heed puts into words what an agent was told, and says that it has it.
func heed(told []effect.Steer) string {
	var p paragraphs
	for _, m := range told {
		p.told(m.Message)
		m.Taken()
	}
	p.add("Go on with what you were asked.")
	return strings.Join(p.parts, "\n\n")
}

// finish takes how a turn ended. One that was cancelled to tell the agent something may end in any
// way.
func (s *session) finish(r acp.PromptResponse, err error, told bool) *fault {
	s.count(r)
	switch {
	case err != nil:
		return s.broken(err)
	case told, r.StopReason == acp.StopReasonEndTurn:
		return nil
	case s.refused() != nil:
		return s.refused()
	case r.StopReason == acp.StopReasonCancelled:
		return &fault{message: "it cancelled its turn", kind: effect.KindAgent, class: effect.Retryable, said: true}
	case r.StopReason == acp.StopReasonRefusal:
		return &fault{message: "it refuses: " + firstOf(s.q.shown(s.saidLast(), 200), "it does not say why"), kind: effect.KindAgent, class: effect.Final, said: true}
	}
	return &fault{message: fmt.Sprintf("it ended its turn early: %s", r.StopReason), kind: effect.KindAgent, class: effect.Final, said: true}
}

// refused is the fault of a turn that the agent gave up because it was refused something, by policy
// or by people: it would be refused again.
func (s *session) refused() *fault {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.denials > 0 {
		return denied(s.denial, "", s.denials)
	}
	if s.rejected != "" {
		return &fault{message: "it ended its turn when people refused it the tool " + s.rejected,
			kind: effect.KindDenied, class: effect.Final, said: true}
	}
	return nil
}

func tokensOf(u *acp.Usage) usage {
	count := func(n *int) int64 {
		if n == nil {
			return 0
		}
		return int64(*n)
	}
	read := count(u.CachedReadTokens)
	return usage{input: int64(u.InputTokens) + read + count(u.CachedWriteTokens), output: int64(u.OutputTokens) + count(u.ThoughtTokens), cached: read}
}

// broken is the fault of a request that came to nothing: what the program says is wrong, or, when
// it says nothing, that the connection is gone. How the process ended says more about that.
func (s *session) broken(err error) *fault {
	var said *acp.RequestError
	off := &fault{message: "it broke off in the middle of its turn", kind: effect.KindAgent, class: effect.Retryable}
	select {
	case <-s.conn.Done():
		return off
	default:
	}
	if errors.As(err, &said) && unsent(said) {
		return off
	}
	if said == nil {
		return &fault{message: err.Error(), kind: effect.KindAgent, class: effect.Retryable}
	}
	if said.Code == authMissing {
		return &fault{message: firstOf(said.Message, "it is not logged in") + s.howToLogin(), kind: effect.KindAgent, class: effect.Final, said: true}
	}
	text := said.Message
	if data, err := json.Marshal(said.Data); err == nil && said.Data != nil {
		text += ": " + string(data)
	}
	return toldFault(text)
}

// unsent tells whether a request did not reach the program, as it has closed its input. The library
// gives that as an error of the protocol, perhaps before it has noticed the end of the output.
func unsent(e *acp.RequestError) bool {
	data, ok := e.Data.(map[string]any)
	return ok && data["error"] == io.ErrClosedPipe.Error()
}

// leave ends the program, which may end by itself, and returns when nothing of it is left.
func (s *session) leave() process.Result {
	s.over.Store(true)
	_ = s.hears.Close() // never fails
	gone := make(chan struct{})
	go func() {
		defer close(gone)
		s.child.Wait()
	}()
	select {
	case <-gone:
	case <-time.After(leaveTime):
		s.child.Stop()
	}
	_ = s.said.Close() // what it still writes is for nobody
	<-gone
	s.answering.Wait()
	return s.child.Wait()
}

// judge turns the end of a conversation into a reply. The process may end as it likes once it has
// replied.
func (s *session) judge(ctx context.Context, r process.Result, f *fault) effect.Reply {
	j := judge{s.q, s}
	reply := effect.Reply{}
	switch {
	case ctx.Err() != nil:
		reply = cut(ctx, s.q.Definition.Agent)
	case f != nil && !f.said && (s.heard.over || s.heard.hopeless() != nil || !r.Stopped):
		reply = j.ended(ctx, r, s.heard)
	case f != nil:
		reply = j.faulty(f, string(r.Stderr))
	default:
		a, refused := s.answer()
		switch {
		case refused != nil:
			reply = j.faulty(refused, "")
		case a.empty():
			reply = j.fail(effect.Retryable, string(r.Stderr), "it ended its turn with an empty reply")
		default:
			reply = a.reply(s.q.Definition.Agent, s.q.Returns)
		}
	}
	if reply.Usage == nil {
		reply.Usage = s.spent()
	}
	reply.Session = s.id
	return reply
}

// invoke is for programs that are asked by their arguments and standard input: this one is asked by
// messages.
func (s *session) invoke(Question) (invocation, error) { return invocation{}, nil }

// answer is what the last turn came to.
func (s *session) answer() (answer, *fault) {
	if !s.ended {
		return answer{}, &fault{message: "it broke off in the middle of its turn", kind: effect.KindAgent, class: effect.Retryable}
	}
	if s.denials > 0 {
		return answer{}, denied(s.denial, "", s.denials)
	}
	if s.unasked != "" {
		return answer{}, &fault{message: "it changed files, which it may not, without asking for leave: " + s.unasked +
			"; name a mode in which it asks (it has: " + firstOf(strings.Join(s.modes, ", "), "none") + "), or set modifies = true", kind: effect.KindDenied, class: effect.Final, said: true}
	}
	return answer{text: s.saidLast(), status: "ok", usage: s.spent(), session: s.id}, nil
}

func (s *session) conversation() string { return s.id }

func (*session) exit(code int) (class effect.Failure, meaning string) { return exitFailure(code) }
