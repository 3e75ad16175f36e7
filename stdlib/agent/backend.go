package agent

import (
	"context"
	"sync"
	"time"

	"go.starlark.net/starlark"

	"starling/lang/effect"
	"starling/stdlib/redact"
	"starling/stdlib/secret"
	"starling/stdlib/tool"
)

// Backend asks agents of one kind. It is used concurrently.
type Backend interface {
	// Ask performs exactly one attempt and returns when it is over and nothing of it is left, also
	// when ctx ends. What is wrong with an attempt is in the reply; a reply that came is not
	// checked against the contract.
	Ask(ctx context.Context, q Question) effect.Reply
}

// Question is one attempt of one request with what its resolver found.
type Question struct {
	*effect.Attempt
	Definition Definition
	Request    *effect.Record // what the agent is sent, an effect.QuestionType
	Files      []file         // what goes with it
	Tools      *tool.Proxy    // what it may use of tool servers, nil for nothing
	Endpoint   *tool.Endpoint // where a program finds them, nil without

	// What an agent says goes into the journal and to people, and what it was given must not go
	// with it. Errors and transcripts hide the value of every declared variable; replies and events
	// hide keys: see [secret.Keys].
	hidden, keys *redact.Redactor
}

// Cast says who plays an agent instead of its function in the fake: what a scripted function would
// return to the request. ok is false for an agent that nobody plays.
type Cast func(agent string) (part func(ctx context.Context, request starlark.Value) (starlark.Value, error), ok bool)

// Handlers returns the handlers of agent, handoff and project. load loads the fakes of runs; cast
// comes first, nil for nobody; servers are those whose tools agents use.
func Handlers(load LoadScript, cast Cast, servers *tool.Servers) map[string]*effect.Handler {
	fakes := &fakes{load: load, cast: cast}
	backends := map[string]Backend{backendCommand: command{}, backendScripted: scripted{fakes},
		backendAnthropic: model{askAnthropic}, backendOpenAI: model{askOpenAI}, backendACP: acpAgent{}, backendMCP: toolAgent{}, backendCassette: cassette{}}
	var tapes sync.Mutex
	r := resolver{fakes}
	perform := func(ctx context.Context, a *effect.Attempt) effect.Reply {
		return ask(ctx, backends, servers, &tapes, a)
	}
	return map[string]*effect.Handler{
		"agent":   {Resolve: r.agent, Perform: perform, Question: question, Workspace: true},
		"handoff": {Resolve: r.handoff, Perform: perform, Question: question, Workspace: true},
		"project": {Perform: finder{r, servers}.perform, Workspace: true},
	}
}

// question is what somebody is sent who comes for the work of an agent.
func question(a *effect.Attempt) (starlark.Value, *effect.Error) {
	d := definitionOf(a.Resolved, a.Backend)
	files, forget, err := readFiles(a)
	if err != nil {
		return nil, effect.Errorf(effect.KindRefused, "%s: %v", d.Agent, err)
	}
	forget() // who comes for the work is told of artifacts by their hashes, and finds no file of this process
	request, err := newRequest(a, d, files)
	if err != nil {
		return nil, effect.Errorf(effect.KindAgent, "%s: %v", d.Agent, err)
	}
	return request, nil
}

// maxWait is how long a backend may make a step wait while there is another that may serve.
const maxWait = time.Minute

func ask(ctx context.Context, backends map[string]Backend, servers *tool.Servers, tapes *sync.Mutex, a *effect.Attempt) effect.Reply {
	d := definitionOf(a.Resolved, a.Backend)
	files, forget, err := readFiles(a)
	if err != nil {
		return failed(effect.Errorf(effect.KindRefused, "%s: %v", d.Agent, err), effect.Final)
	}
	defer forget()
	if len(files) > 0 {
		a.Emit("files", withKey(new(starlark.Dict), "files", describe(files, false)))
	}
	request, err := newRequest(a, d, files)
	if err != nil {
		return failed(effect.Errorf(effect.KindAgent, "%s: %v", d.Agent, err), effect.Final)
	}
	backend, ok := backends[d.Backend]
	if !ok {
		return failed(effect.Errorf(effect.KindRefused, "%s: this build has no backend %q", d.Agent, d.Backend), effect.Missing)
	}
	if d.Envelope != nil {
		tellLeftOut(a, d.Envelope)
	}
	backend = equipped{backend, servers}
	if d.Cassette != "" && d.Backend != backendCassette {
		backend = recorder{backend, tapes}
	}
	p := newPricing(a.Settings, d.Candidate)
	a = p.attempt(a)
	reply := backend.Ask(ctx, Question{Attempt: a, Definition: d, Request: request, Files: files, hidden: secret.Given(a, d.Env), keys: secret.Keys(a, d.Env)})
	reply.Backend, reply.Usage = d.Serves, p.priced(reply.Usage)
	if a.GoesOn && reply.Err != nil && full().MatchString(reply.Err.Message) {
		reply.Class = effect.Retryable // another attempt begins a new conversation
	}
	if d.Envelope != nil {
		keepEnvelope(&reply, d.Envelope)
	}
	if d.Next && reply.Class == effect.Retryable && reply.After > maxWait {
		reply.Class = effect.Missing
	}
	return reply
}

// equipped is a backend with the tool servers of the attempt, which are at work while it lasts.
type equipped struct {
	backend Backend
	servers *tool.Servers
}

// Ask starts the servers first.
func (b equipped) Ask(ctx context.Context, q Question) effect.Reply {
	p, fault := openTools(ctx, b.servers, q)
	if fault != nil {
		return *fault
	}
	if p != nil {
		defer p.Close()
	}
	q.Tools = p
	return b.backend.Ask(ctx, q)
}

func failed(err *effect.Error, class effect.Failure) effect.Reply {
	return effect.Reply{Err: err, Class: class}
}

// cut makes the reply of an attempt that ctx ended.
func cut(ctx context.Context, agent string) effect.Reply {
	if context.Cause(ctx) == context.DeadlineExceeded || ctx.Err() == context.DeadlineExceeded {
		return failed(effect.Errorf(effect.KindTimeout, "%s: no reply before the deadline", agent), effect.Final)
	}
	return failed(effect.Errorf(effect.KindCancelled, "%s: cancelled", agent), effect.Final)
}
