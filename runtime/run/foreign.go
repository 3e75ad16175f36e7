package run

import (
	"cmp"
	"fmt"
	"strings"

	"starling/lang/effect"
	"starling/runtime"
	"starling/runtime/journal"
)

// A run that comes from another store brings what that store's project said: which programs its
// agents are, where it works, what its steps were to be served by. Nothing of it is believed. On
// the way in the settings are replaced, and what says who serves a step is put aside, where people
// can read it and nothing else looks (elsewhere). A step that is still open is foreign: it is
// resolved anew, under the settings that the run has here, before its next attempt, and a record
// says what came of it. What the project here cannot serve is asked about at a gate !project:STEP,
// so that nothing is lost: it closes by itself when the run is pinned to a project that can, or
// when the step is gone.

// foreignFields say who serves a step and how far its attempts had come with them; policy and
// returns stay, for they say what becomes of replies.
var foreignFields = map[journal.RecordType][]string{
	journal.StepRequested: {"resolved", "backends", "pulls", "steers", "breaker", "changes", "limit", "total"},
	journal.StepResolved: {"resolved", "backends", "pulls", "steers", "breaker", "changes", "limit", "total",
		"returns", "policy"},
	journal.AttemptEnded: {"session"},
}

// Elsewhere is the data of a record of another store, in which what counts only there stands under
// "there".
func Elsewhere(r *journal.Record) effect.Payload {
	fields, v := foreignFields[r.Type], r.View()
	if fields == nil || r.Type == journal.StepRequested && native(v.Text("kind")) {
		return r.Data
	}
	var there effect.Object
	drop := []string{"foreign"}
	for _, field := range fields {
		if v.Has(field) {
			there.Raw(field, v.Raw(field))
			drop = append(drop, field)
		}
	}
	if len(drop) == 1 { // what is put aside already, by the store before, stays
		return v.Without(drop...).Flag("foreign", true).Payload()
	}
	kept := v.Without(append(drop, "there")...)
	return kept.Raw("there", there.Payload()).Flag("foreign", true).Payload()
}

// claimedElsewhere tells whether a timer is of a claim that somebody has in the store that the step
// is from.
func (st *Step) claimedElsewhere(purpose string) bool {
	return st.Foreign && (purpose == timerLease || purpose == timerAttempt)
}

// resolved takes who serves a foreign step here. What was said and granted to others does not
// count.
func (s *State) resolved(st *Step, v effect.View) {
	if st == nil || v.Flag("foreign") {
		return
	}
	takeAll(v, st, servedFields)
	st.Foreign, st.Serving, st.Session, st.Permissions = false, 0, "", nil
	st.Failures, st.Reasks, st.Feedback = 0, 0, nil
	s.own(st)
	s.claim(st)
	other, _ := s.rival(st)
	st.Behind = other != nil
	s.want(st, !st.Behind)
}

// asksForMore tells whether a request that the project refuses is asked about: it came from where
// another served it.
func (t *Turn) asksForMore() bool {
	return t.Host.Settings != nil && t.Host.Settings.Imported == effect.ImportedLocal
}

// serve resolves a ready step that is foreign, or asks what is to become of it.
func (t *Turn) serve(st *Step) bool {
	r, refused := t.anew(st)
	if refused != nil {
		t.openSystemGate(runtime.GateProject+st.Step, "", t.unservedPrompt(refused))
		return false
	}
	t.record(journal.StepResolved, st.Step, putAll(&effect.Object{}, &Step{asked: askedOf(r)}, servedFields).Payload())
	return true
}

// anew makes the request of a step again, and resolves it.
func (t *Turn) anew(st *Step) (*effect.Request, *effect.Error) {
	r := &effect.Request{Class: st.Class, Kind: st.Kind, Args: st.Args, Policy: st.Policy, Returns: st.Returns,
		Step: st.Step, Branch: journal.BranchOf(st.Step), Where: st.Where, Tree: st.Tree, Ceilings: st.Ceilings, Overlaps: st.Overlaps}
	refused := t.resolved(r)
	t.ceilings(r)
	return r, refused
}

func (t *Turn) unservedPrompt(refused *effect.Error) string {
	where := ""
	if t.Host.Settings.ProjectFile == "" {
		where = " in " + t.Host.Settings.Workspace
	}
	return fmt.Sprintf("%s%s. The run was imported: mend the project and say: starling resume %s; "+
		"or import it again with --trust-project, for the project that came with it. Retry tries "+
		"again, skip goes on without the result, fail raises the error.", refused.Message, where, t.State.ID)
}

// unserved tells whether the run rests at the gate of a step that the project cannot serve.
func (t *Turn) unserved() bool {
	g := t.State.unserved
	if g == nil {
		return false
	}
	if st := t.State.Steps[strings.TrimPrefix(g.Name, runtime.GateProject)]; st != nil && st.Foreign && st.Ready {
		return true
	}
	t.withdrawGate(g, "")
	return false
}

// reconsider closes that gate where something else is to be said now of its step.
func (t *Turn) reconsider() {
	if t.Machine == nil || !t.unserved() {
		return
	}
	g := t.State.unserved
	st := t.State.Steps[strings.TrimPrefix(g.Name, runtime.GateProject)]
	args, _ := g.Args.View()
	if _, refused := t.anew(st); refused == nil || args.Text("prompt") != t.unservedPrompt(refused) {
		t.withdrawGate(g, "")
	}
}

// decideProject carries out what somebody has said of a step that the project cannot serve.
func (t *Turn) decideProject(st *Step, choice string) {
	if st == nil || choice == "retry" { // it is ready, and tries again
		return
	}
	_, refused := t.anew(st)
	switch {
	case refused == nil:
	case choice == "fail":
		t.settle(st, failure(st, refused, nil))
	case journal.AgentKind(st.Kind):
		t.settle(st, encoded(st, result(st, nil, refused)))
	default:
		t.settle(st, effect.Outcome{})
	}
}

// lacks tells whether the run rests until something is brought or mended: no attempt begins.
func (s *State) lacks() bool {
	return s.needy() || s.unserved != nil || s.Gates[runtime.GateWorkspace] != nil
}

// Project tells of the project that the run works under.
func (s *State) Project(set *effect.Settings) *runtime.Project {
	p := &runtime.Project{File: set.ProjectFile, From: cmp.Or(runtime.ProjectFrom(set.Imported), runtime.ProjectOwn)}
	switch {
	case s.Imported == nil || set.Imported != "":
	case s.Settings == s.Original:
		p.From = runtime.ProjectKept
	default:
		p.From = runtime.ProjectLocal
	}
	return p
}
