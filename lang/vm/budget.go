package vm

import (
	"starling/lang/effect"
)

// Steps are charged per back-edge, call and unit of native work, never per instruction. The
// dispatch loop counts fuel down; when a portion is used up it comes here, which is where slices
// end and limits are enforced. Neither depends on how the work was cut into portions.

// refill gives a fiber its portion of steps: what is left of the slice, or of the fiber's limit if
// that is less; none when there is something to look at.
func (m *Machine) refill(f *fiber) {
	m.portion = max(0, min(sliceSteps-m.spent, m.limits.Steps-f.steps))
	if m.emitted > sliceBytes || m.tally > m.mark {
		m.portion = 0
	}
	m.fuel = m.portion
}

// account books the steps that were used since the portion was given.
func (m *Machine) account(f *fiber) {
	used := m.portion - m.fuel
	m.portion = m.fuel
	m.spent += used
	m.steps += uint64(used)
	f.steps += used
}

// refuel decides what happens when a portion is used up: sigReturn means to go on. Inside a call
// from Go nothing can stop, so it goes on.
func (m *Machine) refuel(f *fiber) (signal, error) {
	m.fuel++ // the instruction that found the portion used up is charged when it is executed
	m.account(f)
	if f.steps >= m.limits.Steps {
		return sigError, effect.Errorf(effect.KindLimit, "the script has run for %d steps without waiting for anything: the limit is %d", f.steps, m.limits.Steps)
	}
	if m.tally > m.ceiling {
		if err := m.recount(); err != nil {
			return sigError, err
		}
	}
	m.borrow(0)
	if m.running && !f.nested() && (m.spent >= sliceSteps || m.emitted > sliceBytes) {
		return sigYield, nil
	}
	m.portion = min(sliceSteps, m.limits.Steps-f.steps)
	m.fuel = m.portion
	return sigReturn, nil
}

// nested tells whether a Go function is among the calls in progress.
func (f *fiber) nested() bool {
	for i := range f.frames {
		if act := f.frames[i].act; act != nil && act.kind == borderFrame {
			return true
		}
	}
	return false
}
