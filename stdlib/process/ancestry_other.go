//go:build unix && !linux

package process

// AttemptOf finds nothing here: see Limits in the package comment.
func AttemptOf(pid int, dir string) (Attempt, bool, error) { return Attempt{}, false, nil }

// ownIdentity names nobody: a lock file still says which attempt holds it.
func ownIdentity() identity { return identity{} }
