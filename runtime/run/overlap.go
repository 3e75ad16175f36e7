package run

import (
	"cmp"
	"slices"
	"strings"

	"starling/lang/effect"
	"starling/runtime/journal"
)

// Agents in different branches of one parallel that may change the same files are kept apart: from
// its request until its outcome, a step claims the paths that it may change. The later one is
// refused, or waits for the earlier ones, as the call of parallel that parts them says. Both follow
// from the records, in their order.

// rival finds the oldest open step that claims what a step may change too, in another branch of the
// same parallel; and what that parallel says of it.
func (s *State) rival(to *Step) (other *Step, mode string) {
	for _, st := range s.changing {
		if st.Seq >= to.Seq {
			return nil, ""
		}
		branch, ok := parted(journal.BranchOf(to.Step), journal.BranchOf(st.Step))
		if !ok {
			continue
		}
		if _, _, ok := effect.Overlapping(to.Changes, st.Changes); !ok {
			continue
		}
		if mode := overlapMode(to.Overlaps, branch); mode != effect.OverlapAllow {
			return st, mode
		}
	}
	return nil, ""
}

// parted gives the part of a branch's path up to where another leaves it. Where one is below the
// other, there is none: no parallel parts them.
func parted(branch, other string) (string, bool) {
	for i := 0; ; {
		a, _, more := strings.Cut(branch[i:], "/")
		b, _, otherMore := strings.Cut(other[min(i, len(other)):], "/")
		switch {
		case a != b:
			return branch[:i+len(a)], a != "" && b != ""
		case !more || !otherMore:
			return "", false
		}
		i += len(a) + 1
	}
}

// overlapMode is what the parallel says of which branch is one.
func overlapMode(list []effect.Overlap, branch string) string {
	for _, o := range list {
		if o.Branch == branch {
			return o.Mode
		}
	}
	return effect.OverlapRefuse
}

// overlaps refuses a request that may change what an agent in another branch may be changing.
func (s *State) overlaps(r *effect.Request) *effect.Error {
	if len(r.Changes) == 0 || s.Reused[r.Step] != nil {
		return nil
	}
	other, mode := s.rival(&Step{asked: askedOf(r), Seq: s.Seq + 1})
	if mode != effect.OverlapRefuse {
		return nil
	}
	mine, its, _ := effect.Overlapping(r.Changes, other.Changes)
	args, _ := r.Args.View()
	theirs, _ := other.Args.View()
	return effect.Errorf(effect.KindRefused, "the agents %q (%s) and %q (%s, at work at %s) may change the same files in two branches of one parallel; "+
		"say with owns what each changes, or let one wait: parallel(…, overlap = \"serialize\")", journal.AgentName(args), shownClaim(mine), journal.AgentName(theirs), shownClaim(its), other.Step)
}

func shownClaim(pattern string) string {
	if pattern == effect.Everything {
		return "anything"
	}
	return pattern
}

// claim notes what an open step may change.
func (s *State) claim(st *Step) {
	if len(st.Changes) == 0 || st.Refused != nil || st.Reused != nil {
		return
	}
	i, _ := slices.BinarySearchFunc(s.changing, st, func(a, b *Step) int { return cmp.Compare(a.Seq, b.Seq) })
	s.changing = slices.Insert(s.changing, i, st)
}

// disclaim drops what a step claimed, and lets those go on that waited for it.
func (s *State) disclaim(st *Step) {
	i := slices.Index(s.changing, st)
	if i < 0 {
		return
	}
	s.changing = slices.Delete(s.changing, i, i+1)
	for _, next := range s.changing[i:] {
		if !next.Behind {
			continue
		}
		if other, _ := s.rival(next); other == nil {
			next.Behind = false
			s.want(next, true)
		}
	}
}

func overlapsPayload(list []effect.Overlap) effect.Payload {
	var b effect.Object
	for _, o := range list {
		b.Text(o.Branch, o.Mode)
	}
	return b.Payload()
}

func overlapsOf(v effect.View) []effect.Overlap {
	if v.Empty() {
		return nil
	}
	var list []effect.Overlap
	v.Each(func(branch string, _ effect.View) {
		list = append(list, effect.Overlap{Branch: branch, Mode: v.Text(branch)})
	})
	return list
}
