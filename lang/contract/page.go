package contract

import _ "embed" // of the page

// Page is the page that says what a contract can be, in Markdown.
//
//go:embed grammar.md
var Page string
