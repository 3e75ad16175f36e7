package fact

import (
	"crypto/sha256"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"go.starlark.net/starlark"

	"starling/lang/effect"
	"starling/runtime"
	"starling/runtime/journal"
)

// PrefixBill is that of the rows of bills.
const PrefixBill = "C/"

// What follows the run in the key of a row.
const (
	billOpen  = "!" // and a step: what its attempt in flight has taken so far
	billSum   = "=" // and a hash: what those have taken that have ended, of one agent, backend, model and day
	billSince = "?" // nothing was taken: it says from which record on the others count
)

// BillKey is the key of a row of a run's bill; "" for rest begins all of them.
func BillKey(run, rest string) []byte { return []byte(PrefixBill + run + "/" + rest) }

// Bill is what the agents of a run have taken, folded from its journal: the request when an attempt
// starts, tokens and money as it tells of them. Each commit writes the few rows that it changes,
// however many there are; what all runs have taken is the sum of the rows, whichever they are.
type Bill struct {
	stored func(rest string) ([]byte, error) // reads a row of the store, nil where there are none
	labels string                            // of the run
	since  uint64                            // the first record that it was made of, where the journal was trimmed
	asked  map[string]string                 // open steps of agents: who is asked
	rows   map[string]*charge                // as far as they were touched, nil for none
	fresh  map[string]bool                   // rows that are to be committed
}

// charge is one row.
type charge struct {
	agent, backend, model, day string
	labels                     string
	since                      uint64
	runtime.Usage
	claimed int64 // the part of the cost that is the word of agents' programs
}

// NewBill is the bill of a run as a store has it. asked are its open steps of agents, and who is
// asked; stored reads the row of a rest of a key, and is nil for a run that has none.
func NewBill(labels string, asked map[string]string, stored func(rest string) ([]byte, error)) *Bill {
	b := &Bill{stored: stored, labels: labels, asked: maps.Clone(asked), rows: map[string]*charge{}, fresh: map[string]bool{}}
	if b.asked == nil {
		b.asked = map[string]string{}
	}
	return b
}

// BeginAt notes that the records before one are gone, and are not in the bill.
func (b *Bill) BeginAt(seq uint64) {
	b.since = seq
	b.set(billSince, &charge{labels: b.labels, since: seq})
}

// Apply takes one record. It fails where a row cannot be read: the bill has then to be made of the
// journal.
func (b *Bill) Apply(r *journal.Record) error {
	switch r.Type {
	case journal.RunStarted:
		b.labels = effect.LabelsOf(r.View().Sub("labels")).String()
	case journal.StepRequested:
		if v := r.View(); journal.AgentKind(v.Text("kind")) {
			b.asked[r.Step] = journal.AgentName(v.Sub("args"))
		}
	case journal.StepSettled, journal.StepWithdrawn:
		delete(b.asked, r.Step)
	case journal.AttemptStarted:
		if agent, ok := b.asked[r.Step]; ok {
			b.set(billOpen+r.Step, &charge{agent: agent, day: r.Time.UTC().Format(time.DateOnly), labels: b.labels, since: b.since, Usage: runtime.Usage{Calls: 1}})
		}
	case journal.AgentEvent:
		if v := r.View(); v.Text("kind") == journal.EventUsage {
			return b.told(r.Step, v.Sub("data"))
		}
	case journal.AttemptEnded:
		return b.ended(r.Step, r.View())
	}
	return nil
}

// told takes what an attempt says that it has taken so far.
func (b *Bill) told(step string, told effect.View) error {
	if _, ok := b.asked[step]; !ok {
		return nil
	}
	open, err := b.get(billOpen + step)
	if open == nil || err != nil {
		return err
	}
	next := *open
	next.model, next.Usage, next.claimed = told.Text("model"), usageIn(told), 0
	if next.Calls = 1; told.Flag("claimed") {
		next.claimed = next.MicroUSD
	}
	b.set(billOpen+step, &next)
	return nil
}

// ended adds what an attempt has taken to the sum that it is of.
func (b *Bill) ended(step string, v effect.View) error {
	if v.Has("usage") {
		if err := b.told(step, v.Sub("usage")); err != nil {
			return err
		}
	}
	if _, ok := b.asked[step]; !ok {
		return nil
	}
	open, err := b.get(billOpen + step)
	if open == nil || err != nil {
		return err
	}
	whole := *open
	whole.backend = v.Text("backend")
	key := billSum + whole.hash()
	sum, err := b.get(key)
	if err != nil {
		return err
	}
	if sum != nil {
		whole.Usage, whole.claimed = whole.Plus(sum.Usage), whole.claimed+sum.claimed
	}
	b.set(key, &whole)
	b.set(billOpen+step, nil)
	return nil
}

