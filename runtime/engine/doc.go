// Package engine drives runs in this process: it is the [runtime.Engine] of whoever owns a store,
// and the one that only reads ([NewReader]).
//
// What a run decides is a function, in runtime/run: inputs in, one commit out, and what it asks
// through three small interfaces (outside.go). Here is the shell around it: an actor for each run
// in memory (actor.go), the alarms (alarm.go), attempts in flight (flight.go), commits and
// checkpoints (commit.go, checkpoint.go), and the maintenance of the store (maintenance.go).
// Answers come from the store alone (reader.go, list.go, show.go).
//
// Why it is as it is says design.md of the folder above.
package engine
