package journal

import (
	"strings"

	"go.starlark.net/starlark"

	"starling/lang/contract"
	"starling/lang/effect"
	"starling/runtime"
)

// maxDecidedData and maxReason bound what an entry has of a decision that is longer, in bytes.
const (
	maxDecidedData = 4 << 10
	maxReason      = 1 << 10
)

// DecisionRows are the row of a gate that a record has closed, and the entry of its decision.
func DecisionRows(run string, r *Record) []runtime.Write {
	if r.View().Flag("bare") {
		return nil
	}
	rows := []runtime.Write{{Key: []byte(PrefixGate + run + "/" + r.Step), Value: Append(nil, r)}}
	if r.Type == GateDecided {
		rows = append(rows, DecidedEntry(run, r))
	}
	return rows
}

// DecidedEntry is the entry of a decision in the index.
func DecidedEntry(run string, r *Record) runtime.Write {
	return runtime.Write{Key: DecidedKey(r.Time, run, r.Step), Value: Append(nil, ShortDecision(r))}
}

// ShortDecision is the record of a decision as lists have it. Of one that is long the payload is
// left out, but for its size, and so is the end of the reason.
func ShortDecision(r *Record) *Record {
	v := r.View()
	said, ok := v.Value("decision").(*effect.Record)
	if len(r.Data) <= maxDecidedData || !ok {
		return r
	}
	fields := make([]starlark.Value, len(effect.DecisionType.Fields))
	for i, name := range effect.DecisionType.Fields {
		fields[i] = said.Field(name)
		switch name {
		case "payload":
			fields[i] = starlark.None
		case "reason":
			text, _ := starlark.AsString(fields[i])
			if len(text) > maxReason {
				fields[i] = starlark.String(strings.ToValidUTF8(text[:maxReason], "") + "…")
			}
		}
	}
	var b effect.Object
	cut := *r
	cut.Data = b.Raw("decision", effect.MustEncode(effect.NewRecord(effect.DecisionType, fields...))).
		Texts("who", v.Texts("who")).Texts("voters", v.Texts("voters")).Flag("hidden", v.Flag("hidden")).Flag("imported", v.Flag("imported")).
		Int("data_bytes", int64(len(JSONOf(said.Field("payload"))))).Payload()
	return &cut
}

// DecidedOf is a decision as an audience sees it.
func DecidedOf(rec *Record, to contract.Audience) runtime.Decided {
	v := rec.View()
	d := runtime.Decided{Gate: rec.Step, At: rec.Time, Voters: v.Texts("voters"), Imported: v.Flag("imported"), DataBytes: int(v.Int("data_bytes"))}
	if said, ok := v.Value("decision").(*effect.Record); ok {
		for field, to := range map[string]*string{
			"choice": &d.Choice, "reason": &d.Reason, "by": &d.By, "via": &d.Via,
		} {
			*to, _ = starlark.AsString(said.Field(field))
		}
		if data := said.Field("payload"); data != starlark.None {
			d.Data = JSONOf(data)
		}
		if v.Flag("hidden") && to == contract.People {
			d.Data, d.DataBytes = nil, max(d.DataBytes, len(d.Data))
		}
	}
	if who := v.Texts("who"); len(who) > 1 {
		d.Through = who[1]
	}
	return d
}
