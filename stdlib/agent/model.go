package agent

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"strconv"
	"strings"
	"sync"
	"time"

	"starling/lang/effect"
	"starling/stdlib/redact"
	"starling/stdlib/tool"
)

// model asks models behind an API: one request with the prompt, one reply that is streamed.
// Retrying is the runtime's, which journals each attempt. The key is the value of the variable that
// the agent declares, and of this process's environment only the proxies count that net/http knows.
// The model never sees the key; a server may repeat it in an error, where it is hidden.
type model struct{ complete completion }

// completion streams one reply of one maker's API. An error of the API's own is an *apiError.
type completion func(ctx context.Context, t turn, l listener) (said, error)

// listener is told of a reply as it comes.
type listener struct {
	text func(text string)  // each piece
	used func(tokens usage) // what it has taken so far, when the API says it before the end
}

// turn is what a model is asked.
type turn struct {
	definition Definition
	key        string
	system     string
	prompt     string
	files      []file // that belong to it
	rejected   string // what the model had replied to that, "" where it is not known
	feedback   string // what was wrong with it
	schema     []byte // of the reply, nil where it is not stated
	tools      []modelTool
	rounds     []toolRound // what has been said since, the first first
}

// said is what a model came to.
type said struct {
	text    string
	tokens  usage
	whole   bool       // the stream came to its end
	stopped string     // why the model ended before it was done, "" when it was
	calls   []toolCall // the tools that it asks for before it goes on
}

// Ask sends one request, or a second where the server does not know schemas.
func (m model) Ask(ctx context.Context, q Question) effect.Reply {
	t := turn{definition: q.Definition, schema: strictSchema(q), system: request{q.Request}.text("instructions")}
	if err := t.ask(q); err != nil {
		return failed(effect.Errorf(effect.KindRefused, "%s: %v", q.Definition.Agent, err), effect.Final)
	}
	for _, name := range q.Definition.Env {
		value, ok := q.Env(name)
		if !ok {
			return failed(effect.Errorf(effect.KindRefused, "%s: the environment variable %s, which %s declares, has no value; set it and resume the run", q.Definition.Agent, name,
				q.Definition.Serves), effect.Missing)
		}
		t.key = value
	}
	var fault *tool.Fault
	if t.tools, fault = offered(ctx, q.Tools); fault != nil {
		return faulted(q, fault)
	}
	got, err := m.converse(ctx, q, &t)
	return m.judge(ctx, q, t, got, err)
}

// ask puts the request into words. A model that is asked again has its own reply before it, as it
// would in a conversation: the API keeps none.
func (t *turn) ask(q Question) (err error) {
	if q.Rejected != "" && len(q.Feedback) > 0 {
		t.rejected = q.Rejected
		if t.feedback, err = words(q, true); err != nil {
			return err
		}
		first := *q.Attempt
		first.Feedback, first.Messages = nil, nil
		q.Attempt = &first
	}
	for _, f := range q.Files {
		if err := f.unreadable(); err != nil {
			return err
		}
	}
	t.files = q.Files
	t.prompt, err = words(q, false)
	return err
}

// converse goes on until the model has replied: as long as it asks for tools, they are called and
// it is told. Tokens are those of all rounds.
func (m model) converse(ctx context.Context, q Question, t *turn) (said, error) {
	emit := newEmitter(q.Attempt)
	d := newDeltas(q, emit, "delta")
	var spent usage
	used := func(tokens usage) {
		u := spent.plus(tokens)
		emit.used(u.ofModel(q.Definition.Model))
	}
	for {
		got, err := m.complete(ctx, *t, listener{d.add, used})
		if t.schema != nil && schemaUnknown(err) {
			t.schema = nil
			got, err = m.complete(ctx, *t, listener{d.add, used})
		}
		d.flush()
		spent = spent.plus(got.tokens)
		got.tokens = spent
		if err != nil || !got.whole || got.stopped != "" || len(got.calls) == 0 || ctx.Err() != nil {
			return got, err
		}
		if len(t.rounds) == maxRounds {
			got.stopped = fmt.Sprintf("it asked for tools %d times and has not replied", maxRounds+1)
			return got, nil
		}
		used(usage{})
		t.rounds = append(t.rounds, m.use(ctx, q, *t, got, d.emit))
	}
}

