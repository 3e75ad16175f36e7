// Package infer says which values the names and expressions of a script can have, without running
// it and without annotations.
//
//	result := infer.Files(files, env)
//	result.Findings              what is wrong, and where
//	result.Types(file)           what was inferred of each name
//
// The program is gone over as a whole, again and again, until no type grows any more. A type
// ([Type]) is a set that holds every value that may be seen at a place. So an error means that the
// line fails whenever it is reached: every value that can get there makes it fail. Where something
// comes from outside, and nothing says what it is, a type is unknown, and nothing is said.
//
// What a builtin gives is read from the table that the documentation is made of
// ([starling/lang/doc], [starling/lang/effect.Builtin]); what operators take is asked of the
// operators themselves. Why it is made like this, and what it cannot know, stands in design.md.
package infer
