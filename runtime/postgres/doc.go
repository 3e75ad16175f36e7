// Package postgres is a [runtime.Store] in a PostgreSQL database, for runs that are to outlive a
// machine.
//
//	s, err := postgres.Open(ctx, "postgres://starling@db.example.org/starling", postgres.Options{})
//	if err != nil { ... }                // runtime.ErrLocked while another process owns the store
//	defer s.Close()
//
// # Tables
//
// They lie in the first schema of the search path and are made by the first owner.
//
//	starling_store  one row: the store's id and format, its epoch, how many batches were committed; and the lease
//	starling_keys   k, v: the ordered map
//	starling_runs   run, at, head: where each run stands
//
// # A commit
//
// All batches that wait are one statement, and so one transaction and one round trip. Its first
// part moves the row of starling_store, on the condition that epoch and sequence are still what
// this owner knows; its other parts do nothing where that found no row. So an owner that is one no
// more changes nothing, whatever it believes and however late its statement arrives.
//
// Nobody else moves the sequence of an epoch. So where the answer of a commit was lost, because the
// server was restarted, a connection broke or a replica was promoted, the owner sends the same
// statement again: it waits for the first where that still runs, and finds the sequence moved where
// it was applied. A database that has fewer batches than were acknowledged, as a replica may that
// was promoted too early, is refused. Owner and standbys keep the acknowledged number in their
// folders, so that one which starts anew sees it too.
//
// # The lease
//
// The owner moves the number beat, with each commit and otherwise several times in the time of the
// lease. Who stands by and has seen the same beat for as long as the lease lasts takes the store:
// durations are compared, never clocks. An owner counts from before it sent what renewed the lease.
// Where it could renew it no more it is lost a while before the lease is over, and [Store.Lost]
// says so: its attempts are ended before another owner begins them again.
//
// No session state of the server is needed for any of this, and no lock of a session is taken.
package postgres
