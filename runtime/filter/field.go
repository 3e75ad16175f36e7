package filter

import (
	"strconv"
	"strings"
	"time"

	"starling/lang/diagnostic"
	"starling/runtime"
)

// subject is what a filter is held against: a run with its open gates, one gate with its run, or a
// decision.
type subject struct {
	run   runtime.Summary
	gates []runtime.Gate
	began time.Time // of what is listed: the run's start, when the gate opened, when it was decided
	now   time.Time

	decision *runtime.Decision
}

// field is one name that a filter may use.
type field struct {
	name    string
	doc     string
	example string
	kind    kind
	gate    bool // it speaks of gates
	values  func(*subject) []value

	named bool                           // it stands for many, each with a name behind a dot: see of
	of    func(field, string) *field     // that of a name
	facts bool                           // it speaks of what only an engine that is asked for it lists
	terms func(relation, value) []string // by which an index finds what may be meant; nil for none
}

// compare makes the test that one of the field's values stands in a relation to want.
func (f *field) compare(r relation, want value) test {
	return func(s *subject) bool {
		for _, v := range f.values(s) {
			if f.kind.stands(v, r, want) {
				return true
			}
		}
		return false
	}
}

// own is a field that stands for itself.
func own(name, doc, example string, k kind, gate bool, values func(*subject) []value) field {
	return field{name: name, doc: doc, example: example, kind: k, gate: gate, values: values}
}

// Field is a name that filters may use, for documentation.
type Field struct{ Name, Doc, Example string }

// Fields lists those of runs and gates, in the order in which people read them.
func Fields() []Field { return documented(fields()) }

// DecisionFields lists those of decisions.
func DecisionFields() []Field { return documented(decisionFields()) }

func documented(fields []field) []Field {
	var list []Field
	for _, f := range fields {
		if f.named {
			f.name += ".NAME"
		}
		list = append(list, Field{f.name, f.doc, f.example})
	}
	return list
}

// fields is the table of the fields of runs and gates.
func fields() []field {
	return append([]field{
		own("status", "of the run: pending, running, suspended, completed, failed, cancelled, damaged", "status = suspended", status, false,
			ofRun(func(r *runtime.Summary) string { return string(r.Status) })),
		own("run", "the id", "run ~ c97b", text, false, ofRun(func(r *runtime.Summary) string { return r.ID })),
		own("script", "the file, or NAME@VERSION", `script ~ review`, text, false, ofRun(func(r *runtime.Summary) string { return r.Script })),
		own("parent", "RUN@STEP that started it, empty for a run that people started", `parent = ""`, text, false, ofRun(func(r *runtime.Summary) string { return r.Parent })),
		own("started_by", "who started it; of a run that another has started run:RUN", "started_by = local:ann", text, false, ofRun(func(r *runtime.Summary) string { return r.StartedBy })),
		own("error", "why it failed", "error ~ timeout", text, false, ofRun(func(r *runtime.Summary) string { return r.Error })),
		own("target", "whom an open gate is for, empty for anybody", `target = "reviewer"`, text, true, ofGates(func(g *runtime.Gate) string { return g.Target })),
		own("gate", "address of an open gate within its run", "gate = review-gate", text, true, ofGates(func(g *runtime.Gate) string { return g.Gate })),
		own("prompt", "what an open gate asks", "prompt ~ publish", text, true, ofGates(func(g *runtime.Gate) string { return g.Prompt })),
		own("option", "what may be chosen at an open gate", "option = approve", text, true, options),
		own("gates", "how many gates are open in the run", "gates > 1", number, false, func(s *subject) []value { return []value{{number: int64(s.run.Gates)}} }),
		own("age", "time since the run was started; in a list of gates since the gate opened", "age > 2h", duration, false, age),
		own("idle", "time since anything happened in the run", "idle > 1d", duration, false,
			func(s *subject) []value { return []value{{number: s.now.Sub(s.run.UpdatedAt).Microseconds()}} }),
		own("due", "time until the run's next timer or deadline, below 0s when it is overdue", "due < 10m", duration, false, due),
		own("started", "when the run was started", "started >= 2026-11-01", moment, false,
			func(s *subject) []value { return []value{{number: s.run.StartedAt.UnixMicro()}} }),
		own("updated", "when anything happened in it last", "updated < 2026-11-01T12:00:00Z", moment, false,
			func(s *subject) []value { return []value{{number: s.run.UpdatedAt.UnixMicro()}} }),
		own("carried", "somebody drives the run", "not carried", flag, false, is(func(r *runtime.Summary) bool { return r.Carried })),
		own("overdue", "a timer has passed and nobody drives the run", "overdue", flag, false, is(func(r *runtime.Summary) bool { return r.Overdue })),
		own("session", "it is a REPL session", "not session", flag, false, is(func(r *runtime.Summary) bool { return r.Session })),
	}, found()...)
}

