package web

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"net/http"
	"reflect"
	"strings"
	"time"

	"starling/runtime"
	"starling/runtime/api"
	"starling/runtime/tool"
)

// The OpenAPI document is made of what serves: the tools' contracts, the types of their answers,
// the kinds of refusals. It cannot say anything else than the server does.

// audience is who has one document in common.
type audience struct {
	can   runtime.Capability
	agent bool
}

// page is a document as it is sent.
type page struct {
	content []byte
	tag     string // of exactly this content
}

// document sends the description of what the caller may do. It is made once for all who may do the
// same: there are no more of them than sets of capabilities.
func (s *server) document(w http.ResponseWriter, r *http.Request) error {
	p, err := s.page(runtime.CallerOf(r.Context()))
	if err != nil {
		return err
	}
	w.Header().Set("Cache-Control", "private, no-cache")
	w.Header().Set("Vary", "Authorization")
	w.Header().Set("ETag", p.tag)
	w.Header().Set("Content-Type", "application/json")
	http.ServeContent(w, r, "", time.Time{}, bytes.NewReader(p.content))
	return nil
}

func (s *server) page(c runtime.Caller) (*page, error) {
	who := audience{c.Capabilities(), c.Agent != ""}
	s.mu.Lock()
	defer s.mu.Unlock()
	if p := s.pages[who]; p != nil {
		return p, nil
	}
	doc, err := Document(s.options.Build, c)
	if err != nil {
		return nil, err
	}
	content, err := json.Marshal(doc)
	if err != nil {
		return nil, err
	}
	sum := sha256.Sum256(content)
	p := &page{append(content, '\n'), `"` + hex.EncodeToString(sum[:16]) + `"`}
	s.pages[who] = p
	return p, nil
}

type object = map[string]any

// Document is the OpenAPI description, version 3.1, of what [Handler] serves a caller beside MCP.
func Document(build string, c runtime.Caller) (map[string]any, error) {
	paths := object{}
	for _, t := range tool.Offered(c) {
		answer, err := tool.SchemaOf(reflect.TypeOf(t.Answer))
		if err != nil {
			return nil, fmt.Errorf("%s: %w", t.Name, err)
		}
		paths["/v1/"+t.Name] = object{"post": operation(t.Name, t.Doc, object{
			"requestBody": object{"required": true, "content": jsonContent(t.Schema(c))},
		}, jsonContent(answer))}
	}
	schemas := object{"Refusal": refusalSchema()}
	if c.May(runtime.CanRead) {
		event, err := tool.SchemaOf(reflect.TypeOf(runtime.Event{}))
		if err != nil {
			return nil, err
		}
		schemas["Event"] = event
		readings(paths)
	}
	return object{
		"openapi": "3.1.0",
		"info": object{"title": "Starling", "version": build,
			"description": "Runs that orchestrate agents, wait for decisions and never lose their place.",
			"license":     object{"name": "Apache License 2.0", "identifier": "Apache-2.0"}},
		"servers":    []any{object{"url": "/", "description": "the server that sends this"}},
		"security":   []any{object{"token": []any{}}},
		"paths":      paths,
		"components": object{"securitySchemes": object{"token": object{"type": "http", "scheme": "bearer"}}, "schemas": schemas},
	}, nil
}

// readings adds what is read and is no tool.
func readings(paths object) {
	paths["/v1/events"] = object{"get": operation("events", "The events of a run as server-sent events: id is the number, data the event as in the schema Event. The stream ends with `event: end`, or with `event: error` and a Refusal; one that ends without either was cut.",
		object{"parameters": []any{
			parameter("query", "run", true, "id of a run, a unique prefix of one, or @last"),
			parameter("query", "after", false, "the number of the last event that is known; the stream begins behind it"),
			parameter("query", "follow", false, "false ends the stream with what there is, true (when it is left out) with the run"),
			parameter("header", "Last-Event-ID", false, "the id of the last event that came, as clients of server-sent events say it when they connect again; it goes before after"),
		}},
		object{"text/event-stream": object{"schema": object{"type": "string",
			"contentMediaType": "application/json", "contentSchema": object{"$ref": "#/components/schemas/Event"}}}})}
	paths["/v1/blob"] = object{"get": operation("blob", "Content by its hash.", object{"parameters": []any{parameter("query", "hash", true, "its SHA-256, as events and results name it")}},
		object{"application/octet-stream": object{"schema": object{"type": "string", "contentEncoding": "binary"}}})}
	paths["/metrics"] = object{"get": operation("metrics", "What is going on, and what has happened since the server began, for Prometheus in its text format.", object{},
		object{"text/plain": object{"schema": object{"type": "string"}}})}
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
	summary, _, _ := strings.Cut(doc, ". ")
	op := object{"operationId": id, "summary": strings.TrimSuffix(summary, "."), "description": doc, "responses": responses}
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

func parameter(in, name string, required bool, doc string) object {
	return object{"in": in, "name": name, "required": required, "description": doc, "schema": object{"type": "string"}}
}

func refusalSchema() object {
	text := object{"type": "string"}
	return object{"type": "object", "required": []string{"error"}, "properties": object{"error": object{
		"type": "object", "required": []string{"kind", "message"}, "additionalProperties": false,
		"properties": object{"kind": object{"enum": runtime.ErrorKinds()}, "message": text, "help": text, "data": object{}},
	}}}
}
