// Package peers measures Starling beside other engines of durable execution: the same workloads,
// the same disk, in turns. It is a module of its own, so that nothing of theirs is needed to build
// or test Starling:
//
//	go -C runtime/peers test -run '^$' -bench . -benchtime 1x -timeout 30m
//
// go-workflows and DBOS Transact are libraries, and run in this process as Starling does. Both keep
// their state in SQLite, opened so that a commit is synced before it returns. Restate is a server
// with an SDK: it syncs its log before it acknowledges and calls the code over HTTP on the loopback
// device, as it is meant to. It takes part where RESTATE_SERVER names its binary, which `npm
// install @restatedev/restate-server@1.7.12` brings. So this compares what users get, and not
// storage engines.
//
// What is printed are the rates of both and, as "ratio", the median over interleaved rounds of
// Starling's divided by the peer's: above one Starling is faster.
package peers
