// Package peers measures Starling beside other engines of durable execution: the same workloads, the same disk, in turns. It is a module of its own, so that nothing of
// theirs is needed to build or test Starling:
//
//	cd runtime/peers && go test -run '^$' -bench . -benchtime 1x -timeout 30m
//
// The peer is Restate, server and Go SDK as they come. Its server is installed by npm into a folder of the user's cache; RESTATE_SERVER names another. It syncs
// its log before it acknowledges, as Starling does, and talks to the code over HTTP on the loopback device, as it is meant to: a comparison of what users get, and
// not of two storage engines.
//
// What is printed are the rates of both and, as "ratio", the median over interleaved rounds of Starling's divided by the peer's: above one Starling is faster.
package peers
