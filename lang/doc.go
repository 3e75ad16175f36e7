// Package lang is the front door of the language: a script and all it loads become one pinned
// [Program].
//
//	names ──Read──► Bundle ──Compile──► Program ──► the machine (lang/vm)
//	                  │  └──Check────► diagnostics
//	                  └──Encode──► bytes ──Decode──► the same Bundle, elsewhere and later
//
// A [Bundle] is text: the script, every module that it loads, directly or not, and every child
// script that it names with a literal, each once. The client reads it, through two [Source]
// functions, because the files are the client's; from then on nothing is read again, and editing or
// deleting a file never changes a run in flight. The owner of the store compiles from the bundle.
//
// A [Program] is the bundle compiled: modules in the order in which they are to be run, the entry
// last, whether there is a main and what it takes. Its hash covers the text, the file options and
// [Dialect], so that equal hashes mean the same program.
//
// [Check] says what can be said without running; what is wrong with a script is always a
// diagnostic.List, complete rather than first-come, in file order.
//
// Everything here is immutable once made and may be shared by goroutines. lang does no I/O.
// `spec.md` is the reference of the language, and each of its examples runs in the tests;
// `design.md` says why things are as they are.
package lang