func (m model) judge(ctx context.Context, q Question, t turn, got said, err error) effect.Reply {
	used := got.tokens.ofModel(q.Definition.Model)
	fail := func(f *fault) effect.Reply {
		r := failed(effect.Errorf(f.kind, "%s: %s", q.Definition.Agent, q.shown(f.message, maxFault)), f.class)
		r.After, r.Usage = f.after, used
		return r
	}
	switch {
	case ctx.Err() != nil:
		r := cut(ctx, q.Definition.Agent)
		r.Usage = used
		return r
	case err != nil:
		return fail(apiFault(err, q.Definition.Next))
	case len(got.text) > maxReply: // it was not heard out, and will hardly be shorter the next time
		return fail(&fault{message: fmt.Sprintf("the reply is longer than %d bytes", maxReply), kind: effect.KindAgent, class: effect.Final})
	case !got.whole:
		return fail(&fault{message: "the reply broke off in the middle", kind: effect.KindAgent, class: effect.Retryable})
	case got.stopped != "":
		return fail(&fault{message: got.stopped, kind: effect.KindAgent, class: effect.Final})
	}
	a := answer{text: got.text, status: "ok", usage: used}
	if t.schema != nil {
		a.output, _ = fromStrict(q, []byte(a.text))
	}
	return a.reply(q.Definition.Agent, q.Returns)
}

// apiFault classifies a failure. next says that another backend may serve, so that one where nobody
// listens is as good as missing.
func apiFault(err error, next bool) *fault {
	f := &fault{message: err.Error(), kind: effect.KindAgent, class: effect.Retryable}
	var e *apiError
	if !errors.As(err, &e) {
		var dial *net.OpError
		if next && errors.As(err, &dial) && dial.Op == "dial" {
			f.class = effect.Missing
		}
		return f
	}
	switch should := e.header.Get("X-Should-Retry"); {
	case should == "false" || e.kind == "insufficient_quota" || e.kind == "billing_error":
		f.class = effect.Final
	case should == "true": // the server knows better than its status
	case e.kind == "overloaded_error" || e.kind == "rate_limit_error" || e.kind == "api_error" || e.kind == "timeout_error" || e.kind == "server_error":
	case e.status == http.StatusRequestTimeout || e.status == http.StatusConflict || e.status == http.StatusTooManyRequests || e.status >= 500 || e.status == http.StatusOK:
	default:
		f.class = effect.Final
	}
	if f.class == effect.Retryable {
		f.after = retryAfter(e.header, time.Now())
	}
	return f
}

// retryAfter is how long a server asks to wait.
func retryAfter(h http.Header, now time.Time) time.Duration {
	if ms, err := strconv.ParseFloat(h.Get("Retry-After-Ms"), 64); err == nil && ms > 0 && ms < 1e9 {
		return time.Duration(ms * float64(time.Millisecond))
	}
	text := h.Get("Retry-After")
	if s, err := strconv.ParseFloat(text, 64); err == nil && s > 0 && s < 1e6 {
		return time.Duration(s * float64(time.Second))
	}
	if at, err := http.ParseTime(text); err == nil {
		return max(0, at.Sub(now))
	}
	return 0
}

// schemaUnknown tells whether a server refused the schema and not the request: many speak the API
// but for that.
func schemaUnknown(err error) bool {
	var e *apiError
	if !errors.As(err, &e) || e.status != http.StatusBadRequest && e.status != http.StatusUnprocessableEntity {
		return false
	}
	for _, word := range []string{"response_format", "output_config", "output_format", "schema"} {
		if strings.Contains(e.message, word) {
			return true
		}
	}
	return false
}

const (
	deltaSize = 1 << 10
	deltaWait = 50 * time.Millisecond
)

// deltas journals the text of a reply as it comes, in pieces of what has come within a time: each
// costs a commit. A key that comes in pieces is hidden as one that comes at once. It is used
// concurrently.
type deltas struct {
	emit emitter
	kind string         // of the events
	hide *redact.Stream // of keys; what it holds back may be the beginning of one

	mu    sync.Mutex // protects what is below
	text  strings.Builder
	timer *time.Timer // nil before the first piece
	waits bool        // for the timer
}

func newDeltas(q Question, emit emitter, kind string) *deltas {
	return &deltas{emit: emit, kind: kind, hide: q.keys.Stream()}
}

func (d *deltas) add(text string) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if text != "" && !d.waits {
		d.wait()
	}
	d.text.WriteString(text)
	if d.text.Len() >= deltaSize {
		d.say(true)
	}
}

func (d *deltas) wait() {
	d.waits = true
	if d.timer == nil {
		d.timer = time.AfterFunc(deltaWait, d.tick)
		return
	}
	d.timer.Reset(deltaWait)
}

func (d *deltas) tick() {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.say(true)
}

// flush journals what has come, of which nothing more follows.
func (d *deltas) flush() {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.say(false)
}

// say journals what has come, where more follows without what may be the beginning of a key.
func (d *deltas) say(more bool) {
	if d.waits = false; d.timer != nil {
		d.timer.Stop()
	}
	text := string(d.hide.Next([]byte(d.text.String())))
	d.text.Reset()
	if !more {
		text += string(d.hide.Rest())
	}
	if text != "" {
		d.emit.say(d.kind, "text", text)
	}
}
