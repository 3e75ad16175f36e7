// Package mutate lists the mutants of a script: texts that differ from it by one change of the
// syntax tree, each of which tests should notice. It runs nothing.
//
//	source ──► syntax.Parse ──► lister ──► []Mutant{where, kind, before, after} ──► Apply ──► source
//
// A [Mutant] is one edit of the text. It keeps the number of lines, so that whatever else an error
// names stays where it was. Whether the new text compiles is for whoever runs it to see: a value
// may be dropped that something else needs.
//
// What is changed is what the field has found worth its time (PIT, cargo-mutants, mutmut): see
// [Kind]. Changes that come to the same are listed once: what swaps the branches of a decision is
// the negation of its condition, and a comparison is negated by its own opposite. Texts that do
// nothing, such as docstrings, are left alone, and so are the names of files in load.
//
// An author marks mutants that change nothing anybody could see with a comment, see [Marks].
package mutate
