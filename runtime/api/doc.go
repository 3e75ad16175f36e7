// Package api carries one runtime.Engine over a unix socket: a [Server] in the process that owns a
// store, a [Client] in every other, which is a runtime.Engine again. Callers cannot tell the two
// apart, and one conformance suite holds for both.
//
// The protocol is HTTP/1.1 with JSON bodies, so that curl can speak it; streams are server-sent
// events.
//
//	request       body                     answer           engine
//	GET  /hello   -                        Hello            - (every protocol has this one)
//	POST /stop    -                        Hello            - (every protocol has this one) asks the owner to leave, needs admin
//	GET  /attach  -                        comments only    - counts the caller as a client while it is open
//	POST /start   runtime.StartRequest     runtime.Run      Start
//	POST /signal  runtime.Signal           runtime.Receipt  Signal
//	POST /cancel  runtime.CancelRequest    runtime.Receipt  Cancel
//	POST /carry   runtime.ResumeRequest    ["RUN", …]       Resume
//	GET  /run?run=ADDRESS                  runtime.Run      Get
//	POST /list    runtime.Query            runtime.Listing  List
//	POST /decisions  runtime.DecisionQuery DecisionPage     Decisions.Decisions
//	POST /watch   runtime.WatchRequest     event stream     Watch
//	GET  /blob?hash=HASH                   the bytes        Blob
//	POST /define  runtime.DefineRequest    Definition       Definitions.Define
//	POST /defined "NAME"                   [Definition, …]  Definitions.Defined
//	POST /care    runtime.MaintenanceRequest  MaintenanceReport  Maintenance.Maintain
//	POST /replay  runtime.ReplayRequest    runtime.Replayed Reruns.Replay
//	POST /move    runtime.MoveRequest      runtime.Replayed Reruns.Move
//	POST /fork    runtime.ForkRequest      runtime.Run      Reruns.Fork
//	POST /trust   runtime.TrustRequest     Trust            Trusts.Trust
//	POST /token/add    runtime.TokenRequest  Token          Tokens.AddToken
//	POST /token/list   runtime.TokenQuery    [Token, …]     Tokens.ListTokens
//	POST /token/remove "NAME"                Token          Tokens.RemoveToken
//
// A request with the header "Authorization: Bearer SECRET" is made in the name of that token, with
// its capabilities; without it by the user at the other end of the socket. A process that works for
// an attempt stays its agent, whatever it brings.
//
//	GET  /export?run=ADDRESS               the file         Archive.Export
//	POST /bring   a runtime.ImportRequest on a line, and the file behind it: Imported, Archive.Import
//
// Both sides send the header Starling-Protocol with [Protocol]; a request with another number is
// refused. A body is one JSON value without unknown fields and at most [MaxRequest] bytes long.
//
// # Refusals
//
// An answer that is no has a status of 4xx or 5xx and the body
// {"error":{"kind","message","help","call","data"}}: the runtime.Refusal as it is. The status
// follows from the kind (status.go). 503 with the header Starling-Owner is no answer of the engine:
// the process is "starting", the store not open yet, or "leaving". The client returns it as
// [*Away], as it does a connection that breaks: the request may be sent again, to whoever owns the
// store next.
//
// # Streams
//
// A stream begins with its first event, so that a refusal is a plain answer. Events are
//
//	id: 12                          data: runtime.Event    a record, its sequence number as the id
//	event: end                      data: {}               the watch is over
//	event: error                    data: {"error":{…}}    the engine refused to go on
//	event: leaving                  data: {}               the owner leaves: watch again elsewhere, after the last id
//
// and a stream that just stops was cut. A comment every [DefaultKeepAlive] shows that the owner
// lives; a client that has heard nothing for three of these takes the owner for lost. A watcher
// that does not read blocks its own stream and nothing else. After a minute it is cut, which loses
// nothing: it comes back and goes on after the last event that it has seen.
//
// # Who calls
//
// Identity comes from the kernel, never from the request. A peer of another user is refused. A peer
// of this user is "local:USER" and may do everything, unless it is marked: what Starling starts
// carries more marks than its owner (stdlib/process), in /proc/PID/status for everybody to see, and
// cannot take them off. They are read while the kernel holds the process (SO_PEERPIDFD), which is
// asked last whether it is still alive; what cannot be read is refused. [Options].Identify only
// names whom a process works for: it acts as that attempt's agent. A marked process that works for
// no agent is [Nobody], as is one in a container or a sandbox of its user: it has the rights of a
// token that it brings. Where the machine cannot tell ([Doubt]), Identify alone decides.
//
// The client looks at the other end in the same way before it says a word, for values of
// environment variables pass here: an owner that carries a mark more than the client is not
// believed. These are never written down or logged; nothing in this package logs.
package api
