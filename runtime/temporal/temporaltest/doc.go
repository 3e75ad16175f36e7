// Package temporaltest tries runtime/temporal against a Temporal server, which it starts in its own
// process. It is a module of its own, because that server is 200 modules: nothing else needs them.
package temporaltest
