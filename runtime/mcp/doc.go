// Package mcp is an Engine as a server of the Model Context Protocol: agents start runs, find what
// waits for them and answer it with the tools of their harness.
//
//	s := mcp.NewServer(&tool.Desk{Engine: engine, Env: env, Prepare: prepare}, build)
//	err := s.Run(ctx, stdin, stdout)      // one client
//	http.Handle("/mcp", s.Handler())      // many, each in the name of its token
//
// # Tools
//
// Those of runtime/tool, and run_NAME for each script that is defined, with its inputs as JSON
// Schema. An answer is one JSON object; a refusal is an answer with isError and
// {"error":{"kind","message","help","data"}}, the runtime.Refusal with its hint for tools. The
// lists of tools and resources have what the caller may use and nothing else, and of a tool the
// arguments that the caller may give. They say so for people: a call is refused by the engine,
// whatever was listed.
//
// # Waiting
//
// No call is held longer than half a minute, for clients give up after a minute or less. `run`
// answers when the run is durable. `await` holds for a while and then says pending, with a handle
// that any later call, in any process, may bring. A run_NAME waits too, and when a gate opens that
// its caller may answer it asks in the best way that the client has (ladder.go): as a task, by
// elicitation, or in its answer. All of it is derived from the run: nothing is remembered here, and
// whatever becomes of client, server or owner, the run stands where it stood.
//
// # Who calls
//
// Over HTTP every request is its token's. Over stdio the engine knows: it is a session of the
// process. No argument and no state that comes back from a client changes that.
package mcp
