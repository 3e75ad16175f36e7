// Package suite runs the tests that authors write for their scripts: the functions test_… of files
// …_test.star.
//
// A test is a run like any other, of a program that calls the one function, in an engine of its own
// over a store in memory. So a test may do what a script may: call a function of the script under
// test, which asks agents and waits at gates, or run() the whole script. What is not there is the
// world. Agents are functions of the file, people are answers that were said beforehand, HTTP
// servers are responses, and time is a clock that moves when nothing else can:
//
//	settle: wait until nothing is in motion ──► crash, if a step asks for it: another engine on what the store has
//	   ▲                                   ──► answer a gate that somebody answers now
//	   └───────────────────────────────────── move the clock to the next timer; none: the test is stuck
//
// A 48-hour deadline therefore takes a moment, and whatever happens, happens in the same order each
// time.
package suite
