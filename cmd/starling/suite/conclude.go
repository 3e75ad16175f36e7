package suite

import (
	"errors"
	"fmt"
	"strings"

	"starling/lang/diagnostic"
	"starling/lang/effect"
	"starling/runtime"
)

// answer lets somebody decide one of the open gates, if the test has an answer to it whose time has
// come.
func (s *stage) answer(gates []runtime.Gate) (given bool, err error) {
	for _, g := range gates {
		a := s.next(g.Gate)
		if a == nil {
			continue
		}
		if a.at.IsZero() {
			a.at = s.clock.Now().Add(a.after)
			s.clock.After(a.after, func() {}) // so that the clock stops there
		}
		if s.clock.Now().Before(a.at) {
			continue
		}
		a.used = true
		return true, s.decide(&g, a)
	}
	return false, nil
}

// next is the first answer to a gate that was not given.
func (s *stage) next(gate string) *answer {
	s.world.mu.Lock()
	defer s.world.mu.Unlock()
	for _, a := range s.world.answers {
		if !a.used && names(gate, a.gate) {
			return a
		}
	}
	return nil
}

// decide gives an answer. One that is refused ends the test, unless it had to be.
func (s *stage) decide(g *runtime.Gate, a *answer) error {
	by := a.by
	if by == "" {
		by = g.Target
	}
	_, err := s.engine.Signal(s.ctx, runtime.Signal{Key: "answer/" + a.step, Kind: runtime.SignalAnswer, Run: s.run, Gate: g.Gate, Choice: a.choice, Reason: a.reason, Data: a.data,
		As: by, Override: a.override})
	var refused *runtime.Refusal
	switch {
	case err == nil && a.refused != "":
		s.find(s.where[a.step], "", "the answer to %q was accepted, want it refused as %s", g.Gate, a.refused)
	case err == nil:
		return nil
	case !errors.As(err, &refused):
		return err
	case string(refused.Kind) == a.refused:
		return nil
	default:
		s.find(s.where[a.step], hintFor(refused, g), "the answer to %q is refused as %s: %s", g.Gate, refused.Kind, refused.Message)
	}
	_, _ = s.engine.Cancel(s.ctx, runtime.CancelRequest{Run: s.run}) // it may have ended meanwhile
	return nil
}

// hintFor is what helps a test whose answer was refused. What the refusal itself says helps on a
// command line.
func hintFor(refused *runtime.Refusal, g *runtime.Gate) string {
	if refused.Kind == runtime.ErrWrongTarget && g.Target != "" {
		return fmt.Sprintf("by = %q answers it; refused = %q says that it must be refused", g.Target, refused.Kind)
	}
	return refused.Help
}

// conclude finds what was wrong with a test that is over: its error, or else what it has left
// behind.
func (s *stage) conclude(b Bounds) error {
	s.engine.Settle()
	run, err := s.engine.Get(s.ctx, s.run)
	if s.late.Load() || s.heavy.Load() {
		s.result.Findings = nil // who was ended from outside may have been found stuck on the way
	}
	if err != nil || len(s.result.Findings) > 0 {
		return err
	}
	switch {
	case s.late.Load():
		s.result.Ended = EndedByTime
		s.find("", "a program or a file takes its real time in a test; --timeout gives more",
			"%s was ended: it has not ended within %s on the wall", s.test.Name, b.Time)
	case s.heavy.Load():
		s.result.Ended = EndedBySize
		s.find("", "what a test prints, logs and asks for is kept until it ends, in a quarter of --memory",
			"%s was ended: it has written down more than %d bytes", s.test.Name, b.written())
	case run.Error != nil && run.Error.Kind == string(effect.KindLimit):
		s.result.Ended = EndedByScript
		s.result.Findings = s.blame(run.Error)
		s.result.Findings[0].Hint = "--steps and --memory give a test more"
	case run.Error != nil:
		s.result.Findings = s.blame(run.Error)
	default:
		return s.leaks()
	}
	return nil
}

// blame is the error of a test without the calls of the program around it.
func (s *stage) blame(e *runtime.RunError) diagnostic.List {
	if len(e.Diagnostics) == 0 {
		return diagnostic.List{{Kind: e.Kind, Message: e.Message}}
	}
	var list diagnostic.List
	for i, d := range e.Diagnostics {
		if i == 0 || d.File != s.file.entry() {
			list = append(list, d)
		}
	}
	return list
}

// leaks are what a test has said and nobody needed, and what goes on behind it.
func (s *stage) leaks() error {
	w := s.world
	w.mu.Lock()
	defer w.mu.Unlock()
	for _, a := range w.answers {
		if !a.used {
			s.find(s.where[a.step], s.opened(), "no gate took this answer to %q", a.gate)
		}
	}
	for _, c := range w.crashes {
		if c.left > 0 {
			s.find(s.where[c.step], "", "the power was to fail at %q, which was not reached%s", c.at, again(c))
		}
	}
	for _, r := range w.responses {
		if !r.used {
			s.find(s.where[r.step], "", "nobody has asked for %s", r.url)
		}
	}
	for _, e := range w.endings {
		if !e.used {
			s.find(s.where[e.step], "", "nothing has run %s", strings.Join(e.argv, " "))
		}
	}
	for name, c := range w.casts {
		if c.asked < len(c.replies) {
			s.find(s.where[c.step], "", "%d of the %d replies of %q were not asked for", len(c.replies)-c.asked, len(c.replies), name)
		}
	}
	l, err := s.engine.List(s.ctx, runtime.Query{})
	if err == nil {
		for _, r := range l.Runs {
			s.find("", "", "the run of %s that the test has started has not ended: it is %s", r.Script, r.Status)
		}
	}
	s.result.Findings.Sort()
	return err
}

// opened tells which gates there were.
func (s *stage) opened() string {
	if len(s.asked) == 0 {
		return "no gate was opened"
	}
	return fmt.Sprintf("these were opened: %s", strings.Join(s.asked, ", "))
}

// again tells that a step was reached, and less often than the test has said.
func again(c *crash) string {
	if !c.used {
		return ""
	}
	return fmt.Sprintf(" %d times more", c.left)
}
