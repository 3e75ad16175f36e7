package engine

import (
	"bytes"
	"fmt"

	"starling/runtime"
	"starling/runtime/run"
)

// readOrigin takes what the run has in common with others from those, or has it ready for them.
func (sv *saved) readOrigin(s runtime.Store, st *run.State) bool {
	if sv.origins == nil || st.OriginRef == nil {
		return false
	}
	o, err := sv.origins(string(st.OriginRef), func() (o run.Origin, err error) {
		first, err := firstRecord(s, sv.run)
		if err != nil {
			return o, err
		}
		o = run.OriginOf(first.View())
		if !bytes.Equal(o.Name(), st.OriginRef) {
			err = fmt.Errorf("%w: run %s was not started like its head says", runtime.ErrDamaged, sv.run)
		}
		return o, err
	})
	if err == nil {
		st.Origin = o
	}
	return err == nil
}