// decisionFields is the table of the fields of decisions.
func decisionFields() []field {
	return []field{
		own("by", "in whose name it was made; of several who had to choose the same each", "by = reviewer", text, false, deciders),
		own("through", "who has answered in that name, empty where it is their own", `through != ""`, text, false,
			ofDecision(func(d *runtime.Decision) string { return d.Through })),
		own("choice", "what was chosen, empty where there were no options", "choice = approve", text, false,
			ofDecision(func(d *runtime.Decision) string { return d.Choice })),
		own("reason", "why, in the words of who decided", "reason ~ typo", text, false, ofDecision(func(d *runtime.Decision) string { return d.Reason })),
		own("via", "how: signal, override, fallback, auto", "via = fallback", text, false, ofDecision(func(d *runtime.Decision) string { return d.Via })),
		own("override", "by somebody whom the gate was not for", "override", flag, false, isDecision(func(d *runtime.Decision) bool { return d.Via == "override" })),
		own("gate", "address of the gate within its run", "gate = review-gate", text, false, ofDecision(func(d *runtime.Decision) string { return d.Gate })),
		own("run", "the id of the top run", "run ~ c97b", text, false, ofDecision(func(d *runtime.Decision) string { return d.Run })),
		own("script", "of that run: the file, or NAME@VERSION", "script ~ review", text, false, ofDecision(func(d *runtime.Decision) string { return d.Script })),
		own("started_by", "who started that run", "started_by = local:ann", text, false, ofDecision(func(d *runtime.Decision) string { return d.StartedBy })),
		own("decided", "when it was made", "decided >= 2026-11-01", moment, false, func(s *subject) []value { return []value{{number: s.began.UnixMicro()}} }),
		own("age", "time since then", "age < 1d", duration, false, age),
		own("imported", "it was made in the store that the run came from", "not imported", flag, false, isDecision(func(d *runtime.Decision) bool { return d.Imported })),
		own("copied", "it was made in the run that this one was made of", "not copied", flag, false, isDecision(func(d *runtime.Decision) bool { return d.Copied })),
	}
}

func deciders(s *subject) []value {
	list := []value{{text: s.decision.By}}
	for _, name := range s.decision.Voters {
		list = append(list, value{text: name})
	}
	return list
}

func age(s *subject) []value { return []value{{number: s.now.Sub(s.began).Microseconds()}} }

func ofDecision(of func(*runtime.Decision) string) func(*subject) []value {
	return func(s *subject) []value { return []value{{text: of(s.decision)}} }
}

func isDecision(of func(*runtime.Decision) bool) func(*subject) []value {
	return ofDecision(func(d *runtime.Decision) string { return strconv.FormatBool(of(d)) })
}

func ofRun(of func(*runtime.Summary) string) func(*subject) []value {
	return func(s *subject) []value { return []value{{text: of(&s.run)}} }
}

func is(of func(*runtime.Summary) bool) func(*subject) []value {
	return ofRun(func(r *runtime.Summary) string { return strconv.FormatBool(of(r)) })
}

func ofGates(of func(*runtime.Gate) string) func(*subject) []value {
	return func(s *subject) []value {
		var list []value
		for i := range s.gates {
			list = append(list, value{text: of(&s.gates[i])})
		}
		return list
	}
}

func options(s *subject) []value {
	var list []value
	for _, g := range s.gates {
		for _, o := range g.Options {
			list = append(list, value{text: o.Name})
		}
	}
	return list
}

func due(s *subject) []value {
	if s.run.NextDue == nil {
		return nil
	}
	return []value{{number: s.run.NextDue.Sub(s.now).Microseconds()}}
}

// fieldNamed finds a field, nil for none. Of one that stands for many it makes the one that is
// named: how that is written is not changed.
func fieldNamed(fields []field, name string) *field {
	first, rest, dotted := strings.Cut(name, ".")
	for _, f := range fields {
		switch {
		case dotted && rest != "" && f.named && strings.EqualFold(f.name, first):
			return f.of(f, rest)
		case f.name == "output" && strings.EqualFold(f.name, name):
			return f.of(f, "")
		case strings.EqualFold(f.name, name) && f.values != nil:
			return &f
		}
	}
	return nil
}

// near is what may be meant by a field that there is not.
func near(fields []field, name string) string {
	first, rest, dotted := strings.Cut(name, ".")
	for _, f := range fields {
		if f.named && strings.EqualFold(f.name, first) { // without a name
			return f.name + ".NAME"
		}
	}
	if meant, ok := diagnostic.Nearest(strings.ToLower(name), fieldNames(fields)); ok {
		return meant
	}
	var many []string
	for _, f := range fields {
		if f.named {
			many = append(many, f.name)
		}
	}
	if meant, ok := diagnostic.Nearest(strings.ToLower(first), many); ok && dotted && rest != "" {
		return meant + "." + rest
	}
	return ""
}

func fieldNames(fields []field) []string {
	var names []string
	for _, f := range fields {
		if f.named {
			f.name += ".NAME"
		}
		names = append(names, f.name)
	}
	return names
}
