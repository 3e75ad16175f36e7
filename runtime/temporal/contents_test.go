package temporal

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"strings"
	"sync"
	"testing"
	"time"

	"go.temporal.io/sdk/workflow"

	"starling/lang"
	"starling/lang/effect"
	"starling/runtime"
	"starling/runtime/engine/enginetest"
	"starling/runtime/journal"
)

// shelf is contents in memory.
type shelf struct {
	mu   sync.Mutex // guards what follows
	kept map[string][]byte
	fail error
	gets int
}

func (s *shelf) Put(_ context.Context, hash string, content []byte) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.kept == nil {
		s.kept = map[string][]byte{}
	}
	s.kept[hash] = content
	return s.fail
}

func (s *shelf) Get(_ context.Context, hash string) ([]byte, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.gets++
	if s.fail != nil {
		return nil, s.fail
	}
	content, ok := s.kept[hash]
	if !ok {
		return nil, runtime.ErrNoKey
	}
	return content, nil
}

func (s *shelf) Name() string { return "the shelf" }

// A body that a history takes stays as it is; a larger one is named, and found by its name by a
// process that has not put it there.
func TestALargeBodyIsNamed(t *testing.T) {
	ctx, s := t.Context(), &shelf{}
	l := &library{Contents: s}
	small, large := []byte("small"), bytes.Repeat([]byte("large"), 100)
	if b, err := l.pack(ctx, small, 10); err != nil || !bytes.Equal(b, small) || len(s.kept) != 0 {
		t.Errorf("a small body is %q, %v, with %d kept; want it as it is", b, err, len(s.kept))
	}
	name, err := l.pack(ctx, large, 10)
	if err != nil || len(name) > 100 || !bytes.Equal(s.kept[journal.HashOf(large)], large) {
		t.Fatalf("a large body is %q, %v; want its hash, and itself kept", name, err)
	}
	if b, err := l.open(ctx, name); err != nil || !bytes.Equal(b, large) || s.gets != 0 {
		t.Errorf("who has put it gets %.20q, %v, asking %d times; want it without asking", b, err, s.gets)
	}
	for range 2 {
		if b, err := (&library{Contents: s}).open(ctx, name); err != nil || !bytes.Equal(b, large) {
			t.Errorf("another gets %.20q, %v, want all of it", b, err)
		}
	}
	if s.gets != 2 {
		t.Errorf("two others asked %d times", s.gets)
	}
	if _, err := new(library).pack(ctx, large, 10); !errors.As(err, new(*errTooLarge)) {
		t.Errorf("without contents a large body is %v, want that it is too large", err)
	}
}

// What is not there, is another content, or cannot be had is said, and who may know more.
func TestAContentIsMissing(t *testing.T) {
	ctx := t.Context()
	away := errors.New("nobody answers")
	hash := journal.HashOf([]byte("large"))
	name := append([]byte{byHash}, hash...)
	for _, c := range []struct {
		contents Contents
		want     string
	}{
		{&shelf{}, "the shelf has no content " + hash},
		{&shelf{kept: map[string][]byte{hash: []byte("larger")}}, "the shelf: the content " + hash + " is another one by its hash"},
		{&shelf{fail: away}, "nobody answers"},
		{nil, "nothing says where"},
	} {
		_, err := (&library{Contents: c.contents}).open(ctx, name)
		if err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("got %v, want %s", err, c.want)
		}
	}
	l := &library{Contents: &shelf{fail: away}}
	if _, err := l.pack(ctx, []byte("large"), 1); !errors.Is(err, away) || l.remembered(hash) != nil {
		t.Errorf("what could not be put is %v and remembered: %q", err, l.remembered(hash))
	}
}

// A library remembers no more than it may, and what was asked for last.
func TestALibraryIsBounded(t *testing.T) {
	l := &library{Contents: &shelf{}}
	third := make([]byte, maxKnown/3)
	l.remember("a", third)
	l.remember("b", third)
	l.remember("c", third)
	l.remembered("a")
	l.remember("d", third)
	for hash, want := range map[string]bool{"a": true, "b": false, "c": true, "d": true} {
		if got := l.remembered(hash) != nil; got != want {
			t.Errorf("%s is remembered: %t, want %t", hash, got, want)
		}
	}
	if l.size > maxKnown || l.order.Len() != len(l.known) {
		t.Errorf("it has %d bytes of %d, %d in order and %d by name", l.size, maxKnown, l.order.Len(), len(l.known))
	}
}

