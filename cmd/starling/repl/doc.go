// Package repl is the read-eval-print loop: a session whose statements are chunks of one run.
//
// What is typed is read statement by statement - a line, or a block up to its blank line - and sent
// to the run as a signal. The run executes it, journals it, and rests; so a session that lost its
// process goes on in another, with its variables, its functions and every answer that an agent
// gave.
//
//	typed text ──► Reader ──► statement ──► Signal{chunk} ──► the run ──► events ──► value, prints, error, or a gate to be answered here
//
// Lines that begin with a colon are for the loop itself; ":help" lists them.
//
// A [Loop] belongs to one goroutine.
package repl