// usageIn reads what a backend says: what is no number, or below zero, counts nothing.
func usageIn(told effect.View) runtime.Usage {
	number := func(field string, unit float64) int64 {
		x, _ := starlark.AsFloat(told.Value(field))
		return journal.Claimed(x, unit)
	}
	return runtime.Usage{MicroUSD: number("usd", 1e6), InputTokens: number("input_tokens", 1), OutputTokens: number("output_tokens", 1)}
}

func (b *Bill) get(rest string) (*charge, error) {
	if c, known := b.rows[rest]; known || b.stored == nil {
		return c, nil
	}
	row, err := b.stored(rest)
	if errors.Is(err, runtime.ErrNoKey) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	return readCharge(row)
}

func (b *Bill) set(rest string, c *charge) { b.rows[rest], b.fresh[rest] = c, true }

// Rows are what has changed since they were made last; they are to be committed.
func (b *Bill) Rows(run string) (writes []runtime.Write) {
	for _, rest := range slices.Sorted(maps.Keys(b.fresh)) {
		c := b.rows[rest]
		if c == nil {
			writes = append(writes, runtime.Write{Key: BillKey(run, rest), Value: nil})
			delete(b.rows, rest)
			continue
		}
		writes = append(writes, runtime.Write{Key: BillKey(run, rest), Value: c.row()})
	}
	clear(b.fresh)
	return writes
}

// hash names what is summed up together.
func (c *charge) hash() string {
	sum := sha256.Sum256([]byte(strings.Join([]string{c.agent, c.backend, c.model, c.day}, "\x00")))
	return string(sum[:12]) // of the few of one run no two are alike
}

func (c *charge) row() effect.Payload {
	var o effect.Object
	return o.Text("agent", c.agent).Text("backend", c.backend).Text("model", c.model).Text("day", c.day).Text("labels", c.labels).Int("since", int64(c.since)).
		Int("usd", c.MicroUSD).Int("in", c.InputTokens).Int("out", c.OutputTokens).Int("calls", c.Calls).Int("claimed", c.claimed).Payload()
}

func readCharge(row []byte) (*charge, error) {
	v, err := effect.Payload(row).View()
	if err != nil {
		return nil, fmt.Errorf("%w: a row of a bill: %v", runtime.ErrDamaged, err)
	}
	return &charge{agent: v.Text("agent"), backend: v.Text("backend"), model: v.Text("model"), day: v.Text("day"), labels: v.Text("labels"), since: uint64(v.Int("since")),
		Usage: journal.UsageOf(v), claimed: v.Int("claimed")}, nil
}

// Sums are bills, summed up.
type Sums struct {
	by      []string
	sums    map[runtime.SpentOf]*runtime.Spent
	trimmed map[string]uint64
}

// NewSums begins to sum up by what is asked for.
func NewSums(by []string) *Sums {
	return &Sums{by: by, sums: map[runtime.SpentOf]*runtime.Spent{}, trimmed: map[string]uint64{}}
}

// AddRow adds a row of a run's bill. It fails where the row cannot be read.
func (s *Sums) AddRow(run string, row []byte) error {
	c, err := readCharge(row)
	if err == nil {
		s.add(run, c)
	}
	return err
}

// AddBill adds a bill that was made of a journal.
func (s *Sums) AddBill(run string, b *Bill) {
	for _, c := range b.rows {
		if c != nil {
			s.add(run, c)
		}
	}
}

func (s *Sums) add(run string, c *charge) {
	if c.since > 0 {
		s.trimmed[run] = c.since
	}
	if c.Calls == 0 {
		return
	}
	of := c.of(run, s.by)
	sum := s.sums[of]
	if sum == nil {
		sum = &runtime.Spent{SpentOf: of}
		s.sums[of] = sum
	}
	sum.Usage, sum.ClaimedMicroUSD = sum.Plus(c.Usage), sum.ClaimedMicroUSD+c.claimed
}

// of is what a row counts as.
func (c *charge) of(run string, by []string) (of runtime.SpentOf) {
	for _, what := range by {
		switch name, label := strings.CutPrefix(what, runtime.CostByLabel); {
		case label:
			of.Label = effect.ReadLabels(c.labels)[name]
		case what == runtime.CostByAgent:
			of.Agent = c.agent
		case what == runtime.CostByBackend:
			of.Backend = c.backend
		case what == runtime.CostByModel:
			of.Model = c.model
		case what == runtime.CostByDay:
			of.Day = c.day
		case what == runtime.CostByRun:
			of.Run = run
		}
	}
	return of
}

// Document is what was summed up.
func (s *Sums) Document() *runtime.Bills {
	doc := &runtime.Bills{Spent: []runtime.Spent{}, Trimmed: s.trimmed}
	for _, sum := range s.sums {
		doc.Spent = append(doc.Spent, *sum)
	}
	slices.SortFunc(doc.Spent, func(a, b runtime.Spent) int { return a.SpentOf.Compare(b.SpentOf) })
	return doc
}
