package web

import (
	"encoding/json"
	"fmt"
	"net/http"
	"reflect"
	"strings"
	"time"

	"github.com/google/jsonschema-go/jsonschema"

	"starling/lang/diagnostic"
	"starling/runtime"
	"starling/runtime/api"
	"starling/runtime/tool"
)

// The OpenAPI document is made of what serves: the tools' contracts, the types of their answers, the kinds of refusals. It cannot say anything else than the server does.

func (s *server) document(w http.ResponseWriter, _ *http.Request) {
	doc, err := Document(s.options.Build)
	if err != nil {
		refuse(w, err)
		return
	}
	write(w, http.StatusOK, doc)
}

type object = map[string]any

// Document is the OpenAPI description, version 3.1, of what [Handler] serves beside MCP.
func Document(build string) (map[string]any, error) {
	paths := object{}
	for _, t := range tool.Tools() {
		answer, err := schemaOf(reflect.TypeOf(t.Answer))
		if err != nil {
			return nil, fmt.Errorf("%s: %w", t.Name, err)
		}
		paths["/v1/"+t.Name] = object{"post": operation(t.Name, t.Doc, object{
			"requestBody": object{"required": true, "content": jsonContent(t.Schema())},
		}, jsonContent(answer))}
	}
	event, err := schemaOf(reflect.TypeOf(runtime.Event{}))
	if err != nil {
		return nil, err
	}
	paths["/v1/events"] = object{"get": operation("events", "The events of a run as server-sent events: id is the number, data the event as in the schema Event. The stream ends with `event: end`, or with `event: error` and a Refusal; one that ends without either was cut.",
		object{"parameters": []any{parameter("query", "run", true), parameter("query", "after", false), parameter("query", "follow", false), parameter("header", "Last-Event-ID", false)}},
		object{"text/event-stream": object{"schema": object{"type": "string"}}})}
	paths["/v1/blob"] = object{"get": operation("blob", "Content by its hash.", object{"parameters": []any{parameter("query", "hash", true)}},
		object{"application/octet-stream": object{"schema": object{"type": "string", "contentEncoding": "binary"}}})}
	return object{
		"openapi":    "3.1.0",
		"info":       object{"title": "Starling", "version": build, "description": "Runs that orchestrate agents, wait for decisions and never lose their place."},
		"security":   []any{object{"token": []any{}}},
		"paths":      paths,
		"components": object{"securitySchemes": object{"token": object{"type": "http", "scheme": "bearer"}}, "schemas": object{"Refusal": refusalSchema(), "Event": event}},
	}, nil
}

// operation is one route, with every way in which it may be refused.
func operation(id, doc string, more, content object) object {
	responses := object{"200": object{"description": "the answer", "content": content}}
	refused := jsonContent(object{"$ref": "#/components/schemas/Refusal"})
	for status, kinds := range kindsByStatus() {
		responses[status] = object{"description": "refused: " + strings.Join(kinds, ", "), "content": refused}
	}
	responses["413"] = object{"description": "a body that is too large", "content": refused}
	responses["401"] = object{"description": "no token, or one that is not known", "content": refused}
	op := object{"operationId": id, "summary": doc, "responses": responses}
	for k, v := range more {
		op[k] = v
	}
	return op
}

func kindsByStatus() map[string][]string {
	byStatus := map[string][]string{}
	for _, k := range runtime.ErrorKinds() {
		status := fmt.Sprint(api.StatusOf(k))
		byStatus[status] = append(byStatus[status], string(k))
	}
	return byStatus
}

func jsonContent(schema any) object { return object{"application/json": object{"schema": schema}} }

func parameter(in, name string, required bool) object {
	return object{"in": in, "name": name, "required": required, "schema": object{"type": "string"}}
}

func refusalSchema() object {
	text := object{"type": "string"}
	return object{"type": "object", "required": []string{"error"}, "properties": object{"error": object{
		"type": "object", "required": []string{"kind", "message"}, "additionalProperties": false,
		"properties": object{"kind": object{"enum": runtime.ErrorKinds()}, "message": text, "help": text, "data": object{}},
	}}}
}

// schemaOf is the schema of an answer's type. JSON of others may be anything.
func schemaOf(t reflect.Type) (*jsonschema.Schema, error) {
	return jsonschema.ForType(t, &jsonschema.ForOptions{TypeSchemas: map[reflect.Type]*jsonschema.Schema{
		reflect.TypeFor[json.RawMessage]():     {},
		reflect.TypeFor[time.Time]():           {Type: "string", Format: "date-time"},
		reflect.TypeFor[diagnostic.Severity](): {Type: "string"},
	}})
}
