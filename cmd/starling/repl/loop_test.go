package repl

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"starling/lang"
	"starling/runtime"
)

// fakeEngine plays a session: each statement is answered by the events that the test has written
// for it.
type fakeEngine struct {
	runtime.Engine // panics: what a test does not expect must not be called
	t              *testing.T
	events         []runtime.Event
	answers        map[string][]runtime.Event // by the source of the statement, or by GATE=CHOICE
	gates          []runtime.Gate
	signals        []runtime.Signal
	decide         func() *runtime.Refusal // of an answer that comes too late
}

func (f *fakeEngine) add(events ...runtime.Event) {
	for _, ev := range events {
		ev.Seq = uint64(len(f.events) + 1)
		f.events = append(f.events, ev)
	}
}

func (f *fakeEngine) Signal(_ context.Context, s runtime.Signal) (*runtime.Receipt, error) {
	f.signals = append(f.signals, s)
	if s.Kind == runtime.SignalInterrupt {
		f.gates = nil
		f.add(runtime.Event{Type: "gate.withdrawn", Step: "g"}, ended(`{"error":{"kind":"cancelled","message":"interrupted"}}`))
		return &runtime.Receipt{Seq: uint64(len(f.events))}, nil
	}
	if s.Kind == runtime.SignalAnswer && f.decide != nil {
		return nil, f.decide()
	}
	if s.Kind == runtime.SignalAnswer {
		events, ok := f.answers[s.Gate+"="+s.Choice+string(s.Data)]
		if !ok {
			return nil, runtime.Refuse(runtime.ErrBadChoice, "choose yes or no", "got %q, want yes or no", s.Choice)
		}
		f.gates = f.gates[1:]
		f.add(events...)
		return &runtime.Receipt{Seq: uint64(len(f.events))}, nil
	}
	b, err := lang.Decode(s.Bundle)
	if err != nil {
		f.t.Fatal(err)
	}
	source := string(b.Entry().Source)
	events, ok := f.answers[source]
	if !ok {
		return nil, runtime.Refuse(runtime.ErrCheckFailed, `did you mean "x"?`, "%s:1:1: undefined: %s", b.Entry().Name, source)
	}
	f.add(runtime.Event{Type: chunkAppended})
	seq := uint64(len(f.events))
	f.add(events...)
	return &runtime.Receipt{Seq: seq}, nil
}

func (f *fakeEngine) Watch(_ context.Context, w runtime.WatchRequest, fn func(runtime.Event) error) error {
	for _, ev := range f.events {
		if ev.Seq <= w.After {
			continue
		}
		if err := fn(ev); err != nil {
			return nil
		}
	}
	if w.Follow {
		f.t.Fatal("the loop waits for events that will not come")
	}
	return nil
}

func (f *fakeEngine) Get(context.Context, string) (*runtime.Run, error) {
	return &runtime.Run{Gates: f.gates}, nil
}

func ended(data string) runtime.Event {
	return runtime.Event{Type: chunkEnded, Data: json.RawMessage(data)}
}

func opened(gate string) runtime.Event { return runtime.Event{Type: "gate.opened", Step: gate} }

