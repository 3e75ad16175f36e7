package cli

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/spf13/cobra"

	"starling/cmd/starling/mutant"
	"starling/cmd/starling/pace"
	"starling/cmd/starling/snapshot"
	"starling/cmd/starling/sources"
	"starling/cmd/starling/suite"
	"starling/cmd/starling/watch"
	"starling/lang/diagnostic"
	"starling/lang/effect"
	"starling/runtime"
	"starling/stdlib"
)

// testVerb runs tests.
type testVerb struct {
	call *call

	run     string
	verbose bool
	pace    pace.Pace
	junit   string
	timeout string
	steps   int64
	memory  string
	cover   coverFlags
	mutate  mutant.Flags
	update  bool // of snapshots
	watch   bool
	strays  []string // files of snapshots whose tests are gone

	pattern *regexp.Regexp
	bounds  suite.Bounds
}

// testCommand is the verb test. It needs no store and touches none.
func testCommand(c *call) *cobra.Command {
	v := &testVerb{call: c}
	cmd := &cobra.Command{
		Use:     "test [FILE_test.star|FOLDER]...",
		Short:   "Run the tests of scripts",
		GroupID: "scripts",
		Long: `Run the functions test_… of files whose names end with _test.star: those that are named, and those below the folders that are, by default the current one.

A test may do what a script may. Agents are functions of its file, people answer as answer() has said, HTTP servers as respond() has, and time
is a clock that moves when nothing else can. A test that takes too long, or too much, is ended, and the others go on. Nothing reaches the network or the agents of the project. "starling doc assert" and "starling doc answer" say more.

What assert.snapshot is given lies in NAME_test.snap beside the test. What is new there is kept, but not where CI is set; with --update all that differs is, and what no test takes any more is removed.
A file of snapshots whose tests are gone is told, and left.
With --watch the tests go on being played: those that have read a file that has changed, until the command is interrupted.

What the tests reach of the scripts --cover shows, and what they would miss --mutate: it changes the scripts, one change at a time, and
plays the tests that reach the change.`,
		Example: "  starling test\n  starling test scripts/review_test.star --run 'reject|timeout' -v\n  starling test --mutate scripts/review_test.star --least 90",
		Args:    operands(0, -1),
		RunE: func(cmd *cobra.Command, args []string) error {
			if err := v.checkMutate(cmd.Flags()); err != nil {
				return err
			}
			v.call.heap.AllowMuch()
			if v.watch {
				return v.testWatching(cmd, args)
			}
			return v.test(cmd.Context(), args)
		},
	}
	f := cmd.Flags()
	f.StringVar(&v.run, "run", "", "only tests whose name `REGEXP` matches")
	f.BoolVarP(&v.verbose, "verbose", "v", false, "show each test, and what it prints")
	f.BoolVar(&v.update, "update", false, "keep what differs from the snapshots, and remove those that no test takes")
	f.BoolVar(&v.watch, "watch", false, "play again what has read a file that has changed")
	v.pace.Define(f)
	f.StringVar(&v.junit, "junit", "", "write a report in JUnit's XML to `FILE`")
	f.StringVar(&v.timeout, "timeout", "1m", "the real time that one test may take, `DURATION`")
	f.Int64Var(&v.steps, "steps", 100_000_000, "the `STEPS` that one test may take between two outcomes of its calls")
	f.StringVar(&v.memory, "memory", "128MiB",
		"what one test may hold, `SIZE` as 64MiB or bytes; what it writes down may take a quarter")
	f.BoolVar(&v.cover.table, "cover", false, "show how many lines and branches the tests reach")
	f.BoolVar(&v.cover.lines, "cover-lines", false, "show the lines and branches that no test reaches")
	f.StringVar(&v.cover.lcov, "lcov", "", "write what the tests reach to `FILE`, as lcov does")
	v.mutate.Define(f)
	c.jsonFlag(cmd)
	return cmd
}

// test finds, runs and reports. Each file is played on its own, several at a time.
func (v *testVerb) test(ctx context.Context, operands []string) (err error) {
	if err := v.read(); err != nil {
		return err
	}
	paths, err := testFiles(operands)
	if err != nil {
		return err
	}
	v.strays = strays(operands)
	settings, err := v.call.settings(v.call.place.Project, "")
	if err != nil {
		return err
	}
	files := newTestFiles(paths)
	v.playAll(ctx, files, settings)
	if err := ctx.Err(); err != nil {
		return context.Cause(ctx)
	}
	if v.mutate.On && green(files) {
		return v.testMutate(ctx, files, settings)
	}
	return v.call.answerTest(files, v)
}

// read reads the flags: which tests are meant, and what one of them may take.
func (v *testVerb) read() (err error) {
	if v.pattern, err = regexp.Compile(v.run); err != nil {
		return usage("", "test: --run: %v", err)
	}
	if v.bounds.Time, err = parseLasting("--timeout", v.timeout); err != nil {
		return err
	}
	if v.bounds.Steps = v.steps; v.steps < 1 {
		return usage("", "--steps: got %d, want at least 1", v.steps)
	}
	if v.bounds.Memory, err = parseSize("--memory", v.memory); err != nil {
		return err
	}
	if ci, _ := v.call.getenv("CI"); v.update && ci != "" {
		return usage("update them where you review what has changed, commit them, and have CI compare; CI= starling test --update writes them all the same",
			"test: --update writes snapshots, and nothing is written where CI is set (CI=%s)", ci)
	}
	return v.pace.Check(v.call.getenv)
}

