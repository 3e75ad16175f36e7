package agent

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"

	"go.starlark.net/starlark"

	"starling/lang/contract"
	"starling/lang/effect"
	"starling/stdlib/redact"
)

// A cassette is a file of exchanges with an agent as they were: tests play what was recorded of the
// real one. Each line is one exchange, as JSON:
//
//	{"step": "judge", "attempt": 1, "request": {…}, "events": [{…}, …], "reply": {…}}
//
// The request has what an agent is asked and nothing of the run that asks, so that another run
// finds the exchange. Values of variables that the agent declares, and tokens, are replaced by
// their names before anything is written. A line that a crash cut is no exchange.

// exchangeFields are those of a request that say what is asked. The others differ from run to run.
var exchangeFields = []string{"agent", "task", "input", "context", "instructions", "output_schema", "feedback", "handoff", "memory", "messages"}

// filesField is that of the files that go with a task, where there are any: their content counts,
// not where they lie.
const filesField = "files"

// recorder asks a backend and writes down what was said. An attempt that somebody ended, and a
// backend that was not there, are no exchange.
type recorder struct {
	Backend
	mu *sync.Mutex // of one line at a time; shared by all
}

// Ask asks the backend.
func (r recorder) Ask(ctx context.Context, q Question) effect.Reply {
	var mu sync.Mutex
	var events []starlark.Value
	attempt, emit := *q.Attempt, q.Emit
	attempt.Emit = func(kind string, data starlark.Value) {
		mu.Lock()
		events = append(events, dict("kind", kind))
		_ = events[len(events)-1].(*starlark.Dict).SetKey(starlark.String("data"), data) // a fresh dict and a string key
		mu.Unlock()
		emit(kind, data)
	}
	q.Attempt = &attempt
	reply := r.Backend.Ask(ctx, q)
	if ctx.Err() != nil || reply.Class == effect.Missing {
		return reply
	}
	mu.Lock()
	defer mu.Unlock()
	if err := r.write(q, events, reply); err != nil {
		return failed(effect.Errorf(effect.KindRefused, "%s: the cassette: %v", q.Definition.Agent, err), effect.Final)
	}
	return reply
}

func (r recorder) write(q Question, events []starlark.Value, reply effect.Reply) error {
	line := starlark.NewDict(5)
	for _, f := range []struct {
		name  string
		value starlark.Value
	}{{"step", starlark.String(q.Step)}, {"attempt", starlark.MakeInt(q.Number)}, {"request", exchangeRequest(q)}, {"events", starlark.NewList(events)}, {"reply", replyDict(reply)}} {
		_ = line.SetKey(starlark.String(f.name), f.value) // a fresh dict and string keys
	}
	text, err := masked(q, line)
	if err != nil {
		return err
	}
	text = append(text, '\n')
	r.mu.Lock()
	defer r.mu.Unlock()
	if err := os.MkdirAll(filepath.Dir(q.Definition.Cassette), 0o777); err != nil {
		return err
	}
	f, err := os.OpenFile(q.Definition.Cassette, os.O_APPEND|os.O_CREATE|os.O_RDWR, 0o666)
	if err != nil {
		return err
	}
	if torn(f) {
		text = append([]byte{'\n'}, text...)
	}
	_, err = f.Write(text)
	return errors.Join(err, f.Close())
}

// torn tells whether the last line of a file was cut.
func torn(f *os.File) bool {
	end := make([]byte, 1)
	info, err := f.Stat()
	if err != nil || info.Size() == 0 {
		return false
	}
	_, err = f.ReadAt(end, info.Size()-1)
	return err == nil && end[0] != '\n'
}

// masked writes a value without the keys and tokens that the agent was given.
func masked(q Question, v starlark.Value) ([]byte, error) {
	text, err := contract.ToJSON(v)
	if err != nil {
		return nil, err
	}
	if v, err = contract.FromJSON(text); err != nil {
		return nil, err
	}
	return contract.ToJSON(mask(v, q.keys))
}

// mask replaces in every text of what JSON has given.
func mask(v starlark.Value, hide *redact.Redactor) starlark.Value {
	switch v := v.(type) {
	case starlark.String:
		return starlark.String(hide.Redact(string(v)))
	case *starlark.List:
		var list []starlark.Value
		for e := range v.Elements() {
			list = append(list, mask(e, hide))
		}
		return starlark.NewList(list)
	case *starlark.Dict:
		d := starlark.NewDict(v.Len())
		for k, e := range v.Entries() {
			_ = d.SetKey(mask(k, hide), mask(e, hide)) // a fresh dict and string keys
		}
		return d
	}
	return v
}

// exchangeRequest is what is asked, without what is of this run only.
func exchangeRequest(q Question) *starlark.Dict {
	d := starlark.NewDict(len(exchangeFields))
	for _, name := range exchangeFields {
		_ = d.SetKey(starlark.String(name), q.Request.Field(name)) // a fresh dict and string keys
	}
	if len(q.Files) > 0 {
		_ = d.SetKey(starlark.String(filesField), describe(q.Files, false)) // likewise
	}
	return d
}

