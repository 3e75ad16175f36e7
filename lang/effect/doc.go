// Package effect says what a script asks of the world, as data: requests, outcomes, policies and
// handlers, the values that may cross the border between a script and the world, and the one binary
// codec in which they are journaled.
//
// A script calls a [Builtin]. A pure one is a function. Any other belongs to one [Class]: its
// arguments are bound, copied and turned into a [Request]; the machine emits the request and goes
// on, or waits, as the class says; the runtime makes the request durable, lets the [Handler] of its
// kind perform attempts, and records one [Outcome], which the machine delivers at the very call.
// runtime and stdlib never import each other: both meet here.
//
//	script  ──call──►  Builtin.Request  ──►  machine emits  ──►  runtime records, performs  ──►  Handler.Perform
//	script  ◄─value──  machine delivers ◄──  Outcome        ◄──  runtime settles, records   ◄──  Reply
//
// What crosses is a closed world: None, bools, ints, finite floats, strings, bytes, lists, dicts
// with string keys, contracts, secrets (as references) and the records of this package. [Encode]
// copies a value into a [Payload], [Payload.Value] makes a fresh one.
//
// Everything here is plain data or immutable after it was made; nothing does I/O.
package effect
