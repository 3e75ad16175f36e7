//go:build unix && !linux

package sandbox

import (
	"fmt"
	"syscall"
)

// Outcome is what came of enforcing a policy.
type Outcome struct {
	Lacks []string // what of it the system cannot enforce, a sentence each
	Env   []string // variables, "NAME=value", that the program is to have beside its own
}

// Attributes does nothing: there are no namespaces here.
func (i Isolation) Attributes(Policy, *syscall.SysProcAttr) {}

// Enforce does nothing here: it says so, or fails with ErrUnavailable.
func (p Policy) Enforce(Isolation) (Outcome, error) {
	const lack = "nothing is confined: this system has neither namespaces nor Landlock"
	if !p.Partial {
		return Outcome{}, fmt.Errorf("%w: %s", ErrUnavailable, lack)
	}
	return Outcome{Lacks: []string{lack}}, nil
}
