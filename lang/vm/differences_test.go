package vm_test

import (
	"regexp"
	"strings"
)

// differences are all that is known to differ from go.starlark.net on purpose in what a program
// without effects can show. What the pattern finds is replaced in what both engines say before it
// is compared. lang/spec.md lists them for readers.
//
// Three more need no pattern. A library runs before the script begins, so its error is not wrapped
// in "cannot load" (errorText unwraps go.starlark.net's). Limits are other ones (a program that
// goes over one is not compared). And go.starlark.net dies of freezing a function that knows itself
// (freeze leaves those out).
var differences = []struct {
	why         string
	pattern     *regexp.Regexp
	replacement string
}{{
	why: "go.starlark.net gives a slice no position: its error is reported at whatever its code generator has laid out before. The machine does the same, " +
		"except where the operands branch.",
	pattern:     regexp.MustCompile(`\w+\.star:\d+:\d+(: in [^\\\n]*(?:\n|\\n)Error: (?:invalid slice|invalid start index|invalid end index|zero is not a valid slice step))`),
	replacement: "somewhere$1",
}}

// unlocked lets go of what go.starlark.net keeps locked for ever: the list of which an assignment
// unpacked too many values. The machine must leave nothing locked.
func unlocked(theirs string) string { return strings.ReplaceAll(theirs, " locked", "") }

// alike removes known differences from what an engine says.
func alike(text string) string {
	for _, d := range differences {
		text = d.pattern.ReplaceAllString(text, d.replacement)
	}
	return text
}
