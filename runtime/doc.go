// Package runtime is what is promised of runs of scripts: a run survives crashes and restarts.
//
// An [Engine] starts runs, takes signals and drives runs to their end; what it keeps lies in a
// [Store]. Beside them stand the documents in which an engine answers, and its refusals
// ([Refusal]). Nothing here does anything: starling/runtime/engine drives the runs of this process,
// and a client of an owner's socket (starling/runtime/api) is an Engine too.
//
// design.md says why it is as it is.
package runtime
