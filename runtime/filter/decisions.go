package filter

import (
	"context"
	"time"

	"starling/runtime"
)

// Decisions says which decisions are meant. It is immutable; goroutines may share it.
type Decisions struct {
	filter *Filter
	bounds []bound
}

// bound is a condition on the time that holds for all that is meant.
type bound struct {
	age      bool // the value is how long ago it was
	relation relation
	micros   int64
}

// ParseDecisions reads a filter of decisions, as [Parse] reads one of runs. [DecisionFields] lists
// its fields.
func ParseDecisions(text string) (*Decisions, error) {
	r := &reading{fields: decisionFields(), elsewhere: fields(), hint: "runs and open gates have it: starling query --help"}
	f, err := r.filterOf(text)
	if err != nil {
		return nil, err
	}
	return &Decisions{f, r.bounds()}, nil
}

// bounds are the conditions on the time that stand in a chain of "and" which is the whole filter.
func (r *reading) bounds() (list []bound) {
	for _, c := range r.chain() {
		if c.Operator == nil || operators[c.Operator.Value].negated {
			continue
		}
		if f := fieldNamed(r.fields, c.Field.Value); f.kind == moment || f.kind == duration {
			v, _ := r.value(f, *c.Value) // it was read before
			list = append(list, bound{f.kind == duration, operators[c.Operator.Value].relation, v.number})
		}
	}
	return list
}

// chain are the conditions of a chain of "and" which is the whole filter: all of them hold for what
// it means.
func (r *reading) chain() (list []*condition) {
	if r.tree == nil || len(r.tree.Rest) > 0 {
		return nil
	}
	for _, t := range append([]*term{r.tree.First.First}, r.tree.First.Rest...) {
		if t.Condition != nil {
			list = append(list, t.Condition)
		}
	}
	return list
}

// narrow has a query ask for no more of the record than can be meant.
func (b *bound) narrow(q *runtime.DecisionQuery, now time.Time) {
	at, later := time.UnixMicro(b.micros), b.relation == more || b.relation == atLeast
	if b.age {
		at, later = now.Add(-time.Duration(b.micros)*time.Microsecond), b.relation == less || b.relation == atMost
	}
	if (later || b.relation == equal) && at.After(q.Since) {
		q.Since = at
	}
	if (!later || b.relation == equal) && (q.Until.IsZero() || at.Before(q.Until)) {
		q.Until = at
	}
}

// Of lists the decisions of an engine that the filter means, the newest first, as they are at now.
// The query's limit counts what is listed; with 0 it is all.
func (d *Decisions) Of(ctx context.Context, e runtime.Engine, q runtime.DecisionQuery, now time.Time) (*Page[runtime.Decision], error) {
	record, err := runtime.Extension[runtime.Decisions](e)
	if err != nil {
		return nil, err
	}
	for i := range d.bounds {
		d.bounds[i].narrow(&q, now)
	}
	read := func(limit int, after string, cursors bool) ([]runtime.Decision, string, []string, error) {
		q.Limit, q.After, q.Cursors = limit, after, cursors
		page, err := record.Decisions(ctx, q)
		if err != nil {
			return nil, "", nil, err
		}
		return page.Decisions, page.Next, page.Cursors, nil
	}
	return pages(q.Limit, q.After, len(d.filter.fields) > 0, read, func(one runtime.Decision) bool {
		return d.filter.holds(&subject{decision: &one, began: one.At, now: now})
	})
}
