package form

import (
	"encoding/json"
	"maps"
	"slices"
)

// Sample is a payload to start from, for the command that answers a gate: the shape of the gate's
// JSON Schema with its required members, each a plausible value of its type. The reader is to
// replace the values; it is accepted as it is only by luck.
func Sample(schema json.RawMessage) string {
	var s schemaNode
	if json.Unmarshal(schema, &s) != nil || len(schema) == 0 {
		return `"..."`
	}
	text, _ := json.Marshal(s.sample(0)) // maps, slices and scalars
	return string(text)
}

// schemaNode is as much of JSON Schema as samples need.
type schemaNode struct {
	Type       any                   `json:"type"`
	Const      any                   `json:"const"`
	Enum       []any                 `json:"enum"`
	Default    any                   `json:"default"`
	Minimum    *float64              `json:"minimum"`
	MinItems   int                   `json:"minItems"`
	AnyOf      []schemaNode          `json:"anyOf"`
	Items      *schemaNode           `json:"items"`
	Properties map[string]schemaNode `json:"properties"`
	Required   []string              `json:"required"`
}

// maxSample is how deep samples go.
const maxSample = 8

func (s schemaNode) sample(depth int) any {
	switch {
	case depth > maxSample:
		return nil
	case s.Const != nil:
		return s.Const
	case len(s.Enum) > 0:
		return s.Enum[0]
	case s.Default != nil:
		return s.Default
	case len(s.AnyOf) > 0:
		return s.AnyOf[0].sample(depth + 1)
	}
	return s.ofType(depth)
}

func (s schemaNode) ofType(depth int) any {
	switch s.typeName() {
	case "object":
		return s.members(depth)
	case "array":
		items := []any{}
		if s.Items != nil && s.MinItems > 0 {
			items = append(items, s.Items.sample(depth+1))
		}
		return items
	case "integer", "number":
		if s.Minimum != nil {
			return *s.Minimum
		}
		return 0
	case "boolean":
		return true
	case "null":
		return nil
	}
	return "..."
}

// typeName is the type, the first of several.
func (s schemaNode) typeName() string {
	if list, ok := s.Type.([]any); ok && len(list) > 0 {
		name, _ := list[0].(string)
		return name
	}
	name, _ := s.Type.(string)
	return name
}

func (s schemaNode) members(depth int) map[string]any {
	m := map[string]any{}
	for _, name := range s.Required {
		m[name] = s.Properties[name].sample(depth + 1)
	}
	if len(m) == 0 {
		for _, name := range slices.Sorted(maps.Keys(s.Properties)) {
			m[name] = s.Properties[name].sample(depth + 1)
			break
		}
	}
	return m
}
