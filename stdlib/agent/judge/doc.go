// Package judge has the official Go clients of the makers of models judge those of stdlib/agent:
// the same requests on the wire, the same replies read, the same view of errors and cuts. It is a
// module of its own, so that nothing of theirs is needed to build or test Starling:
//
//	cd stdlib/agent/judge && go test -timeout 5m ./...
//
// Where both differ and are to, a table says how and why; a row that no longer holds fails as well.
package judge