func replyDict(r effect.Reply) *starlark.Dict {
	if r.Err != nil {
		return dict("error", r.Err.Message, "kind", string(r.Err.Kind), "passes", r.Class == effect.Retryable, "after", r.After.String())
	}
	d := starlark.NewDict(6)
	for _, f := range []struct {
		name  string
		value starlark.Value
	}{{"output", r.Value}, {"text", starlark.String(r.Text)}, {"note", starlark.String(r.Note)}, {"status", starlark.String(r.Status)}, {"usage", r.Usage}} {
		if f.value != nil && f.value != starlark.String("") {
			_ = d.SetKey(starlark.String(f.name), f.value) // a fresh dict and string keys
		}
	}
	return d
}

func replyOf(v effect.View) effect.Reply {
	if v.Has("error") {
		after, _ := time.ParseDuration(v.Text("after")) // 0 for what somebody has edited
		r := failed(&effect.Error{Kind: effect.Kind(v.Text("kind")), Message: v.Text("error")}, effect.Final)
		if v.Flag("passes") {
			r.Class, r.After = effect.Retryable, after
		}
		return r
	}
	r := effect.Reply{Text: v.Text("text"), Note: v.Text("note"), Status: v.Text("status")}
	if v.Has("output") {
		r.Value = v.Value("output")
	}
	if v.Has("usage") {
		r.Usage = v.Value("usage")
	}
	return r
}

// cassette plays exchanges. It keeps nothing: the same request has the same reply, also after a
// restart. Of several exchanges with one request that of the same step and attempt is meant, else
// that of the same attempt, else the last.
type cassette struct{}

// Ask finds the exchange, journals its events and gives its reply.
func (cassette) Ask(ctx context.Context, q Question) effect.Reply {
	found, err := exchangeOf(q)
	if err != nil {
		return failed(effect.Errorf(effect.KindRefused, "%s: the cassette %s %v", q.Definition.Agent, q.Definition.Cassette, err), effect.Final)
	}
	if events, ok := found.Value("events").(*starlark.List); ok {
		for e := range events.Elements() {
			if kind := effect.ViewOf(e).Text("kind"); effect.CheckName(kind) == nil {
				act(ctx, q, kind, effect.ViewOf(e).Value("data"))
			}
		}
	}
	return replyOf(found.Sub("reply"))
}

// exchangeOf finds the exchange of a request. The error goes on behind the name of the file.
func exchangeOf(q Question) (effect.View, error) {
	const mend = "record it with: starling run --record"
	text, err := os.ReadFile(q.Definition.Cassette)
	if errors.Is(err, fs.ErrNotExist) {
		return effect.View{}, errors.New("is not there; " + mend)
	}
	request, wrong := masked(q, exchangeRequest(q))
	if err := errors.Join(err, wrong); err != nil {
		return effect.View{}, fmt.Errorf("cannot be played: %v", err)
	}
	t := tape{step: q.Step, attempt: int64(q.Number), request: request}
	for i, line := range bytes.Split(text, []byte("\n")) {
		v, err := contract.FromJSON(line)
		begins := []byte(`{"step":`)
		switch cut := bytes.HasPrefix(line, begins) || bytes.HasPrefix(begins, line); {
		case err == nil:
			t.offer(effect.ViewOf(v))
		case !cut:
			return effect.View{}, fmt.Errorf("has no exchange in line %d: %v", i+1, err)
		}
	}
	if t.rank == 0 {
		return effect.View{}, errors.New("has no exchange with this request" + t.nearest() + "; " + mend)
	}
	return t.found, nil
}

// tape looks for the exchange of a request.
type tape struct {
	step    string
	attempt int64
	request []byte

	rank  int // how well found fits, 0 for not at all
	found effect.View
	near  []string // the fields in which the exchange differs that differs least
}

func (t *tape) offer(v effect.View) {
	request, err := contract.ToJSON(v.Value("request"))
	if err != nil || !bytes.Equal(request, t.request) {
		t.compare(v.Sub("request"))
		return
	}
	rank := 1
	if v.Int("attempt") == t.attempt {
		rank++
		if v.Text("step") == t.step {
			rank++
		}
	}
	if rank >= t.rank {
		t.rank, t.found = rank, v
	}
}

// compare notes in what an exchange differs.
func (t *tape) compare(other effect.View) {
	v, err := contract.FromJSON(t.request)
	if err != nil {
		return
	}
	mine := effect.ViewOf(v)
	differs := []string{}
	for _, name := range append(slices.Clone(exchangeFields), filesField) {
		if same, err := starlark.Equal(mine.Value(name), other.Value(name)); err != nil || !same {
			differs = append(differs, name)
		}
	}
	if t.near == nil || len(differs) < len(t.near) {
		t.near = differs
	}
}

func (t *tape) nearest() string {
	if t.near == nil || slices.Contains(t.near, "agent") {
		return ""
	}
	return "; the nearest one differs in " + strings.Join(t.near, ", ")
}
