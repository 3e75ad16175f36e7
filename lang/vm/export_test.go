package vm

// StopBefore has stop asked before each instruction of code compiled with breaks whether the
// machine is to yield there. nested names the Go function that is calling back, inside which
// nothing can stop; "" if none is.
func (m *Machine) StopBefore(stop func(nested string) bool) {
	m.pause = func() bool {
		if m.callee != nil {
			stop(m.callee.Name())
			return false
		}
		return stop("")
	}
}

// ExactSnapshot writes down a machine that stands before any instruction.
func (m *Machine) ExactSnapshot(key []byte) ([]byte, error) { return m.snapshot(key, true) }

// SnapshotFormat is the format that this build writes.
const SnapshotFormat = snapshotFormat
