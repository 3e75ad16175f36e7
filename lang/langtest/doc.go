// Package langtest makes programs to test the language with. It knows how Starlark is written and
// what its builtins take, and nothing of how it is run, so that any two ways of running a program
// can be compared on what it makes.
//
//	p := langtest.Generate(langtest.Seed(7))
//	if differs(p) {
//		p = langtest.Reduce(p, differs)
//	}
//
// A program is typed: an expression is made for a type that its place wants, so that most programs
// run long before they fail. One expression in many is a mistake, made on purpose: of another type,
// out of range, or called with the wrong arguments. What expressions there are, the table
// grammar.txt says; statements, functions, calls and comprehensions, which bind names, are written
// in Go.
//
// Programs end: loops and recursion are counted. They may still grow a value without measure, or
// work for long, and should be run with limits.
//
// The programs use, beside the universe of Starlark, names that their user predeclares:
//
//	struct(**fields)  an immutable record
//	hasfields()       an object whose fields can be set
//	freeze(x)         freezes x and returns it
//	apply(fn, *args, **kwargs)  calls fn and passes its result, or its error, on
//	trace(fn)         calls fn and returns its result, or the text of the error that it fails with
package langtest
