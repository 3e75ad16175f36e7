package runtime

import (
	"bytes"
	"crypto/sha256"
	"encoding/binary"
	"fmt"
	"time"

	"starling/lang/effect"
)

// What a run was started with never changes: it stands in the first record and nowhere else, and most of it is the same for all runs of a script. A head names that part, so that a load reads the first
// record only where no run is known that was started alike.

// begun takes from the first record of a run what never changes, and what a checkpoint therefore leaves out.
func (s *state) begun(r *Record, v effect.View) {
	s.likeOthers(originOf(v))
	s.Inputs, s.Parent, s.Depth = v.Raw("inputs"), v.Text("parent"), int(v.Int("depth"))
	s.Started, s.Lineage, s.Imported = r.Time, lineageOf(v.Sub("lineage")), v.Raw("imported")
}

// origin is what runs that were started alike have in common.
type origin struct {
	script, bundle, program, settings, by string
	session                               bool
	behaviour                             uint32
}

func originOf(v effect.View) *origin {
	return &origin{script: v.Text("script"), bundle: hashIn(v, "bundle"), program: hashIn(v, "program"), settings: hashIn(v, "settings"), by: v.Text("by"),
		session: v.Flag("session"), behaviour: uint32(v.Int("behaviour"))}
}

func (s *state) likeOthers(o *origin) {
	s.Script, s.Bundle, s.Program, s.original, s.By, s.Session, s.Behaviour = o.script, o.bundle, o.program, o.settings, o.by, o.session, o.behaviour
}

// kinSize is how much of a hash names an origin, in bytes.
const kinSize = 16

// kin names an origin in heads.
func (o *origin) kin() []byte {
	var b effect.Object
	sum := sha256.Sum256(b.Text("script", o.script).Text("bundle", o.bundle).Text("program", o.program).Text("settings", o.settings).Text("by", o.by).Flag("session", o.session).
		Int("behaviour", int64(o.behaviour)).Payload())
	return sum[:kinSize]
}

// named is the name of the run's origin, nil where it was not started like others.
func (s *state) named() []byte {
	if s.kin == nil && s.Parent == "" && s.Lineage == nil && s.Imported == nil && !s.moved {
		s.kin = (&origin{s.Script, s.Bundle, s.Program, s.original, s.By, s.Session, s.Behaviour}).kin()
	}
	return s.kin
}

// kinBlob is the name of the run's origin and when the run was started, as a head has them: with the inputs, that spares a load the first record where another run was started alike.
func (s *state) kinBlob() []byte {
	kin := s.named()
	if kin == nil {
		return nil
	}
	return binary.AppendVarint(bytes.Clone(kin), micros(s.Started))
}

func (s *state) takeKin(b []byte) {
	if len(b) > kinSize {
		at, _ := binary.Varint(b[kinSize:])
		s.kin, s.Started = b[:kinSize:kinSize], time.UnixMicro(at).UTC()
	}
}

// readKin takes what the run has in common with others from those, or has it ready for them.
func (sv *saved) readKin(s Store, st *state) bool {
	if sv.origins == nil || st.kin == nil {
		return false
	}
	o, err := sv.origins.of(string(st.kin), func() (*origin, error) {
		first, err := firstRecord(s, sv.run)
		if err != nil {
			return nil, err
		}
		o := originOf(first.view())
		if !bytes.Equal(o.kin(), st.kin) {
			err = fmt.Errorf("%w: run %s was not started like its head says", ErrDamaged, sv.run)
		}
		return o, err
	})
	if err == nil {
		st.likeOthers(o)
	}
	return err == nil
}
