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
	return jsonschema.ForType(t, &jsonschema.ForOptions{TypeSchemas: map[reflect.Type]*jsonschema.Schema{
		reflect.TypeFor[json.RawMessage]():     {},
		reflect.TypeFor[time.Time]():           {Type: "string", Format: "date-time"},
		reflect.TypeFor[diagnostic.Severity](): {Type: "string"},
	}})
}
