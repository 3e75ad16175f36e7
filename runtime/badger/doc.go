// Package badger is runtime.Store on Badger: one directory, one owner, commits that are durable
// when they return.
//
// Open makes a store where there is none, or opens the one that is there as its next owner.
// Options.ReadOnly opens it for a command that only looks: no epoch is bumped, nothing is created,
// Commit is refused. While one process has a store open, every other open of it is refused with
// runtime.ErrLocked.
//
// Three things lie between Badger and the promise of a Store, and they are what this package is:
//
//   - The committer (committer.go) takes all batches that wait, checks the fences of each, and puts them into one Badger transaction, so
//     that many callers share one sync. Badger by itself syncs once for each of them.
//   - The mark (mark.go) remembers beside Badger how many batches were acknowledged. Badger takes a damaged log for one that ends early;
//     the mark is what tells the two apart.
//   - The inspection (inspect.go) reads the files before Badger may touch them. Badger repairs by cutting off and deleting, and in some
//     places goes on without what it could not read; a store that is not whole is refused first, and left as it was found.
//
// Invariants: a batch is in Badger before the mark says so, and the mark says so before Commit
// returns. Batch numbers are dense. The directory's files that are not Badger's are in
// directory.go, the keys that are not the runtime's in keys.go, and what was decided against is in
// design.md.
//
// A store needs a local disk, and 64 MiB free on it: below that it refuses to commit rather than
// let a full disk kill the process.
package badger
