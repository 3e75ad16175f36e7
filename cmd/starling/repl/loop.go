package repl

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"

	"starling/lang"
	"starling/lang/diagnostic"
	"starling/lang/effect"
	"starling/runtime"
)

// Loop is one sitting at a session. All fields must be set but Env.
type Loop struct {
	Engine runtime.Engine
	Run    string // id of the session
	Lines  Lines
	Out    io.Writer           // values
	Err    io.Writer           // everything else
	Show   func(runtime.Event) // shows what happens while a statement runs
	Key    func() string       // a new idempotency key
	Bundle Bundler             // makes what a statement is sent as
	Env    map[string]string   // declared variables, for whom the session is carried

	// Wrong is told the kind of each statement's error: runtime.ErrCheckFailed of one that was not
	// taken, runtime.ErrUsage of a command that is none. It is called on the goroutine of Do.
	Wrong func(kind string)

	after   uint64   // events up to this one were seen
	history []string // the statements of the session, the latest last
	gates   []string // opened by the statement in progress and not yet put before the user
	open    bool     // a statement has begun and not ended

	files []*lang.Module // what the statements were read from
}

// A Bundler puts a statement and all that it loads into an encoded bundle, of which it is the entry
// by this name.
type Bundler func(name, source string) ([]byte, error)

// errLeft says that a gate was left open by whoever sat here.
var errLeft = errors.New("left at a gate")

// Do goes on with the session until the input ends or :quit. A statement that was in progress when
// the session lost its process is finished first. The error is the cause of ctx, or what the engine
// refused; what is wrong with a statement is told and no error. waiting says that the session was
// left at an open gate.
func (l *Loop) Do(ctx context.Context) (waiting bool, err error) {
	if err := l.recall(ctx); err != nil {
		return false, err
	}
	for {
		err := l.finish(ctx)
		if err == nil {
			err = l.next(ctx)
		}
		switch {
		case err == nil:
		case errors.Is(err, io.EOF):
			return false, nil
		case errors.Is(err, errLeft):
			return true, nil
		case ctx.Err() != nil:
			return l.open, context.Cause(ctx)
		default:
			return l.open, err
		}
	}
}

// recall reads what the session has been through: its statements, and how far the last has come if
// it is still in progress.
func (l *Loop) recall(ctx context.Context) error {
	return l.Engine.Watch(ctx, runtime.WatchRequest{Run: l.Run}, func(ev runtime.Event) error {
		if ev.Type == chunkAppended {
			l.remember(read(ev.Data).source())
		}
		l.note(ev)
		return nil
	})
}

// note keeps track of the statement in progress and its gates.
func (l *Loop) note(ev runtime.Event) {
	l.after = ev.Seq
	switch ev.Type {
	case chunkAppended:
		l.open = true
		l.files = append(l.files, read(ev.Data).files()...)
	case chunkEnded:
		l.open, l.gates = false, nil
	case "gate.opened":
		l.gates = append(l.gates, ev.Step)
	case "gate.decided", "gate.withdrawn":
		l.gates = slices.DeleteFunc(l.gates, func(g string) bool { return g == ev.Step })
	}
}

func (l *Loop) remember(source string) {
	l.history = append(l.history, source)
	l.Lines.Remember(source)
}

// next reads one statement or command and begins it.
func (l *Loop) next(ctx context.Context) error {
	source, command, err := statement(ctx, l.Lines)
	var wrong diagnostic.Diagnostic
	switch {
	case errors.As(err, &wrong):
		fmt.Fprint(l.Err, wrong.Render())
		l.Wrong(string(runtime.ErrCheckFailed))
		return nil
	case errors.Is(err, ErrAborted):
		return nil
	case err != nil:
		return err
	case command != "":
		return l.command(command)
	case source == "":
		return nil
	}
	return l.begin(ctx, source)
}

