// Package contract is the contract language: the types of everything that crosses a boundary of a
// run. Inputs, agents' outputs, handoffs and signals are all declared in it and checked by it.
//
//	type Severity = "CRITICAL" | "HIGH" | "MEDIUM" | "LOW"
//	{
//	  findings: [{id: /J-[0-9]{3}/, severity: Severity, file: path, line: int(1..)}](1..),
//	  notes: string @agent,
//	  threshold: number(0..1) = 0.85,
//	}
//
// grammar.md describes the language, design.md why it is as it is.
//
// [Parse] reads a text into a [Contract], which never changes and may be shared by goroutines. Its
// errors are diagnostics with a place in the text; [ParseLiteral] places them in the Starlark file
// that the text stands in.
//
// [Contract.Check] is the heart: it takes a Starlark value and yields a new one, with defaults
// filled in, keys in declared order and whole floats as ints where ints are wanted, or else every
// problem as [Violations], each with path, got, want and hint. [Contract.Redact] leaves out what
// people are not meant to see.
//
// [Contract.Schema] writes JSON Schema, for validators or in the stricter profile of model APIs;
// [Contract.CheckAs] takes back what was made for the latter. [Contract.Fields] and
// [Contract.ParseArg] serve command lines and forms.
//
// A contract is also a Starlark value, with methods for scripts. It is stored as its canonical
// text, [Contract.String], by which contracts are equal.
//
// [FromJSON] and [ToJSON] are the one place where values and JSON meet.
//
// Everything here may come from a stranger: a contract from an agent, a value from a model. Texts,
// depth, the number of elements and of errors are bounded, and no union or recursion makes the work
// grow out of proportion.
package contract
