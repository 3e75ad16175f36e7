package engine_test

import (
	"context"
	"fmt"
	"regexp"
	"strings"
	"testing"

	"starling/runtime"
)

// sitting begins a session.
func sitting(w *world) *session {
	w.t.Helper()
	run, err := w.engine.Start(w.ctx, runtime.StartRequest{Bundle: bundle(w.t, "", nil), Script: "session", Session: true})
	if err != nil {
		w.t.Fatal(err)
	}
	return &session{w, run.ID}
}

// TestSessionIsCutBeforeAStatement: a session that is made of another goes on with what that one
// had before the statement, also when its process is lost; the other one stays as it is.
func TestSessionIsCutBeforeAStatement(t *testing.T) {
	w := newWorld(t)
	s := sitting(w)
	s.chunk("x = [1]\n")
	s.chunk("x.append(work('w', value = 2))\n")
	w.until(s.id, runtime.Suspended)
	s.chunk("x[9]\n")
	s.chunk("x.append(3)\nx\n")
	for at, want := range map[string]string{"<2>": "[1]", "<3>": "[1, 2]", "<5>": "[1, 2, 3]"} {
		fork, err := w.reruns().Fork(w.ctx, runtime.ForkRequest{Kind: runtime.LineageFork, Run: s.id, Step: at})
		if err != nil {
			t.Fatal(err)
		}
		if l := fork.Details.Lineage; l.Run != s.id || l.Step != at || !fork.Details.Session {
			t.Errorf("%s: the fork is %+v", at, fork.Details)
		}
		f := &session{w, fork.ID}
		w.restart() // another process
		f.chunk("print('it is', x)\n")
		if said := f.said(); !strings.Contains(said, "it is "+want) {
			t.Errorf("%s: the fork said\n%s\nwant %s", at, said, want)
		}
		if _, err := w.reruns().Replay(w.ctx, runtime.ReplayRequest{Run: fork.ID}); err != nil {
			t.Errorf("%s: executed again: %v", at, err)
		}
	}
	for _, at := range []string{"<0>", "<6>", "<99>"} {
		if _, err := w.reruns().Fork(w.ctx, runtime.ForkRequest{Kind: runtime.LineageFork, Run: s.id, Step: at}); runtime.AsRefusal(err).Kind != runtime.ErrUnknownStep {
			t.Errorf("%s: got %v", at, err)
		}
	}
	s.chunk("print('still', x)\n")
	if said := s.said(); !strings.Contains(said, "still [1, 2, 3]") {
		t.Errorf("the other session said\n%s", said)
	}
}

// TestInterruptEndsAStatement: the statement ends where it stands and what it waits for is
// withdrawn; the session goes on, also from its journal.
func TestInterruptEndsAStatement(t *testing.T) {
	w := newWorld(t)
	s := sitting(w)
	interrupt := runtime.Signal{Kind: runtime.SignalInterrupt, Run: s.id}
	w.refused(runtime.ErrNotOpen, interrupt)
	s.chunk("x = [1]\ndef f():\n    x.append(2)\n    parallel([lambda: gate('g'), lambda: gate('h')])\n    x.append(3)\nf()\n")
	w.signal(interrupt)
	s.chunk("print('it is', x)\n")
	w.restart()
	s.chunk("print('it is', x)\n")
	said := s.said()
	if strings.Count(said, "it is [1, 2]") != 2 || !strings.Contains(said, `"interrupted"`) {
		t.Errorf("the session said\n%s", said)
	}
	if _, err := w.reruns().Replay(w.ctx, runtime.ReplayRequest{Run: s.id}); err != nil {
		t.Errorf("executed again: %v", err)
	}
	r, err := w.engine.Get(w.ctx, s.id)
	if err != nil || len(r.Gates) > 0 || r.Status != runtime.Suspended {
		t.Errorf("it is %+v, %v", r, err)
	}
}

// TestInterruptEndsALoop: a statement that is at work and waits for nothing ends, and executed
// again it ends where it did.
func TestInterruptEndsALoop(t *testing.T) {
	w := newWorld(t)
	s := sitting(w)
	s.chunk("n = [0]\ndef f():\n    for _ in range(1 << 40):\n        n[0] += 1\nf()\n")
	w.signal(runtime.Signal{Kind: runtime.SignalInterrupt, Run: s.id})
	s.chunk("print('counted', n[0])\n")
	w.restart()
	s.chunk("print('counted', n[0])\n")
	counted := regexp.MustCompile(`counted (\d+)`).FindAllStringSubmatch(s.said(), -1)
	if len(counted) != 2 || counted[0][1] != counted[1][1] || counted[0][1] == "0" {
		t.Errorf("it has counted %v", counted)
	}
	if _, err := w.reruns().Replay(w.ctx, runtime.ReplayRequest{Run: s.id}); err != nil {
		t.Errorf("executed again: %v", err)
	}
}

