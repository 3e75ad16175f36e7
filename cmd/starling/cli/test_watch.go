package cli

import (
	"bufio"
	"context"
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"starling/cmd/starling/snapshot"
	"starling/cmd/starling/suite"
	"starling/cmd/starling/table"
	"starling/cmd/starling/verdict"
	"starling/cmd/starling/watch"
)

// openSnapshots reads what a file of tests has kept. Where CI is set nobody reviews what is new, so
// it is an error.
func (v *testVerb) openSnapshots(file *testFile) (err error) {
	mode := snapshot.Add
	if ci, _ := v.call.getenv("CI"); v.update {
		mode = snapshot.Update
	} else if ci != "" {
		mode = snapshot.Compare
	}
	tests := filepath.Join(file.root, filepath.FromSlash(file.name))
	if file.reach != nil {
		file.reach.Saw(snapshot.Beside(tests))
	}
	file.snapshots, err = snapshot.Read(tests, mode)
	return err
}

func (file *testFile) closeSnapshots() (err error) {
	file.written, err = file.snapshots.Conclude(file.played)
	if file.reach != nil && len(file.written.Added)+len(file.written.Updated)+len(file.written.Removed) > 0 {
		file.reach.Wrote(snapshot.Beside(filepath.Join(file.root, filepath.FromSlash(file.name))))
	}
	return err
}

// played tells whether a test has come to its end, so that it would have taken its snapshots; so
// has one that there is no more.
func (file *testFile) played(test string) bool {
	if !slices.ContainsFunc(file.suite.Tests, func(t suite.Test) bool { return t.Name == test }) {
		return true
	}
	whole := false
	for _, r := range file.results {
		if r.Name == test {
			if !r.Passed {
				return false
			}
			whole = true
		}
	}
	return whole
}

// testWatching plays tests again and again. At a terminal it begins with an empty screen each time,
// and the enter key has all of them played.
func (v *testVerb) testWatching(cmd *cobra.Command, operands []string) error {
	switch {
	case v.mutate.On || v.cover.wanted() || v.junit != "":
		return usage("", "test: --watch goes without --mutate, --junit and coverage")
	case v.call.json:
		return usage("without --watch there is one document", "test: --watch and --json exclude each other")
	}
	if err := v.read(); err != nil {
		return err
	}
	w := &watched{testVerb: v, again: make(chan struct{}), drawn: v.call.paper().Terminal()}
	if ci, _ := v.call.getenv("CI"); ci != "" {
		w.drawn = false
	}
	if w.drawn {
		go w.keys()
	}
	return watch.Loop(cmd.Context(), watch.Host{
		List: func() ([]string, error) { return testFiles(operands) },
		Play: w.play, Rest: w.rest, Wait: w.wait,
	})
}

// watched is a call of test that goes on.
type watched struct {
	*testVerb
	again chan struct{}
	drawn bool // on an empty screen each time
}

func (w *watched) keys() {
	for in := bufio.NewScanner(w.call.stdin); in.Scan(); {
		w.again <- struct{}{}
	}
}

func (w *watched) play(ctx context.Context, plays []*watch.Play, changed []string) error {
	w.pace.Again()
	files := make([]*testFile, len(plays))
	for i, p := range plays {
		files[i] = &testFile{path: p.Path, name: filepath.ToSlash(p.Path), reach: p.Reach}
		p.Reach.Saw(absolutely(p.Path))
		if w.call.place.Project != "" {
			p.Reach.Saw(absolutely(w.call.place.Project))
		}
	}
	w.begin(changed)
	settings, err := w.call.settings(w.call.place.Project, "")
	if err != nil {
		w.call.complain(verdict.Refusal(err), err)
		return nil
	}
	w.playAll(ctx, files, settings)
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	for i, f := range files {
		plays[i].Passed = f.fault == nil && len(f.wrong) == 0 && !slices.ContainsFunc(f.results, func(r *suite.Result) bool { return !r.Passed })
	}
	if err := w.call.answerTest(files, w.testVerb); err != nil {
		w.call.complain(verdict.Refusal(err), err)
	}
	w.call.code = 0 // how it ends is how it is ended
	return nil
}

// begin tells why tests are played.
func (w *watched) begin(changed []string) {
	if w.drawn {
		fmt.Fprint(w.call.stdout.Raw(), "\x1b[H\x1b[2J\x1b[3J")
	}
	if len(changed) == 0 {
		return
	}
	for i, path := range changed {
		if short, err := filepath.Rel(w.call.place.Work, path); err == nil && !strings.HasPrefix(short, "..") {
			changed[i] = short
		}
	}
	w.call.print("changed: %s", strings.Join(changed, ", "))
}

func (w *watched) rest(plays []*watch.Play, wrong error) {
	if wrong != nil {
		w.call.complain(verdict.Refusal(wrong), wrong)
	}
	var failing []string
	for _, p := range plays {
		if !p.Passed {
			failing = append(failing, filepath.ToSlash(p.Path))
		}
	}
	text := "watching " + table.Counted(len(plays), "file") + " of tests"
	if len(failing) > 0 {
		text += "; wrong: " + strings.Join(failing, ", ")
	}
	if w.drawn {
		text += "; enter plays all, ctrl-c leaves"
	}
	w.call.notice("%s", text)
}

func (w *watched) wait(ctx context.Context, d time.Duration) (again bool, _ error) {
	select {
	case <-ctx.Done():
		return false, context.Cause(ctx)
	case <-w.again:
		return true, nil
	case <-time.After(d):
		return false, nil
	}
}

// absolutely is a path from the root on.
func absolutely(path string) string {
	if whole, err := filepath.Abs(path); err == nil {
		return whole
	}
	return path
}
