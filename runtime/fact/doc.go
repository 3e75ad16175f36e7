// Package fact keeps what runs can be found by: a fold of a run's journal to [runtime.Facts], and
// the rows of a store that follow from it; and, as a [Bill], what its agents have taken.
//
//	F/RUN                              the facts of a run, and how far its journal was folded; none while its first record says them all
//	e/f length2 TERM micros8 RUN       a run that a term finds, the newest first: its start is counted down
//	C/RUN/!STEP, C/RUN/=HASH           what agents have taken: an attempt in flight, and the sum of those that have ended
//
// Terms begin with their length, so that none of them is the beginning of another. The rows are
// written with the commits that they follow from, and can be made again from the journal. What is
// found is a candidate: whoever asked holds it against the facts.
package fact
