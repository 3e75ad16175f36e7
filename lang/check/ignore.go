package check

import (
	"strings"

	"starling/lang/diagnostic"
)

// ignored drops what a comment of the author says is meant: on the line itself, or alone on the one
// above it,
//
//	# check: ignore KIND because REASON
//
// Without a reason it is no such comment: whoever reads it later must know when it may go.
func (c *checker) ignored() {
	lines := strings.Split(c.file.Source, "\n")
	kept := c.found[:0]
	for _, d := range c.found {
		if !c.meant(lines, d) {
			kept = append(kept, d)
		}
	}
	c.found = kept
}

func (c *checker) meant(lines []string, d diagnostic.Diagnostic) bool {
	here := ""
	if d.Line > 0 && d.Line <= len(lines) {
		here = lines[d.Line-1]
	}
	above := ""
	if d.Line > 1 {
		above = strings.TrimSpace(lines[d.Line-2])
	}
	if !strings.HasPrefix(above, "#") {
		above = ""
	}
	return meant(here, d.Kind) || meant(above, d.Kind)
}

// meant tells whether a line says that a kind of finding is to be ignored on it.
func meant(line, kind string) bool {
	_, said, ok := strings.Cut(line, "# check: ignore ")
	words := strings.Fields(said)
	return ok && len(words) > 2 && words[0] == kind && words[1] == "because"
}
