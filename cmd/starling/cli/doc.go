// Package cli is the command line of Starling, for every program that has one.
//
// One file is one verb: a struct that has its flags and embeds the call (call.go), which has what
// all verbs share. A verb parses its flags, opens the store (open.go: as its owner, or as a
// client of the process that owns it), asks the engine, and answers. It never knows which of the
// two engines it talks to.
//
//	args ──► verb ──► connector ──► runtime.Engine ──► documents and events
//	                                                 │          └──► progress lines  ──► stderr
//	                                                 └──► text, or one JSON document ──► stdout
//
// What every verb promises:
//
//   - Standard output carries the result and nothing else; standard error carries progress, notices and errors.
//   - With --json, standard output is exactly one document of schema starling/v1: the result, or {"schema":…,"error":{"kind","message","help","data"}}.
//     The error is told on standard error for people as well. A command that is interrupted before there is a run to tell of prints none.
//   - The exit code is that of the error's kind (runtime.ErrorKind); 3 says that a run rests, 124 that the command's own --timeout has passed,
//     128 and the signal's number that the command was interrupted.
//   - Without a terminal there is no prompt, no colour, and nothing that is drawn anew.
//   - Every command that is printed can be pasted into a shell (shell.go).
//
// Flags win over the environment (STARLING_STORE), which wins over the default: .starling beside
// starling.toml.
package cli
