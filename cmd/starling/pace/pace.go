// Package pace is how the verb test plays tests, and in which form it tells of them: how often, how
// many files at a time, until when.
package pace

import (
	goruntime "runtime"
	"sync/atomic"

	"github.com/spf13/pflag"

	"starling/cmd/starling/annotation"
	"starling/lang/diagnostic"
	"starling/runtime"
)

// text is the form without annotations.
const text = "text"

// Pace is set by flags. Its methods may be called concurrently once it is checked.
type Pace struct {
	Count    int // how often each test is played
	Parallel int // how many files at a time

	failfast bool
	format   string

	failed atomic.Bool
}

// Define makes the flags.
func (p *Pace) Define(f *pflag.FlagSet) {
	f.BoolVar(&p.failfast, "failfast", false, "begin no further test once one has failed")
	f.IntVar(&p.Count, "count", 1, "play each test `N` times")
	f.IntVar(&p.Parallel, "parallel", goruntime.GOMAXPROCS(0), "play `N` files at a time")
	f.StringVar(&p.format, "format", "", "add annotations of `FORM`: github, which is the default in its actions, or text for none")
}

// Check refuses flags that mean nothing. On a runner of GitHub annotations are the default.
func (p *Pace) Check(getenv func(string) (string, bool)) error {
	switch {
	case p.Count < 1:
		return runtime.Refusef(runtime.ErrUsage, "test: --count: got %d, want at least 1", p.Count)
	case p.Parallel < 1:
		return runtime.Refusef(runtime.ErrUsage, "test: --parallel: got %d, want at least 1", p.Parallel)
	case p.format != "" && p.format != annotation.GitHub && p.format != text:
		return runtime.Refuse(runtime.ErrUsage, diagnostic.Meant(p.format, []string{annotation.GitHub, text}), "test: --format: got %q, want github or text", p.format)
	}
	if in, _ := getenv("GITHUB_ACTIONS"); in == "true" && p.format == "" {
		p.format = annotation.GitHub
	}
	return nil
}

// Over tells whether no further test is to begin.
func (p *Pace) Over() bool { return p.failfast && p.failed.Load() }

// Again forgets what has failed: the tests are played once more.
func (p *Pace) Again() { p.failed.Store(false) }

// Saw is told of each test.
func (p *Pace) Saw(passed bool) {
	if !passed {
		p.failed.Store(true)
	}
}

// Annotates tells whether lines are marked for who shows them beside the source.
func (p *Pace) Annotates() bool { return p.format == annotation.GitHub }
