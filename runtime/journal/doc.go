// Package journal is what lies in a store: the keys of its rows, and the records of a run's journal
// as bytes.
//
// A [Record] is one thing that happened to a run. A commit writes its records as one value, sealed
// with a checksum ([Seal]), under a key that has the number of the first ([SeqKey]). Nothing here
// knows what a record means for a run: that is for who folds them. What was ever written can be
// read: a type is added at the end of the list, and never changed.
//
// All functions may be called concurrently.
package journal
