package mutant

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"time"

	"github.com/spf13/pflag"

	"starling/cmd/starling/table"
	"starling/runtime"
)

// Flags say which mutants are tried, and how many of them must be noticed.
type Flags struct {
	On     bool
	Of     []string // the scripts that are changed; empty for those of the tests' folders
	sample int
	seed   uint64
	least  float64
}

// What one test may take, where the flags do not say it: a mutant that loops or grows is ended
// soon. Tests that need more fail before there is a mutant.
const (
	Steps  = 2_000_000
	Memory = "32MiB"
)

// Define makes the flags.
func (f *Flags) Define(flags *pflag.FlagSet) {
	flags.BoolVar(&f.On, "mutate", false,
		"change the scripts, one change at a time, and show which changes no test notices")
	flags.StringArrayVar(&f.Of, "of", nil, "change only the script `FILE`; may be repeated")
	flags.IntVar(&f.sample, "sample", 0, "try only `N` of the changes, drawn at random")
	flags.Uint64Var(&f.seed, "seed", 0, "draw the same as the run that printed the seed `N`")
	flags.Float64Var(&f.least, "least", 0, "exit with 11 if fewer than `PERCENT` are noticed")
}

// Check refuses flags that mean nothing together, and draws a seed where one is needed.
func (f *Flags) Check(flags *pflag.FlagSet, now time.Time) error {
	if !f.On {
		for _, name := range []string{"of", "sample", "seed", "least"} {
			if flags.Changed(name) {
				return usage("", "test: --%s is for --mutate", name)
			}
		}
		return nil
	}
	switch {
	case flags.Changed("sample") && f.sample < 1:
		return usage("", "test: --sample: got %d, want at least 1", f.sample)
	case flags.Changed("seed") && f.sample == 0:
		return usage("without --sample all changes are tried", "test: --seed is for --sample")
	case !(f.least >= 0 && f.least <= 100):
		return usage("", "test: --least: got %v, want 0 to 100", f.least)
	}
	if !flags.Changed("seed") && f.sample > 0 {
		f.seed = uint64(now.UnixNano() % 1_000_000)
	}
	return nil
}

func usage(help, format string, args ...any) *runtime.Refusal {
	return runtime.Refuse(runtime.ErrUsage, help, format, args...)
}

// Unless is what is said of tests that fail.
func (f *Flags) Unless() string {
	if !f.On {
		return ""
	}
	return "; mutants are tried once all pass"
}

// Draw leaves all mutants out but those of the sample, and counts the rest.
func (f *Flags) Draw(targets []*Target) (n int) {
	for _, t := range targets {
		n += len(t.trials)
	}
	if f.sample == 0 || f.sample >= n {
		return n
	}
	chosen := make([]bool, n)
	for _, i := range rand.New(rand.NewPCG(f.seed, 0)).Perm(n)[:f.sample] {
		chosen[i] = true
	}
	for _, t := range targets {
		mine := chosen[:len(t.trials)]
		chosen = chosen[len(t.trials):]
		t.drawn = slices.Contains(mine, false)
		var kept []*trial
		for i, trial := range t.trials {
			if mine[i] {
				kept = append(kept, trial)
			}
		}
		t.trials = kept
	}
	return f.sample
}

// Plan says what is going to be done with n mutants.
func (f *Flags) Plan(n int, targets []*Target) string {
	var names []string
	for _, t := range targets {
		names = append(names, t.name)
	}
	said := fmt.Sprintf("trying %s of %s", table.Counted(n, "mutant"), strings.Join(names, ", "))
	if f.sample > 0 {
		said += fmt.Sprintf(", drawn with --seed %d", f.seed)
	}
	return said
}
