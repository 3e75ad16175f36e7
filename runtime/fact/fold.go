package fact

import (
	"slices"
	"strconv"
	"time"
	"unicode/utf8"

	"go.starlark.net/starlark"

	"starling/lang/effect"
	"starling/runtime"
	"starling/runtime/journal"
)

// Fold is the facts of a run as of a record of its journal.
type Fold struct {
	Facts runtime.Facts
	Seq   uint64 // the newest record that has changed something, or that it was made of

	started time.Time
	script  string
	labels  string
	parent  string           // the run that has started it
	used    map[string]int64 // by steps: what the attempt in flight has told so far, millionths of a dollar
	agents  map[string]bool
	stored  map[string]bool // terms that the store has, beside those of read
	read    []byte          // the row that it was read from, until its terms are wanted
	bare    bool            // there is no row: the first record says it all
	changed bool            // since its rows were made
}

// New are the facts of a run that begins.
func New() *Fold { return &Fold{bare: true} }

// Begun are the facts of a run whose rows follow from what it was started with, which is why it has
// none of its own.
func Begun(started time.Time, script, labels, parent string, inputs effect.Payload) *Fold {
	f := New()
	f.begin(started, script, labels, parent, inputs)
	f.Seq, f.stored = 1, f.terms()
	return f
}

func (f *Fold) begin(started time.Time, script, labels, parent string, inputs effect.Payload) {
	f.started, f.script, f.labels = started, script, labels
	f.parent, _, _ = journal.CutParent(parent)
	f.Facts.Inputs = flatten(inputs)
}

// Apply takes one record.
func (f *Fold) Apply(r *journal.Record) {
	switch r.Type {
	case journal.RunStarted:
		v := r.View()
		f.begin(r.Time, v.Text("script"), effect.LabelsOf(v.Sub("labels")).String(), v.Text("parent"), v.Raw("inputs"))
	case journal.RunMoved:
		f.script = r.View().Text("script")
	case journal.RunCompleted:
		f.Facts.Output = flatten(r.View().Raw("output"))
	case journal.StepRequested:
		if v := r.View(); !journal.AgentKind(v.Text("kind")) || !f.asked(journal.AgentName(v.Sub("args"))) {
			return
		}
	case journal.AgentEvent:
		if v := r.View(); v.Text("kind") != journal.EventUsage || !f.spent(r.Step, v.Sub("data")) {
			return
		}
	case journal.AttemptEnded:
		v := r.View()
		told := v.Has("usage") && f.spent(r.Step, v.Sub("usage"))
		if _, open := f.used[r.Step]; !open && !told {
			return
		}
		delete(f.used, r.Step)
	default:
		return
	}
	f.Seq, f.changed = r.Seq, true
}

// Renew takes the values that a record has once more: builds before this one left out those that
// are empty.
func (f *Fold) Renew(r *journal.Record) {
	switch r.Type {
	case journal.RunStarted:
		f.Facts.Inputs, f.changed = flatten(r.View().Raw("inputs")), true
	case journal.RunCompleted:
		f.Facts.Output, f.changed = flatten(r.View().Raw("output")), true
	}
}

// asked notes an agent, and tells whether it is a new one.
func (f *Fold) asked(name string) bool {
	if name == "" || len(name) > runtime.MaxFact || f.agents[name] || len(f.agents) == runtime.MaxFacts {
		return false
	}
	if f.agents == nil {
		f.agents = map[string]bool{}
	}
	f.agents[name] = true
	f.Facts.Agents = append(f.Facts.Agents, name)
	return true
}

// spent takes what an attempt has told of its cost: what it told before is within it.
func (f *Fold) spent(step string, told effect.View) bool {
	usd, _ := starlark.AsFloat(told.Value("usd"))
	micro := journal.Claimed(usd, 1e6)
	if micro == f.used[step] {
		return false
	}
	if f.used == nil {
		f.used = map[string]int64{}
	}
	f.Facts.MicroUSD += micro - f.used[step]
	f.used[step] = micro
	return true
}

// flatten lists the values of a dict, or what else it is.
func flatten(p effect.Payload) (facts []runtime.Fact) {
	if len(p) == 0 {
		return nil
	}
	v, err := p.Value()
	if err == nil {
		add(&facts, "", v)
	}
	return facts
}

// add lists the values below a path, as far as there is room.
func add(facts *[]runtime.Fact, path string, v starlark.Value) {
	if len(*facts) == runtime.MaxFacts || len(path) > runtime.MaxFact {
		return
	}
	below := func(key string, v starlark.Value) {
		if path != "" {
			key = path + "." + key
		}
		add(facts, key, v)
	}
	switch v := v.(type) {
	case *starlark.Dict:
		for k, field := range v.Entries() {
			if key, ok := starlark.AsString(k); ok {
				below(key, field)
			}
		}
	case *effect.Record:
		for _, name := range v.AttrNames() {
			if field := v.Field(name); field != nil {
				below(name, field)
			}
		}
	case *starlark.List:
		for e := range v.Elements() {
			add(facts, path, e)
		}
	default:
		value, has := text(v)
		one := runtime.Fact{Path: path, Value: value}
		if has && len(one.Value) <= runtime.MaxFact && utf8.ValidString(one.Value) && !slices.Contains(*facts, one) {
			*facts = append(*facts, one)
		}
	}
}

// text writes a value without parts; None and what else has no text has none.
func text(v starlark.Value) (string, bool) {
	switch v := v.(type) {
	case starlark.String:
		return string(v), true
	case starlark.Int:
		return v.String(), true
	case starlark.Float:
		return strconv.FormatFloat(float64(v), 'g', -1, 64), true
	case starlark.Bool:
		return strconv.FormatBool(bool(v)), true
	}
	return "", false
}
