package engine

import (
	"fmt"
	"slices"
	"strings"

	"starling/lang/diagnostic"
	"starling/lang/effect"
	"starling/runtime"
	"starling/runtime/journal"
	"starling/runtime/query"
)

// How far a survey looks back: what agents have spent is an estimate for those who are about to
// spend, and must not cost what reading a whole store does.
const (
	surveyRuns    = 20   // the newest runs
	surveyRecords = 5000 // the first of each
)

// survey is effect.Attempt.Known: what the engine keeps beside the run that asks.
func (e *Local) survey(run string, q effect.Survey) (*effect.Known, *effect.Error) {
	known := &effect.Known{Past: map[string]effect.Spent{}}
	for _, name := range q.Workflows {
		known.Workflows = append(known.Workflows, e.workflow(name, q.Names))
	}
	if !q.Past {
		return known, nil
	}
	listed, err := e.runPage(runtime.Query{All: true, Limit: surveyRuns})
	if err != nil {
		return nil, effect.Errorf(effect.KindEffect, "what agents have spent cannot be read: %v", err)
	}
	for _, r := range listed.Runs {
		if r.ID != run {
			e.addSpent(known.Past, r.ID)
		}
	}
	return known, nil
}

// workflow looks a definition up, as a call of run would, and reads what its inputs must be.
func (e *Local) workflow(name string, names bool) effect.Workflow {
	if !runtime.NamesDefinition(name) {
		return effect.Workflow{Fault: "want the name of a script that is defined: starling define NAME FILE" + runtime.ScriptSuffix}
	}
	found, err := e.definitions(name)
	if err != nil {
		fault := err.Error()
		if names {
			fault += e.definedHere(name)
		}
		return effect.Workflow{Fault: fault}
	}
	d := found[0]
	p, err := e.programs.of(d.Bundle, func() ([]byte, error) { return e.store.Get([]byte(journal.PrefixBlob + d.Bundle)) })
	if err != nil {
		return effect.Workflow{Fault: fmt.Sprintf("%s cannot be run: %v", d.Address(), err)}
	}
	return effect.Workflow{Address: d.Address(), Inputs: p.Code.Inputs}
}

// definedHere says which names there are in the place of one that is not there.
func (e *Local) definedHere(name string) string {
	all, err := e.newestDefinitions()
	if err != nil {
		return ""
	}
	var names []string
	for _, d := range all {
		names = append(names, d.Name)
	}
	wanted, _, _ := strings.Cut(name, "@")
	switch hint := diagnostic.DidYouMean(wanted, names); {
	case hint != "" && !slices.Contains(names, wanted):
		return "; " + hint
	case len(names) == 0:
		return "; no script is: starling define NAME FILE" + runtime.ScriptSuffix
	}
	return "; there are " + strings.Join(names, ", ")
}

// addSpent adds what the agents of a run have spent. A run that cannot be read says nothing.
func (e *Local) addSpent(sums map[string]effect.Spent, run string) {
	list, n := query.NewStepList(nil), 0
	err := e.kept(run, func(r *journal.Record) error {
		if n++; n > surveyRecords {
			return runtime.ErrStopWatch
		}
		ev := r.Event(run)
		list.Add(&ev)
		return nil
	})
	if unlessStopped(err) != nil {
		return
	}
	query.EachTry(list.Steps, func(st *runtime.Step, _ *runtime.Try, u runtime.Usage) {
		s := sums[st.Agent]
		sums[st.Agent] = effect.Spent{Calls: s.Calls + u.Calls, MicroUSD: s.MicroUSD + u.MicroUSD,
			InputTokens: s.InputTokens + u.InputTokens, OutputTokens: s.OutputTokens + u.OutputTokens}
	})
}
