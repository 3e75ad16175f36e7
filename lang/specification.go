package lang

import _ "embed" // of what the language is

// Specification is the text of spec.md: what the language is, in Markdown.
//
//go:embed spec.md
var Specification string