// sit runs a loop over typed lines and gives what was printed: values plain, all else behind "! ".
func sit(t *testing.T, f *fakeEngine, lines ...string) (shown string, waiting bool) {
	t.Helper()
	f.t = t
	var out bytes.Buffer
	n := 0
	l := &Loop{Engine: f, Run: "abc", Lines: &typed{lines: lines}, Out: &out, Err: marked{&out}, Show: func(runtime.Event) {}, Wrong: func(string) {}, Bundle: bundled,
		Key: func() string { n++; return fmt.Sprint("key-", n) }}
	waiting, err := l.Do(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	return out.String(), waiting
}

// marked writes with a mark before each line.
type marked struct{ w *bytes.Buffer }

func (m marked) Write(p []byte) (int, error) {
	for line := range strings.Lines(string(p)) {
		m.w.WriteString("! " + line)
	}
	return len(p), nil
}

func bundled(name, source string) ([]byte, error) {
	b, err := lang.Read(name, func(string) ([]byte, error) { return []byte(source), nil }, nil)
	if err != nil {
		return nil, err
	}
	return b.Encode(), nil
}

func TestLoop(t *testing.T) {
	f := &fakeEngine{answers: map[string][]runtime.Event{
		"x = 1":              {ended(`{}`)},
		"x":                  {{Type: "output.print"}, ended(`{"value":"1"}`)},
		"def f():\n  return": {ended(`{}`)},
		"1 // 0":             {ended(`{"error":{"kind":"script","message":"division by zero","backtrace":"Traceback:\n  <4>:1:3: in <toplevel>\n"}}`)},
		"fail()":             {ended(`{"error":{"kind":"script","message":"fail: "}}`)},
	}}
	got, waiting := sit(t, f, "x = 1", "", "x", "def f():", "  return", "", "1 // 0", "y", "x = = 1", "fail()", ":history", ":id", ":hlp", ":nonsense", ":quit", "x")
	want := `1
! <4>:1:1: division by zero
!   | 1 // 0
!   | ^^^^^^
! <5>:1:1: undefined: y
!   = help: did you mean "x"?
! <stdin>:1:5: got '=', want an expression [syntax]
!   | x = = 1
!   |     ^
! fail: 
1   x = 1
2   x
3   def f():
      return
4!  1 // 0
5!  fail()
abc
! unknown command :hlp
!   = help: did you mean ":help"?
! unknown command :nonsense
!   = help: :help lists the commands
`
	if got != want || waiting {
		t.Errorf("waiting %v, shown\n%s\nwant\n%s", waiting, got, want)
	}
	if f.signals[0].Key != "key-1" || f.signals[1].Key != "key-2" || f.signals[0].Run != "abc" {
		t.Errorf("sent %+v", f.signals[:2])
	}
}

// TestGates: gates are put before the user in the order in which they opened, and what is refused
// is asked again.
func TestGates(t *testing.T) {
	yesOrNo := []runtime.Option{{Name: "yes"}, {Name: "no"}}
	f := &fakeEngine{
		gates: []runtime.Gate{{Gate: "a", Target: "lead", Prompt: "Well?", Options: yesOrNo, Data: json.RawMessage(`{"n":1}`)}, {Gate: "b", Prompt: "How many?"}},
		answers: map[string][]runtime.Event{
			"both()": {opened("a"), opened("b")},
			"a=yes":  {{Type: "gate.decided", Step: "a"}},
			"b=7":    {{Type: "gate.decided", Step: "b"}, ended(`{"value":"7"}`)},
		},
	}
	got, waiting := sit(t, f, "both()", "maybe", "yes because", "8", "7")
	want := `! a for lead: Well?
!   {"n":1}
!   1) yes
!   2) no
! error: got "maybe", want a number from 1 to 2, or a name
! b: How many?
! got "", want yes or no
!   = help: choose yes or no
! b: How many?
7
`
	if got != want || waiting {
		t.Errorf("waiting %v, shown\n%s\nwant\n%s", waiting, got, want)
	}
	if s := f.signals[1]; s.As != "lead" || s.Reason != "because" {
		t.Errorf("answered %+v", s)
	}
}

// TestForm: a gate with a contract is filled in. One whose deadline passes meanwhile takes no
// answer, and the statement goes on with what has decided it.
func TestForm(t *testing.T) {
	f := &fakeEngine{gates: []runtime.Gate{{Gate: "g", Contract: "{n: int}"}}, answers: map[string][]runtime.Event{
		"ask()":     {opened("g")},
		`g={"n":7}`: {{Type: "gate.decided", Step: "g"}, ended(`{"value":"7"}`)},
	}}
	if got, waiting := sit(t, f, "ask()", "seven", "7"); waiting || got != `! g: 
!   n: int
! error: n: got "seven", want int
7
` {
		t.Errorf("waiting %v, shown\n%s", waiting, got)
	}
	late := &fakeEngine{gates: []runtime.Gate{{Gate: "g", Contract: "{n: int}"}}, answers: map[string][]runtime.Event{"ask()": {opened("g")}}}
	late.decide = func() *runtime.Refusal {
		late.gates = nil
		late.add(runtime.Event{Type: "gate.decided", Step: "g"}, ended(`{"value":"0"}`))
		return runtime.Refusef(runtime.ErrDecided, "nobody decided in time")
	}
	if got, waiting := sit(t, late, "ask()", "7"); waiting || got != "! g: \n!   n: int\n! nobody decided in time\n0\n" {
		t.Errorf("late: waiting %v, shown\n%s", waiting, got)
	}
}

// TestLeft: an empty line and the end of the input leave the gate open; coming back finds it where
// it was. A line that is dropped ends the statement.
func TestLeft(t *testing.T) {
	f := &fakeEngine{gates: []runtime.Gate{{Gate: "g"}}, answers: map[string][]runtime.Event{
		"ask()": {opened("g")},
		"g=1":   {{Type: "gate.decided", Step: "g"}, ended(`{"value":"1"}`)},
		"2":     {ended(`{"value":"2"}`)},
	}}
	for _, lines := range [][]string{{"ask()", "", "never reached"}, {"ask()"}} {
		if _, waiting := sit(t, f, lines...); !waiting {
			t.Errorf("%q: not left at the gate", lines)
		}
		f.events = f.events[:2]
	}
	if got, waiting := sit(t, f, "1"); got != "! g: \n1\n" || waiting {
		t.Errorf("coming back: waiting %v, shown\n%s", waiting, got)
	}
	f.events, f.gates = nil, []runtime.Gate{{Gate: "g"}}
	if got, waiting := sit(t, f, "ask()", "^C", "2"); got != "! g: \n! interrupted\n2\n" || waiting {
		t.Errorf("dropped: waiting %v, shown\n%s", waiting, got)
	}
}