// testFile is what became of one file.
type testFile struct {
	path     string // as it was named, or found
	name     string
	root     string          // the folder that names are relative to
	suite    *suite.File     // nil if it could not be read
	wrong    diagnostic.List // why it could not be read
	results  []*suite.Result
	took     time.Duration
	fault    error             // of the play itself
	unplayed int               // tests that --run leaves out
	coverage []*suite.Coverage // of each result; empty unless it is wanted
	reach    *watch.Reach      // what it has read; nil unless it is watched

	snapshots *snapshot.File
	written   snapshot.Written
}

func newTestFiles(paths []string) []*testFile {
	files := make([]*testFile, len(paths))
	for i, path := range paths {
		files[i] = &testFile{path: path, name: filepath.ToSlash(path)}
	}
	return files
}

// playAll plays all files, as many at a time as --parallel says.
func (v *testVerb) playAll(ctx context.Context, files []*testFile, settings *effect.Settings) {
	seats := make(chan struct{}, v.pace.Parallel)
	var all sync.WaitGroup
	for _, file := range files {
		seats <- struct{}{}
		all.Go(func() {
			defer func() { <-seats }()
			if !v.pace.Over() {
				v.playFile(ctx, file, settings)
			}
		})
	}
	all.Wait()
}

func (v *testVerb) playFile(ctx context.Context, file *testFile, settings *effect.Settings) {
	began := time.Now()
	defer func() { file.took = time.Since(began) }()
	f, root, err := v.readTests(file.path, file.reach)
	var wrong diagnostic.List
	if errors.As(err, &wrong) {
		file.wrong = wrong
		return
	}
	if file.fault = err; err != nil {
		return
	}
	file.name, file.root, file.suite = f.Name, root, f
	if file.fault = v.openSnapshots(file); file.fault != nil {
		return
	}
	for _, t := range f.Tests {
		if !v.pattern.MatchString(t.Name) {
			file.unplayed++
			continue
		}
		for range v.pace.Count {
			if file.fault = v.playTest(ctx, f, t, file, settings); file.fault != nil {
				return
			}
		}
	}
	file.fault = file.closeSnapshots()
}

// playTest plays one test once, unless one has failed and that is enough.
func (v *testVerb) playTest(ctx context.Context, f *suite.File, t suite.Test, file *testFile, settings *effect.Settings) error {
	if v.pace.Over() {
		return nil
	}
	o := suite.Options{Settings: *settings, Bounds: v.bounds, Snapshot: file.snapshots.Take}
	if v.counts() {
		o.Coverage = new(suite.Coverage)
		file.coverage = append(file.coverage, o.Coverage)
	}
	result, err := f.Run(ctx, t, o)
	if err != nil {
		return err
	}
	v.pace.Saw(result.Passed)
	file.results = append(file.results, result)
	return nil
}

// counts tells whether somebody needs to know what tests reach.
func (v *testVerb) counts() bool { return v.cover.wanted() || v.mutate.On }

// readTests reads a file of tests with all that it needs, which reach is told of, and says which
// folder names are relative to.
func (v *testVerb) readTests(path string, reach *watch.Reach) (f *suite.File, folder string, err error) {
	entry, root, err := v.call.rooted(path)
	if err != nil {
		return nil, "", err
	}
	defer root.Close()
	files := sources.Of(root)
	if reach != nil {
		files = reach.Source(root.Name(), files)
	}
	f, err = suite.Read(entry, files, stdlib.Library, v.call.accept)
	return f, root.Name(), err
}

// testFiles lists the files that are meant, in the order in which they are named, and each once.
func testFiles(operands []string) ([]string, error) {
	if len(operands) == 0 {
		operands = []string{"."}
	}
	var found []string
	known := map[string]bool{}
	for _, operand := range operands {
		paths, err := testsBelow(operand)
		if err != nil {
			return nil, err
		}
		for _, path := range paths {
			if !known[path] {
				known[path], found = true, append(found, path)
			}
		}
	}
	return found, nil
}

// strays lists the files of snapshots, below the folders that are meant, whose tests are gone. What
// cannot be looked at is no reason to play nothing.
func strays(operands []string) (found []string) {
	if len(operands) == 0 {
		operands = []string{"."}
	}
	for _, operand := range operands {
		if info, err := os.Stat(operand); err != nil || !info.IsDir() {
			continue
		}
		kept, _ := sources.Ending(operand, snapshot.Suffix)
		for _, path := range kept {
			if snapshot.Stray(path) && !slices.Contains(found, path) {
				found = append(found, path)
			}
		}
	}
	return found
}

func testsBelow(operand string) ([]string, error) {
	info, err := os.Stat(operand)
	switch {
	case err != nil:
		return nil, usage("", "test: cannot read %s: %v", operand, runtime.Reason(err))
	case !info.IsDir() && !strings.HasSuffix(operand, suite.Suffix):
		return nil, usage("the names of test files end with "+suite.Suffix, "test: %s is not a test file", operand)
	case !info.IsDir():
		return []string{filepath.Clean(operand)}, nil
	}
	all, err := sources.Below(operand)
	if err != nil {
		return nil, err
	}
	var tests []string
	for _, path := range all {
		if strings.HasSuffix(path, suite.Suffix) {
			tests = append(tests, path)
		}
	}
	if len(tests) == 0 {
		return nil, usage("write functions test_… in a file whose name ends with "+suite.Suffix, "test: there is no test file in %s", operand)
	}
	return tests, nil
}
