package run

import (
	"slices"
	"time"

	"starling/lang/effect"
	"starling/runtime"
	"starling/runtime/journal"
)

// fields are the parts of an open step that are written down, in the order in which a checkpoint
// has them. Those with a number are in the record of its request too, in the order of their
// numbers; those from firstServed on say who serves it, and are in step.resolved as well. What is
// empty is not written. A field is added at the end, with the next number: kept bytes stay as they
// are.
var fields = []field{
	{"kind", 1, func(st *Step) slot { return textIn{&st.Kind} }},
	{"seq", 0, func(st *Step) slot { return numberIn[uint64]{&st.Seq} }},
	{"at", 0, func(st *Step) slot { return momentIn{&st.At} }},
	{"class", 2, func(st *Step) slot { return numberIn[effect.Class]{&st.Class} }},
	{"where", 3, func(st *Step) slot { return textIn{&st.Where} }},
	{"args", 4, func(st *Step) slot { return rawIn{&st.Args} }},
	{"resolved", 10, func(st *Step) slot { return rawIn{&st.Resolved} }},
	{"returns", 11, func(st *Step) slot { return textIn{&st.Returns} }},
	{"policy", 12, func(st *Step) slot { return policyIn{&st.Policy} }},
	{"attempt", 0, func(st *Step) slot { return numberIn[int]{&st.Attempt} }},
	{"ready", 0, func(st *Step) slot { return flagIn{&st.Ready} }},
	{"in_flight", 0, func(st *Step) slot { return flagIn{&st.InFlight} }},
	{"failures", 0, func(st *Step) slot { return numberIn[int]{&st.Failures} }},
	{"reasks", 0, func(st *Step) slot { return numberIn[int]{&st.Reasks} }},
	{"feedback", 0, func(st *Step) slot { return rawIn{&st.Feedback} }},
	{"session", 0, func(st *Step) slot { return textIn{&st.Session} }},
	{"refused", 5, func(st *Step) slot { return rawIn{&st.Refused} }},
	{"stopped", 0, func(st *Step) slot { return flagIn{&st.Stopped} }},
	{"rejected", 0, func(st *Step) slot { return textIn{&st.Rejected} }},
	{"said", 0, func(st *Step) slot { return textIn{&st.Said} }},
	{"aside", 0, func(st *Step) slot { return flagIn{&st.Aside} }},
	{"used", 0, func(st *Step) slot { return usageIn{&st.Used} }},
	{"tools", 0, func(st *Step) slot { return toolsIn{&st.Tools} }},
	{"note", 0, func(st *Step) slot { return textIn{&st.Note} }},
	{"cut", 0, func(st *Step) slot { return textIn{&st.Cut} }},
	{"mail", 0, func(st *Step) slot { return textIn{&st.Mail} }},
	{"backends", 13, func(st *Step) slot { return textsIn[string]{&st.Backends} }},
	{"pulls", 14, func(st *Step) slot { return textsIn[string]{&st.Pulls} }},
	{"steers", 15, func(st *Step) slot { return textsIn[effect.Steering]{&st.Steers} }},
	{"told", 0, func(st *Step) slot { return messagesIn{&st.Told} }},
	{"permissions", 0, func(st *Step) slot { return permissionsIn{&st.Permissions} }},
	{"offered", 0, func(st *Step) slot { return flagIn{&st.Offered} }},
	{"claim", 0, func(st *Step) slot { return numberIn[int]{&st.Claim} }},
	{"worker", 0, func(st *Step) slot { return textIn{&st.Worker} }},
	{"lease", 0, func(st *Step) slot { return numberIn[time.Duration]{&st.Lease} }},
	{"breaker", 16, func(st *Step) slot { return flagIn{&st.Breaker} }},
	{"serving", 0, func(st *Step) slot { return numberIn[int]{&st.Serving} }},
	{"shut", 0, func(st *Step) slot { return rawIn{&st.Shut} }},
	{"recalls", 0, func(st *Step) slot { return reusedIn{&st.Reused} }},
	{"ceilings", 17, func(st *Step) slot { return ceilingsIn{&st.Ceilings} }},
	{"held", 0, func(st *Step) slot { return textIn{&st.Held} }},
	{"heard", 8, func(st *Step) slot { return numberIn[int]{&st.Heard} }},
	{"changes", 18, func(st *Step) slot { return textsIn[string]{&st.Changes} }},
	{"overlaps", 6, func(st *Step) slot { return overlapsIn{&st.Overlaps} }},
	{"behind", 0, func(st *Step) slot { return flagIn{&st.Behind} }},
	{"foreign", 9, func(st *Step) slot { return flagIn{&st.Foreign} }},
	{"tree", 7, func(st *Step) slot { return textIn{&st.Tree} }},
	{"talk", 0, func(st *Step) slot { return textIn{&st.Talk} }},
	{"interrupted", 0, func(st *Step) slot { return flagIn{&st.Interrupted} }},
	{"limit", 19, func(st *Step) slot { return numberIn[int]{&st.Limit} }},
	{"total", 20, func(st *Step) slot { return numberIn[int]{&st.Total} }},
}

const firstServed = 10

// requestFields are those of a request, servedFields those that say who serves it, each in their
// order.
var (
	requestFields = numbered(1)
	servedFields  = numbered(firstServed)
)

