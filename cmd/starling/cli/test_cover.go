package cli

import "starling/cmd/starling/coverage"

// coverFlags are the flags of test that say what is told of what the tests reach. Each asks for it.
type coverFlags struct {
	table bool
	lines bool
	lcov  string
}

func (f *coverFlags) wanted() bool { return f.table || f.lines || f.lcov != "" }

// coverageOf gathers what files of tests have reached.
func coverageOf(files []*testFile) []*coverage.File {
	played := make([]coverage.Played, len(files))
	for i, f := range files {
		played[i] = coverage.Played{Root: f.root, Suite: f.suite, Coverage: f.coverage}
	}
	return coverage.Gather(played)
}
