// Package tool is what programs and agents can ask of an engine, as one table: each [Tool] has a
// name, a contract of its arguments and one JSON object as its answer. The faces of an engine are
// made of it: the tools of an MCP server (runtime/mcp) and the routes of HTTP (runtime/web) with
// their documents.
//
// The arguments are declared in the contract language: from one text come the schema that callers
// see and the check that says where a call is wrong. Callers that speak of templates, workflows and
// their steps are understood, and answered in their words (aliases.go).
//
// A tool decides nothing: whether its caller, who stands in the context, may do what is asked is
// the engine's to say. No call is held for longer than half a minute: `run` answers when the run is
// durable, `await` gives a handle with which any later call, to any process, goes on waiting.
package tool
