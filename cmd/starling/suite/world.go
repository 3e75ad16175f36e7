package suite

import (
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"go.starlark.net/starlark"

	"starling/lang/contract"
	"starling/lang/effect"
	"starling/lang/vm"
	"starling/stdlib"
	"starling/stdlib/agent"
)

// world is what surrounds the runs of one test: what the test has said of it so far. Its methods
// may be called concurrently.
type world struct {
	fake     []byte // the test file's bundle
	folder   string // the workspace
	reached  func(module string, n int) []atomic.Uint32
	compiled effect.Cache // the file's
	define   func(name, source string) error
	keep     func(name string, got starlark.Value) error // see Options.Snapshot

	mu        sync.Mutex // guards what follows
	script    agent.Script
	answers   []*answer
	casts     map[string]*cast
	responses []*response
	endings   []*ending
	crashes   []*crash
	due       bool     // a step is under way at which the power is to fail
	made      bool     // the folder is a git repository
	kept      []string // the names of the snapshots
	unnamed   int      // snapshots without a name of their own
}

// said is where a test has said something of its world: the step of the call.
type said struct {
	step string
	used bool
}

type answer struct {
	said
	gate, choice, by, reason string
	data                     []byte // JSON, nil for none
	after                    time.Duration
	override                 bool
	refused                  string
	at                       time.Time // when it is given, zero until the gate is seen
}

type cast struct {
	said
	function string
	replies  []starlark.Value
	asked    int
}

type response struct {
	said
	url, method, body, fault string
	status                   int
	delay                    time.Duration
}

type crash struct {
	said
	at   string
	left int
}

// environment is what scripts under test see, served by the world.
func (w *world) environment() *effect.Environment {
	env := *stdlib.Environment(stdlib.Options{Natives: vm.Natives(), Tests: true, Cast: w.cast,
		Transport: w, Reached: w.reached, Compiled: w.compiled})
	env.Handlers = maps.Clone(env.Handlers)
	for kind, h := range env.Handlers {
		wrapped := &effect.Handler{Resolve: h.Resolve, Perform: func(ctx context.Context, a *effect.Attempt) effect.Reply {
			ctx = context.WithValue(ctx, waiting{}, a.Wait)
			if w.cuts(a.Step) {
				a.Wait(ctx, forever)
				return effect.Reply{Err: effect.Errorf(effect.KindCancelled, "%s: cut", a.Step), Class: effect.Cut}
			}
			if kind == "workspace" {
				if err := w.repository(); err != nil {
					fault := effect.Errorf(effect.KindEffect, "%s: the test's folder: %v", a.Step, err)
					return effect.Reply{Err: fault}
				}
			}
			if e := w.ending(kind, effect.ViewOf(a.Args), true); e != nil {
				return e.reply(ctx, a)
			}
			return h.Perform(ctx, a)
		}}
		if kind == "sh" || kind == "measure" {
			wrapped.Resolve = w.notStarted(kind, h.Resolve)
		}
		if kind == "agent" || kind == "handoff" {
			wrapped.Resolve = func(s *effect.Settings, r *effect.Request) *effect.Error {
				if err := h.Resolve(s, r); err != nil {
					return err
				}
				return onlyScripted(r)
			}
		}
		env.Handlers[kind] = wrapped
	}
	env.Handlers["test"] = &effect.Handler{Perform: w.perform}
	return &env
}

// repository makes the test's folder an empty git repository, as gitrepository-layout(5) has it,
// before the first step of workspace.
func (w *world) repository() error {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.made {
		return nil
	}
	for _, folder := range []string{"objects", filepath.Join("refs", "heads")} {
		if err := os.MkdirAll(filepath.Join(w.folder, ".git", folder), 0o700); err != nil {
			return err
		}
	}
	head := filepath.Join(w.folder, ".git", "HEAD")
	err := os.WriteFile(head, []byte("ref: refs/heads/main\n"), 0o600)
	w.made = err == nil
	return err
}

// forever is longer than any test: the power fails before it is over.
const forever = 1 << 62

