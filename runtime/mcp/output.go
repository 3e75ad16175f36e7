package mcp

import (
	"reflect"

	"github.com/google/jsonschema-go/jsonschema"

	"starling/runtime/tool"
)

// outputSchemas are what the tools answer, by their names; that of the scripts' tools is under
// toolPrefix.
func outputSchemas() map[string]*jsonschema.Schema {
	all := map[string]*jsonschema.Schema{}
	for _, t := range tool.Tools() {
		all[t.Name] = orRefused(reflect.TypeOf(t.Answer), reflect.TypeOf(t.Answer))
	}
	all[toolPrefix] = orRefused(reflect.TypeFor[tool.Awaited](), reflect.TypeFor[tool.Standing]())
	return all
}

// orRefused is the schema of an answer, with what it must have at least, or of a refusal: clients
// hold a call that was refused against its tool's schema too.
func orRefused(answer, least reflect.Type) *jsonschema.Schema {
	s := answerSchema(answer)
	s.Properties["error"] = tool.Anything()       // a run's own, or a refusal
	s.Required, s.AdditionalProperties = nil, nil // who called in other words finds more
	if must := answerSchema(least).Required; len(must) > 0 {
		s.AnyOf = []*jsonschema.Schema{{Required: must}, {Required: []string{"error"}}}
	}
	return s
}

func answerSchema(t reflect.Type) *jsonschema.Schema {
	s, err := tool.SchemaOf(t)
	if err != nil {
		panic(err) // it is ours
	}
	return s
}
