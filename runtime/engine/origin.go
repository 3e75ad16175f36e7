package engine

import (
	"bytes"
	"crypto/sha256"
	"encoding/binary"
	"fmt"
	"time"

	"starling/lang/effect"
	"starling/runtime"
	"starling/runtime/journal"
)

// What a run was started with never changes: it stands in the first record and nowhere else, and most of it is the same for all runs of a script. A head names that part, so that a load reads the first
// record only where no run is known that was started alike.

// begun takes from the first record of a run what never changes, and what a checkpoint therefore leaves out.
func (s *state) begun(r *journal.Record, v effect.View) {
	s.origin = originOf(v)
	s.Inputs, s.Parent, s.Depth = v.Raw("inputs"), v.Text("parent"), int(v.Int("depth"))
	s.Started, s.Lineage, s.Imported = r.Time, lineageOf(v.Sub("lineage")), v.Raw("imported")
}

// origin is what runs that were started alike have in common.
type origin struct {
	Script    string
	Bundle    string // hash of the source bundle
	Program   string // hash of the program
	original  string // hash of the settings
	By        string
	Session   bool
	Behaviour uint32 // of the builtins
}

func originOf(v effect.View) origin {
	return origin{Script: v.Text("script"), Bundle: journal.HashIn(v, "bundle"), Program: journal.HashIn(v, "program"), original: journal.HashIn(v, "settings"), By: v.Text("by"),
		Session: v.Flag("session"), Behaviour: uint32(v.Int("behaviour"))}
}

// kinSize is how much of a hash names an origin, in bytes.
const kinSize = 16

// name names an origin in heads.
func (o *origin) name() []byte {
	var b effect.Object
	sum := sha256.Sum256(b.Text("script", o.Script).Text("bundle", o.Bundle).Text("program", o.Program).Text("settings", o.original).Text("by", o.By).Flag("session", o.Session).
		Int("behaviour", int64(o.Behaviour)).Payload())
	return sum[:kinSize]
}

// named is the name of the run's origin, nil where it was not started like others.
func (s *state) named() []byte {
	if s.originRef == nil && s.Parent == "" && s.Lineage == nil && s.Imported == nil && !s.moved {
		s.originRef = s.origin.name()
	}
	return s.originRef
}

// originBlob is the name of the run's origin and when the run was started, as a head has them: with the inputs, that spares a load the first record where another run was started alike.
func (s *state) originBlob() []byte {
	kin := s.named()
	if kin == nil {
		return nil
	}
	return binary.AppendVarint(bytes.Clone(kin), micros(s.Started))
}

func (s *state) loadOrigin(b []byte) {
	if len(b) > kinSize {
		at, _ := binary.Varint(b[kinSize:])
		s.originRef, s.Started = b[:kinSize:kinSize], time.UnixMicro(at).UTC()
	}
}

// readOrigin takes what the run has in common with others from those, or has it ready for them.
func (sv *saved) readOrigin(s runtime.Store, st *state) bool {
	if sv.origins == nil || st.originRef == nil {
		return false
	}
	o, err := sv.origins(string(st.originRef), func() (o origin, err error) {
		first, err := firstRecord(s, sv.run)
		if err != nil {
			return o, err
		}
		o = originOf(first.View())
		if !bytes.Equal(o.name(), st.originRef) {
			err = fmt.Errorf("%w: run %s was not started like its head says", runtime.ErrDamaged, sv.run)
		}
		return o, err
	})
	if err == nil {
		st.origin = o
	}
	return err == nil
}
