package runtime

import (
	"fmt"
)

// mendRun is what to try with a run that cannot be read.
const mendRun = "To mend it restore a backup (starling store restore) or import an export of the run; to give it up: starling prune --damaged"

// DamagedRun is the error of a run that cannot be read, while others can. It is an ErrDamaged.
type DamagedRun struct {
	Run   string
	Cause error
}

// Error names the run.
func (d *DamagedRun) Error() string { return fmt.Sprintf("run %s cannot be read: %v", d.Run, d.Cause) }

// Unwrap is the cause.
func (d *DamagedRun) Unwrap() error { return d.Cause }
