// Package run is what a run is and how it decides: a function, and nothing beside it.
//
// A [State] is the fold of a run's journal, and its machine (lang/vm) is what its script has come
// to. A [Turn] takes inputs ([Input]: a reply, a signal, a timer), decides what follows, runs the
// machine as far as it goes, and gives one [Commit]: records, rows and contents that are to be
// durable in one transaction, and effects that whoever drives the run performs once they are. When
// the commit fails, state and machine are thrown away, and nothing has happened.
//
// What a turn has to know beyond its run it asks through three interfaces that the driver
// implements: [World], [Commons] and [Quotas]. The package starts no goroutine, holds no lock,
// reads no clock, file, variable of the process or store; the same turn gives the same records
// anywhere. TestRunsAreFunctions holds that.
//
// A run that was loaded comes back with [Host.Rebuild], which replays what its snapshot does not
// have and compares each record, byte by byte.
//
// Nothing here may be used by two goroutines at a time. Why it is as it is says design.md of the
// folder above.
package run