type field struct {
	key   string
	place int // in the record of the request, 0 for none
	of    func(*Step) slot
}

func numbered(from int) []field {
	list := slices.DeleteFunc(slices.Clone(fields), func(f field) bool { return f.place < from })
	slices.SortFunc(list, func(f, g field) int { return f.place - g.place })
	return list
}

func putAll(b *effect.Object, st *Step, fields []field) *effect.Object {
	for i := range fields {
		fields[i].of(st).put(b, fields[i].key)
	}
	return b
}

func takeAll(v effect.View, st *Step, fields []field) {
	for i := range fields {
		fields[i].of(st).take(v, fields[i].key)
	}
}

// payload is a step as a checkpoint has it.
func (st *Step) payload() effect.Payload {
	var b effect.Object
	return putAll(&b, st, fields).Payload()
}

// stepOf reads what payload wrote, but for an outcome of another run that the step takes.
func stepOf(name string, v effect.View) *Step {
	st := new(Step)
	st.Step = name
	takeAll(v, st, fields)
	st.Named = sessionOf(st.Kind, st.Args)
	return st
}

// slot is where a field lies in a step.
type slot interface {
	put(b *effect.Object, key string)
	take(v effect.View, key string)
}

type (
	textIn                                                struct{ at *string }
	flagIn                                                struct{ at *bool }
	numberIn[T ~int | ~int64 | ~uint64 | ~uint8 | ~int32] struct{ at *T }
	textsIn[T ~string]                                    struct{ at *[]T }
	rawIn                                                 struct{ at *effect.Payload }
	momentIn                                              struct{ at *time.Time }
	policyIn                                              struct{ at *effect.Policy }
	usageIn                                               struct{ at *runtime.Usage }
	toolsIn                                               struct{ at *[]toolUse }
	messagesIn                                            struct{ at *[]steer }
	permissionsIn                                         struct{ at *[]permission }
	reusedIn                                              struct{ at **reusedOutcome }
	ceilingsIn                                            struct{ at *[]effect.Ceiling }
	overlapsIn                                            struct{ at *[]effect.Overlap }
)

func (f textIn) put(b *effect.Object, key string)        { b.Text(key, *f.at) }
func (f textIn) take(v effect.View, key string)          { *f.at = v.Text(key) }
func (f flagIn) put(b *effect.Object, key string)        { b.Flag(key, *f.at) }
func (f flagIn) take(v effect.View, key string)          { *f.at = v.Flag(key) }
func (f numberIn[T]) put(b *effect.Object, key string)   { b.Int(key, int64(*f.at)) }
func (f numberIn[T]) take(v effect.View, key string)     { *f.at = T(v.Int(key)) }
func (f rawIn) put(b *effect.Object, key string)         { b.Raw(key, *f.at) }
func (f rawIn) take(v effect.View, key string)           { *f.at = v.Raw(key) }
func (f momentIn) put(b *effect.Object, key string)      { b.Int(key, journal.Micros(*f.at)) }
func (f momentIn) take(v effect.View, key string)        { *f.at = journal.TimeIn(v, key) }
func (f policyIn) put(b *effect.Object, key string)      { b.Raw(key, policyPayload(*f.at)) }
func (f policyIn) take(v effect.View, key string)        { *f.at = policyOf(v.Sub(key)) }
func (f usageIn) put(b *effect.Object, key string)       { b.Raw(key, usedPayload(*f.at)) }
func (f usageIn) take(v effect.View, key string)         { *f.at = journal.UsageOf(v.Sub(key)) }
func (f toolsIn) put(b *effect.Object, key string)       { b.Raw(key, toolsPayload(*f.at)) }
func (f toolsIn) take(v effect.View, key string)         { *f.at = toolsOf(v.Sub(key)) }
func (f messagesIn) put(b *effect.Object, key string)    { b.Raw(key, toldPayload(*f.at)) }
func (f messagesIn) take(v effect.View, key string)      { *f.at = toldOf(v.Sub(key)) }
func (f permissionsIn) put(b *effect.Object, key string) { b.Raw(key, permissionsPayload(*f.at)) }
func (f permissionsIn) take(v effect.View, key string)   { *f.at = permissionsOf(v.Sub(key)) }
func (f reusedIn) put(b *effect.Object, key string)      { b.Flag(key, *f.at != nil) }
func (f reusedIn) take(effect.View, string)              {} // state.adopt finds it by the step's name
func (f ceilingsIn) put(b *effect.Object, key string)    { b.Raw(key, effect.CeilingsPayload(*f.at)) }
func (f overlapsIn) put(b *effect.Object, key string)    { b.Raw(key, overlapsPayload(*f.at)) }
func (f overlapsIn) take(v effect.View, key string)      { *f.at = overlapsOf(v.Sub(key)) }

func (f textsIn[T]) put(b *effect.Object, key string) {
	list := make([]string, len(*f.at))
	for i, s := range *f.at {
		list[i] = string(s)
	}
	b.Texts(key, list)
}

func (f textsIn[T]) take(v effect.View, key string) {
	*f.at = nil
	for _, s := range v.Texts(key) {
		*f.at = append(*f.at, T(s))
	}
}

// take leaves the ceilings of a step that is only served anew, where nobody says others.
func (f ceilingsIn) take(v effect.View, key string) {
	if v.Has(key) {
		*f.at = effect.CeilingsOf(v.Raw(key))
	}
}
