// Package vm is a register machine for Starlark whose whole state is plain data. It runs the code
// of starling/lang/compile over the values of go.starlark.net, stops where a script waits for the
// world, and can be written down and restored at any instruction.
//
//	Image    modules linked to an environment, their pure top levels run and frozen; immutable, shared by all runs and goroutines
//	Machine  one run: its fibers, their heap; used by one goroutine at a time
//	fiber    one branch of the script: a stack of registers, of frames and of open iterators (fiber.go describes them)
//
// A Starlark call takes neither Go stack nor memory: the window of registers of the callee begins
// at the arguments that its caller has laid down. The dispatch loop (interpret.go) has one case for
// each row of compile's table of operations.
//
// Builtins come in four kinds. Go functions of others run to their end, and may call back into
// Starlark on a nested loop in which nothing can wait. The universe of Starlark is wrapped in
// [Native] values, which know the short way for usual calls. Natives that call back (sorted, min,
// max, and the machine's own) are resumable: frames whose state is a list of values. Effects are
// recognised by the call itself.
//
// Errors, their texts, positions and backtraces are those of go.starlark.net; its own tests run
// here unchanged (conformance_test.go).
package vm