// look is that of the engine.
func look(w *world) func(context.Context, runtime.LookRequest) (*runtime.Sight, error) {
	w.t.Helper()
	m, err := runtime.Extension[runtime.Moments](w.engine)
	if err != nil {
		w.t.Fatal(err)
	}
	return m.Look
}

// TestLookIntoBranch: a branch that has no step is looked into by its path: where it failed, with
// what it could see there, also when the run is over, and where it stands.
func TestLookIntoBranch(t *testing.T) {
	w := newWorld(t)
	run := w.start(`
def main():
    def one(n):
        doubled = 2 * n
        def inner(parts):
            left = len(parts)
            return parts[left]
        if n == 2:
            gate("g")
        if n == 3:
            parallel([lambda: gate("deep")])
        if n == 4:
            return doubled
        for i in range(300000):
            last = i
        return inner([doubled])
    parallel(one, over = [1, 2, 3, 4], on_error = "collect")
    gate("end")
`, "").ID
	w.until(run, runtime.Suspended)
	see := func(at, text string) (string, error) {
		s, err := look(w)(w.ctx, runtime.LookRequest{Run: run, At: at, Chunks: [][]byte{bundle(t, text, nil)}})
		if err != nil || s.Error != nil || s.At+s.Branch != at {
			return fmt.Sprintf("%+v", s), err
		}
		return s.Value.Text, nil
	}
	for at, text := range map[string][2]string{
		"parallel/0":   {"parts, left, doubled, last\n", "([2], 1, 2, 299999)"},
		"parallel/2":   {"n, doubled\n", "(3, 6)"},
		"parallel/1/g": {"n, doubled\n", "(2, 4)"},
	} {
		if got, err := see(at, text[0]); got != text[1] || err != nil {
			t.Errorf("%s: got %s, %v, want %s", at, got, err, text[1])
		}
	}
	for _, at := range []string{"parallel/3", "parallel/7", "paralel"} {
		if got, err := see(at, "1\n"); runtime.AsRefusal(err).Kind != runtime.ErrUnknownStep {
			t.Errorf("%s: got %s, %v", at, got, err)
		}
	}
}

// TestLook: a moment is seen as it was when the machine next stood still, statements over it change
// nothing, and what they ask of the world is refused.
func TestLook(t *testing.T) {
	w := newWorld(t)
	script := `
LIMIT = 7
def main():
    seen = []
    def one(n):
        doubled = 2 * n
        seen.append(doubled)
        return gate("g", prompt = str(n)).payload
    parallel(one, over = [1, 2])
`
	run := w.start(script, "").ID
	w.until(run, runtime.Suspended)
	see := func(at string, texts ...string) *runtime.Sight {
		t.Helper()
		r := runtime.LookRequest{Run: run, At: at}
		for _, text := range texts {
			r.Chunks = append(r.Chunks, bundle(t, text, nil))
		}
		s, err := look(w)(w.ctx, r)
		if err != nil {
			t.Fatal(err)
		}
		return s
	}
	for at, want := range map[string]string{"parallel/0/g": "(2, [2, 4], 7)", "parallel/1/g": "(4, [2, 4], 7)", "": "([2, 4], 7)"} {
		expr := "doubled, seen, LIMIT\n"
		if at == "" {
			expr = "seen, LIMIT\n"
		}
		s := see(at, "seen.append\n", expr)
		if s.Value == nil || s.Value.Text != want || s.Value.Type != "tuple" {
			t.Errorf("at %q: got %+v, want %s", at, s, want)
		}
	}
	s := see("", "seen.clear()\n", "print('hi')\ndef two(a, *r, b = 1, **k):\n    'Says two.'\ntwo\n")
	if v := s.Value; v == nil || v.Params != "a, *r, b = 1, **k" || v.Doc != "Says two." || strings.Join(s.Printed, "") != "hi" {
		t.Errorf("got %+v, said %q", v, s.Printed)
	}
	if s := see("", "gate('more')\n"); s.Error == nil || s.Error.Kind != "refused" || !strings.Contains(s.Error.Message, "fork") {
		t.Errorf("asked of the world: %+v", s.Error)
	}
	if s := see("", "seen\n"); s.Value.Text != "[2, 4]" {
		t.Errorf("a look has changed the run: %s", s.Value.Text)
	}
	_, err := look(w)(runtime.WithCaller(w.ctx, runtime.Caller{Name: "a", Agent: "a", Run: run}), runtime.LookRequest{Run: run})
	if runtime.AsRefusal(err).Kind != runtime.ErrDenied {
		t.Errorf("an agent looks: %v", err)
	}
}
