// Package lsp is the verb lsp: a server of the Language Server Protocol for editors.
//
//	editor ──stdin──► wire ──► Server (one goroutine) ──► documents, studies, outlines
//	editor ◄─stdout── wire ◄──┘
//
// A [document] is the text of an open file. Two things are known of it: its outline, the tree and
// where each name is bound, and its study ([starling/lang.Examine]), the diagnostics and the types.
// Both are made anew when the text has changed, and both stay, with the text that they speak of,
// while it cannot be parsed.
//
// One goroutine has all state. It answers what is asked before it looks for diagnostics, so that
// the keys of somebody who types fast are one change. A request that panics is answered with an
// error, and the server goes on.
//
// The protocol's positions count UTF-16 units, the language's runes, Go's texts bytes: only text.go
// knows of more than bytes. Why it is made like this stands in design.md.
package lsp
