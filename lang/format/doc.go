// Package format lays out the text of scripts.
//
// [Source] gives a file in the one layout: four blanks a level, one empty line between functions, a
// list that is broken anywhere broken at each element, lines of at most 100 columns where they can
// be broken. The program stays the same, and so do its comments; both are looked at before anything
// is given back, so that a file is laid out or left alone. What is laid out stays as it is when it
// is laid out again.
//
//	laid, err := format.Source("review.star", text)
//
// The printer is that of github.com/bazelbuild/buildtools, as of a .bzl file that nothing is
// rewritten in. Where it does harm, and what is done about it, stands in design.md.
package format
