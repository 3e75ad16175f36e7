package run

import (
	"bytes"
	"crypto/sha256"
	"encoding/binary"
	"time"

	"starling/lang/effect"
	"starling/runtime/journal"
)

// What a run was started with never changes: it stands in the first record and nowhere else, and
// most of it is the same for all runs of a script. A head names that part, so that a load reads the
// first record only where no run is known that was started alike.

// Begun takes from the first record of a run what never changes, and what a checkpoint therefore
// leaves out.
func (s *State) Begun(r *journal.Record, v effect.View) {
	s.Origin = OriginOf(v)
	s.Inputs, s.Parent, s.Depth = v.Raw("inputs"), v.Text("parent"), int(v.Int("depth"))
	s.Started, s.Lineage, s.Imported = r.Time, journal.LineageOf(v.Sub("lineage")), v.Raw("imported")
}

// Origin is what runs that were started alike have in common.
type Origin struct {
	Script    string
	Bundle    string // hash of the source bundle
	Program   string // hash of the program
	Original  string // hash of the settings
	By        string
	Session   bool
	Behaviour uint32 // of the builtins
	Labels    string // as effect.Labels writes them
}

// OriginOf reads the first record of a run.
func OriginOf(v effect.View) Origin {
	return Origin{Script: v.Text("script"), Bundle: journal.HashIn(v, "bundle"), Program: journal.HashIn(v, "program"), Original: journal.HashIn(v, "settings"), By: v.Text("by"),
		Session: v.Flag("session"), Behaviour: uint32(v.Int("behaviour")), Labels: effect.LabelsOf(v.Sub("labels")).String()}
}

// LabelsBelow are those of the run that a step starts: what its call says, else the run's own.
func (s *State) LabelsBelow(st *Step) effect.Labels {
	if args, _ := st.Args.View(); args.Has("labels") {
		return effect.LabelsOf(args.Sub("labels"))
	}
	return effect.ReadLabels(s.Labels)
}

// kinSize is how much of a hash names an origin, in bytes.
const kinSize = 16

// Name names an origin in heads.
func (o *Origin) Name() []byte {
	var b effect.Object
	sum := sha256.Sum256(b.Text("script", o.Script).Text("bundle", o.Bundle).Text("program", o.Program).Text("settings", o.Original).Text("by", o.By).Flag("session", o.Session).
		Int("behaviour", int64(o.Behaviour)).Text("labels", o.Labels).Payload())
	return sum[:kinSize]
}

// named is the name of the run's origin, nil where it was not started like others.
func (s *State) named() []byte {
	if s.OriginRef == nil && s.Parent == "" && s.Lineage == nil && s.Imported == nil && !s.Moved {
		s.OriginRef = s.Origin.Name()
	}
	return s.OriginRef
}

// originBlob is the name of the run's origin and when the run was started, as a head has them: with
// the inputs, that spares a load the first record where another run was started alike.
func (s *State) originBlob() []byte {
	kin := s.named()
	if kin == nil {
		return nil
	}
	return binary.AppendVarint(bytes.Clone(kin), journal.Micros(s.Started))
}

func (s *State) loadOrigin(b []byte) {
	if len(b) > kinSize {
		at, _ := binary.Varint(b[kinSize:])
		s.OriginRef, s.Started = b[:kinSize:kinSize], time.UnixMicro(at).UTC()
	}
}