// With contents a turn leaves, and a call replies, more than a history takes; without them the
// former rests at a gate (TestATurnLeavesTooMuch) and the latter fails its step.
func TestLargerContentsLieElsewhere(t *testing.T) {
	text := noise(1 << 20 * 9 / 10)
	agent := func(context.Context, *effect.Attempt) (string, error) { return text, nil }
	t.Run("with contents", func(t *testing.T) {
		s := &shelf{}
		p := playWith(t, enginetest.Bundle("def main():\n    return agent(\"a\", \"one\").output * 5\n"), ``, agent, s)
		p.wants(p.ends(), runtime.Completed, `"`+strings.Repeat(text, 5)+`"`)
		if len(s.kept) == 0 {
			t.Error("nothing lies in the contents")
		}
	})
	t.Run("a reply", func(t *testing.T) {
		large := enginetest.Bundle("def main():\n    r = attempt(agent, \"a\", \"one\")\n    return r.error.kind if r.error else len(r.value.output)\n")
		reply := noise(effect.MaxPayload - 100)
		agent := func(context.Context, *effect.Attempt) (string, error) { return reply, nil }
		p := playWith(t, large, ``, agent, nil)
		p.wants(p.ends(), runtime.Completed, fmt.Sprint(len(reply)))
		p = playWith(t, large, ``, agent, &shelf{})
		p.wants(p.ends(), runtime.Completed, fmt.Sprint(len(reply)))
	})
}

// What a child run comes to may be too large for the letter by which its parent is told: then the
// step fails, and neither run.
func TestAChildComesToMuch(t *testing.T) {
	files := map[string]string{
		"main.star":  "def main():\n    r = attempt(lambda: run(\"child.star\"))\n    return r.error.kind if r.error else len(r.value)\n",
		"child.star": "def main():\n    return \"x\" * 3000000\n",
	}
	b, err := lang.Read("main.star", func(name string) ([]byte, error) {
		text, ok := files[name]
		if !ok {
			return nil, fs.ErrNotExist
		}
		return []byte(text), nil
	}, nil)
	if err != nil {
		t.Fatal(err)
	}
	p := playWith(t, b.Encode(), ``, nil, nil)
	p.wants(p.ends(), runtime.Completed, `"too_large"`)
	p = playWith(t, b.Encode(), ``, nil, &shelf{})
	p.wants(p.ends(), runtime.Completed, `3000000`)
}

// A run whose state is too large for the first of another history takes it along by its hash. If
// there are no contents it goes on in the history that it has.
func TestALargeRunLeavesItsHistory(t *testing.T) {
	const script = "def main():\n    texts = [agent(\"a\", \"one\").output for i in range(4)]\n    gate(\"review\", options = [\"yes\"])\n    return len(\"\".join(texts))\n"
	text := noise(900 << 10)
	agent := func(_ context.Context, a *effect.Attempt) (string, error) { // each time another text
		at := len(a.Step) + int(a.Step[len(a.Step)-1])*1000
		return text[at:] + text[:at], nil
	}
	playing := func(contents Contents) *played {
		p := playWith(t, enginetest.Bundle(script), ``, agent, contents)
		p.after(time.Hour, func() {
			p.env.SetContinueAsNewSuggested(true)
			p.update(letterSignal, &asked{Caller: runtime.Caller{Name: "ann", Local: true}, Signal: &runtime.Signal{Kind: runtime.SignalMessage, Run: p.id, Name: "note", Data: []byte("1")}},
				func(_ *runtime.Receipt, err error) { p.must(err) })
		})
		return p
	}
	s := &shelf{}
	p := playing(s)
	p.env.ExecuteWorkflow(workflowName, p.first)
	var next *workflow.ContinueAsNewError
	if err := p.env.GetWorkflowError(); !errors.As(err, &next) {
		t.Fatalf("got %v, want that it goes on as new", err)
	}
	body := bytesOf(next.Input)
	if len(body) > 100 {
		t.Errorf("the next history begins with %d bytes, want a name", len(body))
	}
	whole, err := (&library{Contents: s}).open(t.Context(), body)
	p.must(err)
	carried, err := decodeTurned(whole)
	p.must(err)
	h := newBook(p.id)
	p.must(h.apply(carried))
	p.must(p.worker.load(h, time.Now()))
	if h.loaded.Machine == nil || len(h.loaded.State.Gates) != 1 {
		t.Errorf("behind the hand-over the run has the gates %v", h.loaded.State.Gates)
	}

	p = playing(nil)
	p.after(2*time.Hour, func() { p.answer("review", "yes", func(_ *runtime.Receipt, err error) { p.must(err) }) })
	p.wants(p.ends(), runtime.Completed, fmt.Sprint(4*len(text)))
}