// begin sends a statement. What is wrong with its text, or with what it loads, is told, and the
// session is as before.
func (l *Loop) begin(ctx context.Context, source string) error {
	bundle, err := l.Bundle(fmt.Sprintf("<%d>", len(l.history)+1), source)
	if list := (diagnostic.List)(nil); errors.As(err, &list) {
		fmt.Fprint(l.Err, list.Render())
		l.Wrong(string(runtime.ErrCheckFailed))
		return nil
	}
	if err != nil {
		return err
	}
	receipt, err := l.Engine.Signal(ctx, runtime.Signal{Key: l.Key(), Kind: runtime.SignalChunk, Run: l.Run, Bundle: bundle, Env: l.Env})
	if refused := (*runtime.Refusal)(nil); errors.As(err, &refused) && refused.Kind == runtime.ErrCheckFailed {
		l.refused(refused)
		l.Wrong(string(runtime.ErrCheckFailed))
		return nil
	}
	if err != nil {
		return err
	}
	l.remember(source)
	l.files = append(l.files, chunk{Bundle: bundle}.files()...)
	l.after, l.open = receipt.Seq, true
	return nil
}

// finish follows the statement in progress to its end, and puts the gates that it opens before the
// user.
func (l *Loop) finish(ctx context.Context) error {
	for l.open {
		var err error
		if len(l.gates) > 0 {
			gate := l.gates[0]
			l.gates = l.gates[1:]
			err = l.answer(ctx, gate)
		} else {
			err = l.watch(ctx)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// watch shows what happens until the statement has ended or has opened a gate.
func (l *Loop) watch(ctx context.Context) error {
	return l.Engine.Watch(ctx, runtime.WatchRequest{Run: l.Run, After: l.after, Follow: true}, func(ev runtime.Event) error {
		l.note(ev)
		l.Show(ev)
		if ev.Type == chunkEnded {
			l.value(read(ev.Data))
		}
		if !l.open || len(l.gates) > 0 {
			return runtime.ErrStopWatch
		}
		return nil
	})
}

// The records of a session's statements.
const (
	chunkAppended = "chunk.appended"
	chunkEnded    = "chunk.ended"
)

// chunk is the data of these records.
type chunk struct {
	Bundle []byte            `json:"bundle"`
	Value  string            `json:"value"` // as Starlark writes it, "" for None and for what is no expression
	Error  *runtime.RunError `json:"error"`
}

// source is the statement itself.
func (c chunk) source() string {
	b, err := lang.Decode(c.Bundle)
	if err != nil {
		return "# a statement of another build: " + err.Error()
	}
	return string(b.Entry().Source)
}

// files are the statement and what it loads, none if another build wrote it.
func (c chunk) files() []*lang.Module {
	b, err := lang.Decode(c.Bundle)
	if err != nil {
		return nil
	}
	return b.Files()
}

// read reads the data leniently: another build may have written it.
func read(data json.RawMessage) chunk {
	var c chunk
	json.Unmarshal(data, &c)
	return c
}

// value shows what a statement came to.
func (l *Loop) value(c chunk) {
	switch {
	case c.Error != nil:
		e := &effect.Error{Kind: effect.Kind(c.Error.Kind), Message: c.Error.Message, Where: c.Error.Where, Backtrace: c.Error.Backtrace}
		fmt.Fprint(l.Err, lang.Explain(e, l.files).Render())
		l.Wrong(c.Error.Kind)
	case c.Value != "":
		fmt.Fprintln(l.Out, c.Value)
	}
}

// refused shows why a statement was not taken.
func (l *Loop) refused(r *runtime.Refusal) {
	var list diagnostic.List
	if json.Unmarshal(r.Data, &list) == nil && len(list) > 0 {
		fmt.Fprint(l.Err, withCommand(list).Render())
		return
	}
	fmt.Fprintln(l.Err, r.Message)
	if r.Help != "" {
		fmt.Fprintln(l.Err, "  = help: "+r.Help)
	}
}
