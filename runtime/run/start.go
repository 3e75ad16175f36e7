package run

import (
	"encoding/json"
	"errors"
	"time"

	"starling/lang/effect"
	"starling/runtime"
	"starling/runtime/journal"
)

// StartDigest tells requests for a start apart that have the same idempotency key.
func StartDigest(r runtime.StartRequest) string {
	r.Settings.Machine = "" // the same request may be sent to the owner on another machine
	parts := []any{journal.HashOf(r.Bundle), r.Script, r.Inputs, r.Session, r.Settings, r.Timeout, r.OnDeadline}
	if len(r.Labels) > 0 { // without them it is what it was before there were any
		parts = append(parts, r.Labels.String())
	}
	text, _ := json.Marshal(parts) // plain data
	return journal.HashOf(text)
}

// CheckFailed refuses a script that does not compile.
func CheckFailed(err error) *runtime.Refusal {
	return runtime.Refusef(runtime.ErrCheckFailed, "%v", err).WithData(err)
}

// begun makes the first record of a run, with its deadline if it has one, and lets its machine go.
func (t *Turn) begun(in *Started) {
	r, settings := in.Request, SettingsPayload(&in.Request.Settings)
	bundleHash, settingsHash := journal.HashOf(r.Bundle), journal.HashOf(settings)
	var first effect.Object
	first.Text("script", r.Script).Blob("bundle", journal.BytesOf(bundleHash)).Blob("program", in.Program.Code.Hash[:]).Blob("settings", journal.BytesOf(settingsHash)).
		Raw("inputs", in.Inputs).Text("by", in.By).Text("parent", in.Parent).Int("depth", int64(in.Depth)).Flag("session", r.Session).
		Int("behaviour", int64(in.Behaviour)).Raw("labels", r.Labels.Payload())
	if r.Timeout > 0 {
		first.Int("deadline", journal.Micros(t.Now.Add(r.Timeout))).Text("overtime", string(r.OnDeadline))
	}
	t.record(journal.RunStarted, "", first.Payload())
	if r.Timeout > 0 {
		t.timer(timerDeadline, "", t.Now.Add(r.Timeout))
	}
	t.keep(bundleHash, r.Bundle)
	t.keep(settingsHash, settings)
	t.Rows = append(t.Rows, rowsOfStart(*r, t.State.ID, in.Parent, t.Now)...)
	t.launch()
}

// rowsOfStart are the rows by which a new run is found: in the order of starts, and by its key or
// the step that started it.
func rowsOfStart(r runtime.StartRequest, id, parent string, now time.Time) []runtime.Write {
	rows := []runtime.Write{{Key: journal.OrderKey(now, id), Value: []byte(parent)}, {Key: journal.LiveKey(now, id), Value: []byte{}}}
	switch {
	case parent != "":
		rows = append(rows, runtime.Write{Key: journal.ChildKey(parent), Value: []byte(id)})
	case r.Key != "":
		text, _ := json.Marshal(journal.Keyed{Digest: StartDigest(r), Run: id}) // plain data
		rows = append(rows, runtime.Write{Key: []byte(journal.PrefixStartKey + r.Key), Value: text})
	}
	return rows
}

// launch makes the machine of a new run and lets it go.
func (t *Turn) launch() {
	m, err := t.Host.start(t.State)
	if err != nil {
		t.fail(scriptError(err))
		return
	}
	t.Machine = m
	t.slice()
}

func scriptError(err error) *effect.Error {
	var e *effect.Error
	if errors.As(err, &e) {
		return e
	}
	return effect.Errorf(effect.KindScript, "%v", err)
}
