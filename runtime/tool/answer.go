package tool

import (
	"encoding/json"
	"reflect"
	"time"

	"github.com/google/jsonschema-go/jsonschema"

	"starling/lang/diagnostic"
)

// SchemaOf is the JSON Schema of a type of answers. JSON of others may be anything.
func SchemaOf(t reflect.Type) (*jsonschema.Schema, error) {
	s, err := jsonschema.ForType(t, &jsonschema.ForOptions{TypeSchemas: map[reflect.Type]*jsonschema.Schema{
		reflect.TypeFor[json.RawMessage]():     Anything(),
		reflect.TypeFor[time.Time]():           {Type: "string", Format: "date-time"},
		reflect.TypeFor[diagnostic.Severity](): {Type: "string"},
	}})
	if err == nil {
		describe(s)
	}
	return s, err
}

// Anything is the schema that every value meets. One without a word would be written as true, which
// is a schema, too, but not to many who read them: with the MCP SDK for JavaScript, a client finds
// no tools at all where one of them has such a property.
func Anything() *jsonschema.Schema { return &jsonschema.Schema{Description: "any JSON value"} }

// describe gives a word to each property, and each item of a list, that may be anything.
func describe(s *jsonschema.Schema) {
	for name, p := range s.Properties {
		s.Properties[name] = described(p)
	}
	if s.Items != nil {
		s.Items = described(s.Items)
	}
	if s.AdditionalProperties != nil && s.AdditionalProperties.Not == nil {
		s.AdditionalProperties = described(s.AdditionalProperties)
	}
}

func described(s *jsonschema.Schema) *jsonschema.Schema {
	if reflect.ValueOf(*s).IsZero() {
		return Anything()
	}
	describe(s)
	return s
}
