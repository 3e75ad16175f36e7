// Package web is an engine over HTTP, for programs: each tool of runtime/tool is a route, and the
// events of a run are a stream.
//
//	POST /v1/TOOL                 a JSON object, the tool's arguments     its answer
//	GET  /v1/events?run=RUN       -                                       server-sent events
//	GET  /v1/blob?hash=HASH       -                                       the bytes
//	GET  /metrics                 -                                       Prometheus' text format
//	GET  /openapi.json            -                                       what of this the caller may do, for machines
//	     /mcp                     the Model Context Protocol, where it is mounted
//	POST /webhooks/NAME           what a sender posts                     whether it was accepted
//
// # Who calls
//
// Every request brings "Authorization: Bearer SECRET", from this machine too: a browser's page or
// another user's process reaches a loopback address as well as the user does. That is so for the
// document and for paths that are none, too. The document has the tools, arguments and routes that
// the caller's capabilities allow; it is made once for each set of these, and its ETag answers who
// has it already. A request whose Host is none of the server's own, or whose Origin is another, is
// refused, and nothing allows pages of other origins anything: a page that somebody visits cannot
// speak to the engine, whatever its name resolves to.
//
// What is posted to a webhook has no token, and is signed instead; whoever takes it checks that.
// Such a body has at most 1 MiB, has to come within ten seconds, and 16 are read at once.
//
// # Answers
//
// An answer is one JSON object with status 200. A refusal is
// {"error":{"kind","message","help","data"}}, the runtime.Refusal with its hint for tools, and a
// status that follows from the kind; 401 without a token that is known, 403 for one that may not do
// this, 413 for a body of more than 8 MiB. A path that is none of these is answered with 404, which
// lists them, and another method than a path has with 405 and Allow.
//
// # Events
//
// Each record of the run is `id: SEQ` and `data: runtime.Event`. The stream goes on until the run
// has ended, or with follow=false until what there is was sent; `event: end` says so, and `event:
// error` with a refusal that something else ended it. One that ends without either was cut. Who
// comes back with Last-Event-ID, as browsers' EventSource does, or with after=SEQ, misses nothing;
// a number that the run has not come to is refused. A reader that does not read is cut after a
// minute.
//
// # What is held for clients
//
// A request or a stream beyond the limit of their number, a body that waits too long for room
// (bodies of more than 32 KiB share 16 MiB), and an answer of more than 64 KiB while those that
// nobody reads fill 16 MiB, are refused with 503, owner_unreachable and Retry-After. Of a stream
// that is not read some 32 KiB of events are held; larger events share the room of the answers, and
// wait for it.
//
// Nothing in this package logs.
package web
