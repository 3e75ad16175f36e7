// Package runtime keeps runs of scripts that survive anything.
//
// An [Engine] starts runs, takes signals and carries runs to their end. [Local] is the engine of this process; it owns a [Store].
//
// A run is its journal: an append-only list of [Record] values, one for each request that the script made, each outcome it got, each signal that
// was accepted or refused. Beside the journal, a checkpoint holds the state and the machine (lang/vm) as they were after some record, so that a run is resumed in the
// time that its live state takes, not its history. See design.md for the three laws that hold and how they are tested.
//
//	signal, timer, reply ──► turn: decide, run the machine ──► one commit ──► perform, answer, tell watchers
package runtime
