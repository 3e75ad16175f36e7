package journal

import "strings"

// Crockford is the alphabet of run ids: no I, L, O or U.
const Crockford = "0123456789abcdefghjkmnpqrstvwxyz"

// RunIDLength is the letters of a run id.
const RunIDLength = 12

// IsRunID tells whether a text looks like the id of a run.
func IsRunID(id string) bool {
	return len(id) == RunIDLength && strings.Trim(id, Crockford) == ""
}

// CutParent splits the address of the step that started a child run.
func CutParent(parent string) (run, step string, ok bool) { return strings.Cut(parent, "@") }
