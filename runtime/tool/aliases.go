package tool

import (
	"encoding/json"
	"maps"
	"slices"

	"starling/lang/contract"
)

// Some callers learned other words: a workflow is a run, its template a script, the step that waits
// a gate, and what is decided there lies in a payload. They are understood as they are, and
// answered in the same words beside ours.

// aliases are their names for our arguments.
func aliases() map[string]string {
	return map[string]string{"workflow_id": "run", "template": "script", "step_id": "gate"}
}

// translate translates the arguments of a call, and tells whether they were in other words. A null
// is an argument that was left out, where it may be: models fill in what a schema lists.
func (t *Tool) translate(arguments json.RawMessage) (translated json.RawMessage, foreign bool) {
	var given map[string]json.RawMessage
	if json.Unmarshal(arguments, &given) != nil || given == nil {
		return arguments, false // the check says what is wrong
	}
	maps.DeleteFunc(given, func(name string, v json.RawMessage) bool { return isNull(v) && !t.needs(name) })
	for theirs, our := range aliases() {
		if v, ok := given[theirs]; ok && isNull(given[our]) {
			delete(given, theirs)
			given[our], foreign = v, true
		}
	}
	if payload, ok := given["payload"]; ok && given["data"] == nil {
		delete(given, "payload")
		unpack(given, payload)
		foreign = true
	}
	translated, _ = json.Marshal(given) // raw JSON that was read
	return translated, foreign
}

func isNull(v json.RawMessage) bool { return v == nil || string(v) == "null" }

// needs tells whether an argument must be given.
func (t *Tool) needs(name string) bool {
	fields, _ := t.Input().Fields()
	return slices.ContainsFunc(fields, func(f contract.Field) bool { return f.Name == name && f.Required })
}

// unpack takes choice and reason out of a payload; what is left is the data. A payload without a
// choice is data as a whole.
func unpack(given map[string]json.RawMessage, payload json.RawMessage) {
	var parts map[string]json.RawMessage
	if json.Unmarshal(payload, &parts) != nil || parts["choice"] == nil || given["choice"] != nil {
		given["data"] = payload
		return
	}
	for _, name := range []string{"choice", "reason"} {
		if v, ok := parts[name]; ok {
			given[name] = v
			delete(parts, name)
		}
	}
	if data, ok := parts["data"]; ok && len(parts) == 1 {
		given["data"] = data
	} else if len(parts) > 0 {
		given["data"], _ = json.Marshal(parts) // raw JSON that was read
	}
}

// addAliases adds their words to an answer.
func addAliases(v any) any {
	text, err := json.Marshal(v)
	var fields map[string]any
	if err != nil || json.Unmarshal(text, &fields) != nil {
		return v
	}
	fields["workflow_id"] = fields["run"]
	if gates, ok := fields["gates"]; ok {
		fields["pending_decisions"] = gates
	}
	if status := fields["status"]; status == "pending" || status == "running" {
		fields["status"] = "active"
	}
	return fields
}
