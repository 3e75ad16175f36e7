package repl

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"
	"strconv"
	"time"

	"starling/lang"
	"starling/lang/check"
	"starling/lang/diagnostic"
	"starling/lang/effect"
	"starling/runtime"
)

// Loop is one sitting at a session. All fields of the first group must be set but Env.
type Loop struct {
	Engine runtime.Engine
	Run    string // id of the session; that of another one after :fork and :rewind
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

	Names *effect.Environment // what statements may use; nil means that it is not known
	Desk  Desk                // what the program around the loop does for it
	Width func() int          // columns of the terminal that values are folded for; nil for no terminal

	after   uint64         // events up to this one were seen
	history []string       // the statements of the session, the latest last
	gates   []string       // opened by the statement in progress and not yet put before the user
	left    []string       // of these, what the user has left open: while there are any the prompt is back
	open    bool           // a statement has begun and not ended
	failed  map[int]bool   // statements that ended with an error
	values  map[int]string // what statements came to
	began   time.Time      // of the statement in progress
	timed   bool           // how long it takes is told
	aborted bool           // the last line was dropped, and nothing stood in it

	files []*lang.Module  // what the statements were read from
	known map[string]bool // global variables that statements have named
	at    *attachment     // the moment that is looked into, nil for none
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
			return l.open, nil
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
	l.after, l.history, l.gates, l.left, l.open, l.files = 0, nil, nil, nil, false, nil
	l.failed, l.values, l.known = map[int]bool{}, map[int]string{}, map[string]bool{}
	return l.Engine.Watch(ctx, runtime.WatchRequest{Run: l.Run}, func(ev runtime.Event) error {
		if ev.Type == chunkAppended {
			source := read(ev.Data).source()
			l.history = append(l.history, source)
			l.Lines.Remember(source)
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
		l.learn(read(ev.Data))
	case chunkEnded:
		l.open, l.gates, l.left = false, nil, nil
		switch c := read(ev.Data); {
		case c.Error != nil:
			l.failed[len(l.history)] = true
		case c.Value != "":
			l.values[len(l.history)] = c.Value
		}
	case "gate.opened":
		l.gates = append(l.gates, ev.Step)
	case "gate.decided", "gate.withdrawn":
		decided := func(g string) bool { return g == ev.Step }
		l.gates, l.left = slices.DeleteFunc(l.gates, decided), slices.DeleteFunc(l.left, decided)
	}
}

// learn takes note of what a statement was read from and what it names.
func (l *Loop) learn(c chunk) {
	b, err := lang.Decode(c.Bundle)
	if err != nil {
		return // another build wrote it
	}
	l.files = append(l.files, b.Files()...)
	for _, name := range bound(string(b.Entry().Source)) {
		l.known[name] = true
	}
}

// next reads one statement or command and begins it.
func (l *Loop) next(ctx context.Context) error {
	source, command, err := statement(ctx, l.Lines, l.prompt())
	var wrong diagnostic.Diagnostic
	switch {
	case errors.As(err, &wrong):
		l.recallable(source)
		fmt.Fprint(l.Err, check.Render(wrong))
		l.Wrong(string(runtime.ErrCheckFailed))
		return nil
	case errors.Is(err, ErrAborted):
		return l.dropped(err)
	case err != nil:
		return err
	}
	l.aborted = false
	switch {
	case command != "":
		return l.command(ctx, command)
	case source == "":
		return nil
	}
	return l.execute(ctx, source)
}

// dropped takes a line that was dropped. Of two empty ones in a row the second leaves.
func (l *Loop) dropped(err error) error {
	empty := errors.Is(err, errEmpty)
	if empty && l.aborted {
		return io.EOF
	}
	if l.aborted = empty; empty {
		l.say("Ctrl-C once more leaves; so does Ctrl-D")
	}
	return nil
}

// recallable has whoever sits here find a text again, whatever became of it.
func (l *Loop) recallable(source string) {
	l.Lines.Remember(source)
	l.Lines.Typed(source)
}

// execute has a statement executed, where the loop is.
func (l *Loop) execute(ctx context.Context, source string) error {
	l.recallable(source)
	if l.at != nil {
		return l.peek(ctx, source)
	}
	if l.open {
		err := l.finish(ctx)
		switch {
		case err != nil:
			return err
		case l.open:
			return l.busy()
		}
	}
	return l.begin(ctx, source)
}

// begin sends a statement. What is wrong with its text, or with what it loads, is told, and the
// session is as before.
func (l *Loop) begin(ctx context.Context, source string) error {
	bundle, err := l.bundle(len(l.history)+1, source)
	if bundle == nil {
		return err
	}
	if i := l.Desk.Interruptions; i != nil {
		end := i.set(running) // from now on; watch goes on with it
		defer func() {
			if !l.open {
				end()
			}
		}()
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
	l.history = append(l.history, source)
	l.missing(bundle)
	l.learn(chunk{Bundle: bundle})
	l.after, l.open, l.began = receipt.Seq, true, time.Now()
	return nil
}

// bundle makes the bundle of a statement. It is nil without an error where what is wrong with its
// text was told.
func (l *Loop) bundle(n int, source string) ([]byte, error) {
	bundle, err := l.Bundle("<"+strconv.Itoa(n)+">", source)
	if err != nil {
		return nil, l.told(err)
	}
	return bundle, nil
}

// missing says what the functions of a statement use that is not defined yet.
func (l *Loop) missing(bundle []byte) {
	b, err := lang.Decode(bundle)
	if err != nil || l.Names == nil {
		return
	}
	fmt.Fprint(l.Err, check.Render(lang.Missing(b, func(name string) bool { return l.known[name] || isKept(name) }, l.Names)...))
}

// finish follows the statement in progress to its end, and puts the gates that it opens before the
// user. It comes back earlier where the user has left one open.
func (l *Loop) finish(ctx context.Context) error {
	for l.open {
		var err error
		switch {
		case len(l.gates) == 0 && len(l.left) == 0:
			err = l.watch(ctx, true)
		case len(l.gates) == 0:
			if err = l.watch(ctx, false); err == nil && len(l.left) > 0 && len(l.gates) == 0 {
				return nil
			}
		default:
			err = l.ask(ctx)
		}
		if err != nil {
			return err
		}
	}
	if l.timed {
		l.say("%s", time.Since(l.began).Round(time.Millisecond))
		l.timed = false
	}
	return nil
}

// watch shows what happens until the statement has ended or has opened a gate, or what has happened
// so far.
func (l *Loop) watch(ctx context.Context, follow bool) error {
	if follow {
		defer l.interruptible(ctx)()
	}
	return l.Engine.Watch(ctx, runtime.WatchRequest{Run: l.Run, After: l.after, Follow: follow}, func(ev runtime.Event) error {
		gates := l.gates
		l.note(ev)
		l.Show(ev)
		if ev.Type == chunkEnded {
			l.value(read(ev.Data))
			l.tellOpen(gates)
		}
		if !l.open || follow && len(l.gates) > 0 {
			return runtime.ErrStopWatch
		}
		return nil
	})
}

// interruptible has the statement in progress end when whoever sits here wants so. release ends
// that.
func (l *Loop) interruptible(ctx context.Context) (release func()) {
	i := l.Desk.Interruptions
	if i == nil {
		return func() {}
	}
	end := i.set(running)
	done := make(chan struct{})
	run := l.Run
	go func() {
		select {
		case <-i.Wanted:
			_ = l.interrupt(ctx, run) // it may have ended meanwhile
		case <-done:
		}
	}()
	return func() {
		close(done)
		end()
	}
}

// interrupt ends the statement in progress.
func (l *Loop) interrupt(ctx context.Context, run string) error {
	_, err := l.Engine.Signal(ctx, runtime.Signal{Key: l.Key(), Kind: runtime.SignalInterrupt, Run: run, Env: l.Env})
	return err
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
		l.wrong(c.Error, l.files)
	case c.Value != "":
		fmt.Fprintln(l.Out, l.folded(c.Value, fmt.Sprintf("print(_%d)", len(l.history))))
	}
}

// wrong shows the error of a statement.
func (l *Loop) wrong(r *runtime.RunError, files []*lang.Module) {
	e := &effect.Error{Kind: effect.Kind(r.Kind), Message: r.Message, Where: r.Where, Backtrace: r.Backtrace}
	fmt.Fprint(l.Err, lang.Explain(e, files).Render())
	l.Wrong(r.Kind)
}

// folded is a value as it is shown; whole says how to see all of one that is too long.
func (l *Loop) folded(value, whole string) string {
	if l.Width == nil {
		return value
	}
	text, left := fold(value, l.Width())
	if left {
		text += "\n  … shortened; " + whole + " shows all"
	}
	return text
}

// refused shows why a statement was not taken.
func (l *Loop) refused(r *runtime.Refusal) {
	var list diagnostic.List
	if json.Unmarshal(r.Data, &list) == nil && len(list) > 0 {
		fmt.Fprint(l.Err, check.Render(withCommand(list)...))
		return
	}
	fmt.Fprintln(l.Err, r.Message)
	if r.Help != "" {
		fmt.Fprintln(l.Err, "  = help: "+r.Help)
	}
}

// told tells a refusal, or what is wrong with a text, and goes on; any other error is the caller's.
func (l *Loop) told(err error) error {
	var list diagnostic.List
	var refused *runtime.Refusal
	switch {
	case errors.As(err, &list):
		fmt.Fprint(l.Err, check.Render(list...))
		l.Wrong(string(runtime.ErrCheckFailed))
	case errors.As(err, &refused):
		l.refused(refused)
		l.Wrong(string(refused.Kind))
	default:
		return err
	}
	return nil
}