// onlyScripted refuses agents that a test would have to pay for.
func onlyScripted(r *effect.Request) *effect.Error {
	resolved, err := r.Resolved.View()
	if err != nil {
		return nil
	}
	candidates, _ := resolved.Value("candidates").(*starlark.List)
	for i := range candidates.Len() {
		if c := effect.ViewOf(candidates.Index(i)); c.Text("backend") != "scripted" && c.Text("backend") != "cassette" {
			return effect.Errorf(effect.KindRefused, "no agent %q in the test: agents of the project are not asked in tests; define it as a function of the test file, say play(%q, …), or give it a cassette",
				c.Text("serves"), resolved.Text("agent"))
		}
	}
	return nil
}

// perform takes what the test says.
func (w *world) perform(_ context.Context, a *effect.Attempt) effect.Reply {
	args := effect.ViewOf(a.Args)
	with := args.Sub("with")
	if args.Text("do") == "define" {
		if err := w.define(with.Text("name"), with.Text("source")); err != nil {
			return effect.Reply{Err: effect.Errorf(effect.KindRefused, "define: %v", err)}
		}
		return effect.Reply{Value: starlark.None}
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	s := said{step: a.Step}
	switch args.Text("do") {
	case "assert.snapshot":
		if err := w.snapshot(with); err != nil {
			return effect.Reply{Err: err}
		}
	case "answer":
		w.answers = append(w.answers, newAnswer(s, with))
	case "respond":
		w.responses = append(w.responses, newResponse(s, with))
	case "complete":
		w.endings = append(w.endings, newEnding(s, with))
	case "crash_at":
		w.crashes = append(w.crashes, &crash{said: s, at: with.Text("step"), left: int(with.Int("times"))})
	case "play":
		if err := w.recast(s, with); err != nil {
			return effect.Reply{Err: err}
		}
	}
	return effect.Reply{Value: starlark.None}
}

// snapshot compares a value with what was kept of it. Those without a name are numbered, in the
// order of the calls. It is called with mu held.
func (w *world) snapshot(with effect.View) *effect.Error {
	name, before := with.Text("name"), with.Text("message")
	if before != "" {
		before += ": "
	}
	if name == "" {
		w.unnamed++
		name = strconv.Itoa(w.unnamed)
	}
	if slices.Contains(w.kept, name) {
		return effect.Errorf(effect.KindScript, "%sassert.snapshot: the test has a snapshot %s already; give each a name of its own", before, name)
	}
	w.kept = append(w.kept, name)
	if err := w.keep(name, with.Value("got")); err != nil {
		return effect.Errorf(effect.KindScript, "%sassert.snapshot: %v", before, err)
	}
	return nil
}

func newAnswer(s said, with effect.View) *answer {
	after, _ := contract.ParseDuration(orZero(with.Text("after"))) // checked when the call was made
	a := &answer{said: s, gate: with.Text("gate"), choice: with.Text("choice"), by: with.Text("by"), reason: with.Text("reason"), after: after, override: with.Flag("override"),
		refused: with.Text("refused")}
	if with.Has("data") {
		a.data, _ = contract.ToJSON(with.Value("data")) // it has crossed as an argument
	}
	return a
}

func newResponse(s said, with effect.View) *response {
	delay, _ := contract.ParseDuration(orZero(with.Text("delay"))) // checked when the call was made
	return &response{said: s, url: with.Text("url"), method: with.Text("method"), body: with.Text("body"), fault: with.Text("error"), status: int(with.Int("status")),
		delay: delay}
}

func orZero(d string) string {
	if d == "" {
		return "0s"
	}
	return d
}

func (w *world) recast(s said, with effect.View) *effect.Error {
	c := &cast{said: s, function: with.Text("function")}
	if list, ok := with.Value("replies").(*starlark.List); ok {
		list.Freeze()
		for v := range list.Elements() {
			c.replies = append(c.replies, v)
		}
	}
	if c.function != "" {
		if err := w.load(); err != nil {
			return effect.Errorf(effect.KindRefused, "play: %v", err)
		}
		if w.script.Globals()[c.function] == nil {
			return effect.Errorf(effect.KindRefused, "play: %s is no function of the test file itself; write a def at its top level", c.function)
		}
	}
	if w.casts == nil {
		w.casts = map[string]*cast{}
	}
	w.casts[with.Text("agent")] = c
	return nil
}

// load loads the test file as scripted agents. It is called with mu held.
func (w *world) load() (err error) {
	if w.script == nil {
		env := stdlib.Environment(stdlib.Options{Natives: vm.Natives(), Tests: true, Reached: w.reached, Compiled: w.compiled})
		w.script, err = agent.Machines(env)(w.fake)
	}
	return err
}

// cast is agent.Cast: who plays an agent by the test's own word.
func (w *world) cast(name string) (func(context.Context, starlark.Value) (starlark.Value, error), bool) {
	w.mu.Lock()
	defer w.mu.Unlock()
	c := w.casts[name]
	if c == nil {
		return nil, false
	}
	return func(ctx context.Context, request starlark.Value) (starlark.Value, error) {
		if c.function != "" {
			return w.script.Call(ctx, w.script.Globals()[c.function], request)
		}
		w.mu.Lock()
		defer w.mu.Unlock()
		if c.asked++; c.asked > len(c.replies) {
			return nil, effect.Errorf(effect.KindRefused, "play(%q) has %d replies, and it is asked once more", name, len(c.replies))
		}
		return c.replies[c.asked-1], nil
	}, true
}

// waiting is the key of the function that lets a time pass by the clock of the test, in the context
// of an attempt.
type waiting struct{}

// RoundTrip answers a request over HTTP as the test has said.
func (w *world) RoundTrip(r *http.Request) (*http.Response, error) {
	found := w.response(r)
	if found == nil {
		return nil, fmt.Errorf("the test has no response for it; say respond(%q, json = …)", r.URL)
	}
	wait, attempt := r.Context().Value(waiting{}).(func(context.Context, time.Duration) bool)
	if found.delay > 0 && attempt && !wait(r.Context(), found.delay) {
		return nil, r.Context().Err()
	}
	if found.fault != "" {
		return nil, errors.New(found.fault)
	}
	return &http.Response{StatusCode: found.status, Status: http.StatusText(found.status), Proto: "HTTP/1.1", ProtoMajor: 1, ProtoMinor: 1, Header: http.Header{},
		Body: io.NopCloser(strings.NewReader(found.body)), Request: r}, nil
}

// response takes the response that is to be given to a request, nil for none.
func (w *world) response(r *http.Request) (found *response) {
	w.mu.Lock()
	defer w.mu.Unlock()
	for _, s := range w.responses {
		if s.fits(r) && (found == nil || found.used) {
			found = s
		}
	}
	if found != nil {
		found.used = true
	}
	return found
}

func (s *response) fits(r *http.Request) bool {
	url := r.URL.String()
	beginning, open := strings.CutSuffix(s.url, "*")
	return (s.method == "" || s.method == r.Method) && (url == s.url || open && strings.HasPrefix(url, beginning))
}

// cuts tells whether the power is to fail while this step is under way, and remembers that it is.
func (w *world) cuts(step string) bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	for _, c := range w.crashes {
		if c.left > 0 && names(step, c.at) {
			c.left--
			c.used, w.due = true, true
			return true
		}
	}
	return false
}

// failing tells whether the power is to fail now, once.
func (w *world) failing() bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	due := w.due
	w.due = false
	return due
}

// names tells whether an address is meant by what a test calls it: the address, or its end from a
// slash on, with or without the number of a repeated name.
func names(address, called string) bool {
	plain := address
	if i := strings.LastIndexByte(address, '#'); i > strings.LastIndexByte(address, '/') {
		plain = address[:i]
	}
	return slices.ContainsFunc([]string{address, plain}, func(a string) bool { return a == called || strings.HasSuffix(a, "/"+called) })
}
