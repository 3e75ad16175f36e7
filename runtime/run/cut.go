package run

import (
	"cmp"
	"slices"
	"strconv"
	"strings"
	"time"

	"starling/lang/diagnostic"
	"starling/lang/effect"
	"starling/runtime"
	"starling/runtime/journal"
)

// A journal is cut before the request of a step, that of a session also before a statement, which
// is addressed as <n>: what stands before it comes along into a new run,
// what stands behind it has not happened there. A journal is one order of all that happened, so a
// cut goes through all branches at once: what another branch had done by then stays done, what it
// did later is done again.
//
// What comes along is what the machine is a function of, byte for byte. What the runtime had going
// for steps that were open at the cut does not: their attempts belong to the other run, their
// outcomes are not known here, and they are performed under keys of their own. Timers and deadlines
// that were running go on with the time that they had left.

// Cut is the part of a journal before a step.
type Cut struct {
	Records  []journal.Record
	At       uint64 // sequence number of the step's request
	Step     string
	Request  effect.View
	Deadline time.Time // of the whole run, as far as it was running
}

// CutAt cuts a journal before a step.
func CutAt(run string, records []journal.Record, address string, now time.Time) (*Cut, error) {
	find := findStep
	if statementNumber(address) > 0 {
		find = findStatement
	}
	i, err := find(run, records, address)
	if err != nil {
		return nil, err
	}
	c := cutBefore(run, records, i, now)
	c.Step = cmp.Or(c.Step, address)
	return c, nil
}

// cutBefore cuts a journal before its i-th record, or behind all of them.
func cutBefore(run string, records []journal.Record, i int, now time.Time) *Cut {
	r := &journal.Record{Seq: uint64(len(records)) + 1, Time: now}
	if i < len(records) {
		r = &records[i]
	}
	s := NewState(run)
	for j := range records[:i] {
		s.Apply(&records[j])
	}
	c := &Cut{At: r.Seq, Step: r.Step, Request: r.View()}
	move := now.Sub(r.Time)
	if tm := s.timers.byID[timerID(timerDeadline, "")]; tm != nil {
		c.Deadline = tm.Due.Add(move)
	}
	for j := range records[:i] {
		if rec := records[j]; !s.drops(&rec) {
			rec.Data = s.shifted(&rec, move)
			c.Records = append(c.Records, rec)
		}
	}
	return c
}

// statementNumber is the number of the statement of a session that an address <n> means, 0 for any
// other address.
func statementNumber(address string) int {
	text, _ := strings.CutPrefix(address, "<")
	n, err := strconv.Atoi(strings.TrimSuffix(text, ">"))
	if err != nil || n < 1 || address != "<"+strconv.Itoa(n)+">" {
		return 0
	}
	return n
}

// findStatement finds where a statement of a session was taken, and behind all of them the end of
// the journal.
func findStatement(run string, records []journal.Record, address string) (int, error) {
	n := statementNumber(address)
	busy := false
	for i := range records {
		switch records[i].Type {
		case journal.ChunkAppended:
			busy = true
			if n--; n == 0 {
				return i, nil
			}
		case journal.ChunkEnded:
			busy = false
		}
	}
	if n == 1 && !busy && records[0].View().Flag("session") {
		return len(records), nil
	}
	return 0, runtime.Refusef(runtime.ErrUnknownStep, "run %s has no statement %s that could be cut before", run, address).
		WithHelp("a session has statements, which :history lists; one in progress is answered or interrupted first")
}

// findStep finds the request that an address means: the whole address of a step, or a suffix of one
// that is not ambiguous.
func findStep(run string, records []journal.Record, address string) (int, error) {
	address = strings.TrimSuffix(address, "#1")
	found, fits, names := -1, []string{}, []string{}
	for i := range records {
		r := &records[i]
		if r.Type == journal.StepAnswered && r.Step == address {
			return 0, runtime.Refusef(runtime.ErrUnknownStep, "step %q of run %s (%s) is answered by the run itself", address, run, r.View().Text("kind")).
				WithHelp("name a step that asks the world: starling steps %s", run).WithCall("name a step that asks the world: " + statusLists)
		}
		if r.Type != journal.StepRequested {
			continue
		}
		names = append(names, r.Step)
		switch {
		case r.Step == address:
			return i, nil
		case strings.HasSuffix(r.Step, "/"+address):
			found, fits = i, append(fits, r.Step)
		}
	}
	switch {
	case len(fits) == 1:
		return found, nil
	case len(fits) > 1:
		return 0, runtime.Refusef(runtime.ErrAmbiguous, "step %q of run %s is ambiguous: it matches %s", address, run, strings.Join(fits, ", ")).WithHelp("give more of the address").WithData(fits)
	}
	return 0, UnknownStep(run, address, names)
}

// UnknownStep refuses the address of a step; names are the steps there are.
func UnknownStep(run, address string, names []string) *runtime.Refusal {
	near := diagnostic.DidYouMean(address, names)
	return runtime.Refusef(runtime.ErrUnknownStep, "run %s has no step %q", run, address).WithHelp("%s", orText(near, "list them with: starling steps "+run)).WithCall("%s", orText(near, statusLists))
}

func orText(s, otherwise string) string {
	if s == "" {
		return otherwise
	}
	return s
}

// drops tells whether a record of a journal that was cut where the state is has no place behind the
// cut.
func (s *State) drops(r *journal.Record) bool {
	switch r.Type {
	case journal.AttemptStarted, journal.AttemptEnded, journal.AttemptRefused, journal.AttemptSkipped, journal.WorkOffered:
		return s.Steps[r.Step] != nil
	case journal.TimerSet, journal.TimerFired:
		return s.Steps[r.Step] != nil && slices.Contains(attemptPurposes[:], r.View().Text("purpose"))
	case journal.GateOpened, journal.GateEscalated, journal.SignalAccepted, journal.SignalRefused:
		return strings.HasPrefix(r.Step, "!") && s.Gates[r.Step] != nil
	case journal.StepRecalled:
		return true
	}
	return false
}

// shifted is the data of a record in which the time of something that is still running is later by
// so much.
func (s *State) shifted(r *journal.Record, by time.Duration) effect.Payload {
	field := map[journal.RecordType]string{journal.TimerSet: "due", journal.GateOpened: "deadline"}[r.Type]
	v := r.View()
	at := journal.TimeIn(v, field)
	running := r.Type == journal.TimerSet && s.timers.byID[timerID(v.Text("purpose"), r.Step)] != nil || r.Type == journal.GateOpened && s.Gates[r.Step] != nil
	if field == "" || at.IsZero() || !running {
		return r.Data
	}
	var o effect.Object
	p, err := with(r.Data, o.Int(field, journal.Micros(at.Add(by))).Payload())
	if err != nil {
		return r.Data
	}
	return p
}
