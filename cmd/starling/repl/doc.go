// Package repl is the read-eval-print loop: a session whose statements are chunks of one run.
//
// What is typed is read statement by statement - a line, or a block up to its blank line - and sent
// to the run as a signal. The run executes it, journals it, and rests; so a session that lost its
// process goes on in another, with its variables, its functions and every answer that an agent
// gave.
//
//	typed text ──► Reader ──► statement ──► Signal{chunk} ──► the run ──► events ──► value, prints, error, or a gate to be answered here
//	                  │
//	                  └─ a colon, "!" or "NAME?": for the loop itself. What needs to see values looks
//	                     into the run (runtime.Moments), which performs nothing and leaves no trace.
//
// A [Loop] sits at one session at a time: ":fork" and ":rewind" have it go on with another one, and
// ":attach" look into a moment of any run.
//
// A [Loop] belongs to one goroutine; what completes names is called on that of the terminal.
package repl
