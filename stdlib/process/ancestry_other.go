//go:build unix && !linux

package process

// AttemptOf finds nothing here: see Limits in the package comment.
func AttemptOf(pid int, dir string) (Attempt, bool, error) { return Attempt{}, false, nil }

// startOf is 0 for every process here.
func startOf(int) uint64 { return 0 }

// Of finds nothing here: see Limits in the package comment.
func (g *Guards) Of(int) (Attempt, bool, error) { return Attempt{}, false, nil }

// ownIdentity names nobody: a lock file still says which attempt holds it.
func ownIdentity() identity { return identity{} }
