package agent

import (
	"context"
	"encoding/json"
	"io"

	"github.com/coder/acp-go-sdk"
)

// What a program tells and asks for is handled in the order in which it comes, on the one goroutine
// that hears it, before anything behind it is read: so the journal has it in that order, files are
// written in that order, and whoever floods is read from no faster than it is served. Only people
// are waited for beside it. The connection of the SDK would do it otherwise: what is told in turn,
// what is asked for in a goroutine each, without end.

const (
	maxUnread    = 16 // answers that the program has not read: each is a file at most
	maxQuestions = 16 // that wait for people; more are denied
)

// message is what comes over the wire. An answer has no method, what only tells has no id.
type message struct {
	ID     *json.RawMessage `json:"id"`
	Method string           `json:"method"`
	Params json.RawMessage  `json:"params"`
}

// line handles a message; answers to what the program was asked are the connection's. What is no
// message is passed over: programs greet.
func (s *session) line(line string, _ emitter) (counts bool) {
	var m message
	switch {
	case !decode(line, &m) || m.ID == nil && m.Method == "":
	case m.Method == "":
		_, _ = io.WriteString(s.pass, line+"\n") // fails when nobody listens any more
	case s.over.Load():
	case m.ID != nil:
		s.serve(&m)
	case m.Method == acp.ClientMethodSessionUpdate:
		s.update(m.Params)
	case m.Method == "_claude/sdkMessage":
		s.tried(m.Params)
	case m.Method == "$/cancel_request":
		s.forgo(m.Params)
	}
	return false
}

// tried hears of a try of the model's API that failed, from a program that was asked to tell.
func (s *session) tried(params json.RawMessage) {
	var p struct {
		Message claudeLine `json:"message"`
	}
	if json.Unmarshal(params, &p) != nil || p.Message.Subtype != "api_retry" {
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.keyless = p.Message.retried(s.emit)
}

// hopeless is a key that the model's API refuses.
func (s *session) hopeless() *fault { return s.keyless }

// serve does what the program asks of its client. There are no terminals: commands are its own to
// run, where it has leave.
func (s *session) serve(m *message) {
	switch m.Method {
	case acp.ClientMethodSessionRequestPermission:
		s.permit(m)
	case acp.ClientMethodFsReadTextFile:
		s.serveFile(m, s.readFile)
	case acp.ClientMethodFsWriteTextFile:
		s.serveFile(m, s.writeFile)
	default:
		s.answerTo(m.ID, nil, acp.NewMethodNotFound(m.Method))
	}
}

// serveFile reads or writes a file, where the agent was offered that.
func (s *session) serveFile(m *message, do func(json.RawMessage) (any, *acp.RequestError)) {
	if s.q.Definition.OwnFiles {
		s.answerTo(m.ID, nil, acp.NewMethodNotFound(m.Method))
		return
	}
	result, refused := do(s.params())
	s.answerTo(m.ID, result, refused)
}

// params are those of the message that is being heard as the program has sent them: files are what
// it says, not what the journal shows of it.
func (s *session) params() json.RawMessage {
	var m message
	_ = json.Unmarshal(s.raw, &m) // what is shown of it is a message
	return m.Params
}

// answerTo answers a request. While the program reads none of its answers, it is not heard: they
// would pile up. Writing ends with the program.
func (s *session) answerTo(id *json.RawMessage, result any, refused *acp.RequestError) {
	s.unread <- struct{}{}
	s.answering.Go(func() {
		defer func() { <-s.unread }()
		s.write(id, result, refused)
	})
}

func (s *session) write(id *json.RawMessage, result any, refused *acp.RequestError) {
	m := struct {
		Version string            `json:"jsonrpc"`
		ID      *json.RawMessage  `json:"id"`
		Result  any               `json:"result,omitempty"`
		Error   *acp.RequestError `json:"error,omitempty"`
	}{"2.0", id, result, refused}
	text, err := json.Marshal(m)
	if err != nil {
		panic("agent: " + err.Error()) // an id that was read, and types of the SDK
	}
	_, _ = s.hears.Write(append(text, '\n')) // fails when nobody reads any more
}

// forgo withdraws a question that the program does not want answered any more.
func (s *session) forgo(params json.RawMessage) {
	var p struct {
		ID json.RawMessage `json:"requestId"`
	}
	if json.Unmarshal(params, &p) == nil {
		s.settle(string(p.ID))
	}
}

// question makes the context of a question for people, which ends with the turn and when the
// program forgoes it. There is none outside of a turn, or behind too many.
func (t *acpTurn) question(id string) context.Context {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.ctx == nil || len(t.questions) >= maxQuestions || t.questions[id] != nil {
		return nil
	}
	ctx, stop := context.WithCancel(t.ctx)
	t.questions[id] = stop
	return ctx
}

// settle forgets a question.
func (t *acpTurn) settle(id string) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if stop := t.questions[id]; stop != nil {
		stop()
		delete(t.questions, id)
	}
}
