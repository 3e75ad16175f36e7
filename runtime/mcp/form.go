package mcp

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"strings"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"starling/runtime"
)

// A gate as a form that a client shows its user. Forms are flat: a payload whose fields are plain
// stands in the form field by field, any other as one text of JSON.

// names of a form's own fields.
const (
	fieldChoice  = "choice"
	fieldReason  = "reason"
	fieldPayload = "payload_json"
)

// forms are those for the gates that the caller may answer. A gate that is for somebody else is
// that one's, and not for the user of this client to see.
func (s *Server) forms(ctx context.Context, r *runtime.Run) mcp.InputRequestMap {
	forms := mcp.InputRequestMap{}
	for _, g := range r.Gates {
		if g.Target == "" || g.Target == runtime.CallerOf(ctx).Name {
			forms[g.Gate] = form(g)
		}
	}
	return forms
}

func form(g runtime.Gate) *mcp.ElicitParams {
	properties, required := map[string]any{}, []string{}
	if len(g.Options) > 0 {
		properties[fieldChoice], required = choices(g.Options), append(required, fieldChoice)
	}
	if plain, needed, ok := plainFields(g.Schema); ok {
		for name, p := range plain {
			properties[name] = p
		}
		required = append(required, needed...)
	} else if len(g.Options) == 0 || len(g.Schema) > 0 && string(g.Schema) != "null" {
		properties[fieldPayload] = map[string]any{"type": "string", "title": "Payload (JSON)", "description": "JSON that fits " + string(g.Schema)}
		if len(g.Options) == 0 {
			required = append(required, fieldPayload)
		}
	}
	properties[fieldReason] = map[string]any{"type": "string", "title": "Reason"}
	return &mcp.ElicitParams{Mode: "form", Message: question(g), RequestedSchema: map[string]any{"type": "object", "properties": properties, "required": required}}
}

func choices(options []runtime.Option) any {
	var names, titles []string
	for _, o := range options {
		title := o.Name
		if o.Description != "" {
			title += ": " + o.Description
		}
		names, titles = append(names, o.Name), append(titles, title)
	}
	return map[string]any{"type": "string", "title": "Choice", "enum": names, "enumNames": titles}
}

// question is what the user reads.
func question(g runtime.Gate) string {
	var b strings.Builder
	fmt.Fprintf(&b, "%s", g.Prompt)
	if g.Prompt == "" {
		fmt.Fprintf(&b, "%s waits for a decision", g.Address)
	}
	if len(g.Data) > 0 && string(g.Data) != "null" {
		fmt.Fprintf(&b, "\n\n%s", g.Data)
	}
	if g.Deadline != nil {
		fmt.Fprintf(&b, "\n\nUntil %s.", g.Deadline.Format("2006-01-02 15:04 MST"))
	}
	return b.String()
}

// plainFields are the fields of a payload that a form can hold, if it can hold them all.
func plainFields(schema json.RawMessage) (fields map[string]any, required []string, ok bool) {
	var s struct {
		Type       string
		Properties map[string]map[string]any
		Required   []string
		Additional any `json:"additionalProperties"`
	}
	if json.Unmarshal(schema, &s) != nil || s.Type != "object" || len(s.Properties) == 0 || s.Additional != false {
		return nil, nil, false
	}
	fields = map[string]any{}
	for name, p := range s.Properties {
		if fields[name] = plainField(p); fields[name] == nil {
			return nil, nil, false
		}
	}
	for _, own := range []string{fieldChoice, fieldReason, fieldPayload} {
		if fields[own] != nil {
			return nil, nil, false
		}
	}
	return fields, s.Required, true
}

// plainField is a field as forms have it, nil for one that they cannot hold. One that may be null
// may be left out instead.
func plainField(p map[string]any) any {
	kind := p["type"]
	if either, ok := kind.([]any); ok && len(either) == 2 && either[1] == "null" {
		kind = either[0]
	}
	switch kind {
	case "string", "number", "integer", "boolean":
		p = maps.Clone(p)
		p["type"] = kind
		return p
	}
	return nil
}

// filled is the signal that a form makes, as it was filled in.
func filled(g runtime.Gate, content map[string]any) (runtime.Signal, error) {
	sig := runtime.Signal{Kind: runtime.SignalAnswer, Gate: g.Gate}
	sig.Choice, _ = content[fieldChoice].(string)
	sig.Reason, _ = content[fieldReason].(string)
	if text, ok := content[fieldPayload].(string); ok && text != "" {
		if sig.Text = text; json.Valid([]byte(text)) {
			sig.Text, sig.Data = "", []byte(text)
		}
		return sig, nil
	}
	plain, _, ok := plainFields(g.Schema)
	if !ok {
		return sig, nil
	}
	data := map[string]any{}
	for name := range plain {
		if v, given := content[name]; given {
			data[name] = v
		}
	}
	var err error
	sig.Data, err = json.Marshal(data)
	return sig, err
}
