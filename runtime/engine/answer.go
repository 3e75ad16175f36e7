package engine

import (
	"io"

	"starling/runtime/journal"
)

// newRunID is 12 random letters, 60 bits: short prefixes tell runs apart from the first letter on.
func newRunID(from io.Reader) string {
	var b [journal.RunIDLength]byte
	_, _ = io.ReadFull(from, b[:])
	for i := range b {
		b[i] = journal.Crockford[b[i]&31]
	}
	return string(b[:])
}
