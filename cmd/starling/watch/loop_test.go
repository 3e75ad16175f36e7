package watch

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"
)

// desk is a folder with tests, whose files name what they read, and what happens at each look.
type desk struct {
	t     *testing.T
	dir   string
	steps []func() (again bool)
	told  []string
	tick  time.Time
}

func (d *desk) write(name, text string) {
	path := filepath.Join(d.dir, name)
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		d.t.Fatal(err)
	}
	d.tick = d.tick.Add(time.Second) // a file system may count in seconds
	if err := os.Chtimes(path, d.tick, d.tick); err != nil {
		d.t.Fatal(err)
	}
}

var errOver = errors.New("over")

func (d *desk) run() []string {
	err := Loop(context.Background(), Host{
		List: func() ([]string, error) {
			found, _ := filepath.Glob(filepath.Join(d.dir, "*_test.star"))
			if len(found) == 0 {
				return nil, errors.New("no tests")
			}
			return found, nil
		},
		Play: func(_ context.Context, plays []*Play, changed []string) error {
			var names []string
			for _, p := range plays {
				source := p.Reach.Source(d.dir, func(name string) ([]byte, error) { return os.ReadFile(filepath.Join(d.dir, name)) })
				text, _ := source(filepath.Base(p.Path))
				p.Passed = true
				for name := range strings.FieldsSeq(string(text)) {
					_, err := source(name)
					p.Passed = p.Passed && err == nil
				}
				names = append(names, filepath.Base(p.Path))
			}
			line := "play " + strings.Join(names, " ")
			for _, c := range changed {
				line += " for " + filepath.Base(c)
			}
			d.told = append(d.told, line)
			return nil
		},
		Rest: func(plays []*Play, wrong error) {
			for _, p := range plays {
				if !p.Passed {
					d.told = append(d.told, "fails "+filepath.Base(p.Path))
				}
			}
			if wrong != nil {
				d.told = append(d.told, wrong.Error())
			}
		},
		Wait: func(context.Context, time.Duration) (bool, error) {
			if len(d.steps) == 0 {
				return false, errOver
			}
			step := d.steps[0]
			d.steps = d.steps[1:]
			return step(), nil
		},
	})
	if !errors.Is(err, errOver) {
		d.t.Fatalf("got %v, want the end of the test", err)
	}
	return d.told
}

func nothing() bool { return false }

func TestLoopPlaysWhatHasReadTheChange(t *testing.T) {
	d := &desk{t: t, dir: t.TempDir(), tick: time.Unix(1e9, 0)}
	change := func(name, text string) func() bool {
		return func() bool { d.write(name, text); return false }
	}
	d.write("lib.star", "")
	d.write("a_test.star", "lib.star")
	d.write("b_test.star", "")
	d.write("c_test.star", "new.star lib.star")
	d.steps = []func() bool{
		nothing,
		change("lib.star", "1"), nothing, // both that have read it
		change("new.star", ""), nothing, // what was missing
		change("b_test.star", "lib.star"), change("lib.star", "2"), nothing, // together
		change("other.star", ""), nothing, // nobody's
		change("d_test.star", ""), nothing,
		func() bool { os.Remove(filepath.Join(d.dir, "d_test.star")); return false }, nothing,
		func() bool { return true }, // all again
		func() bool {
			for _, name := range []string{"a", "b", "c"} {
				os.Remove(filepath.Join(d.dir, name+"_test.star"))
			}
			return false
		}, nothing,
		change("a_test.star", ""), nothing,
	}
	want := []string{
		"play a_test.star b_test.star c_test.star", "fails c_test.star",
		"play a_test.star c_test.star for lib.star", "fails c_test.star",
		"play c_test.star for new.star",
		"play a_test.star b_test.star c_test.star for b_test.star for lib.star",
		"play d_test.star",
		"play a_test.star b_test.star c_test.star",
		"no tests",
		"play a_test.star",
	}
	if got := d.run(); !slices.Equal(got, want) {
		t.Errorf("got\n  %s\nwant\n  %s", strings.Join(got, "\n  "), strings.Join(want, "\n  "))
	}
}

func TestWhatAPlayWritesIsNoChange(t *testing.T) {
	d := &desk{t: t, dir: t.TempDir(), tick: time.Unix(1e9, 0)}
	d.write("kept", "")
	path := filepath.Join(d.dir, "kept")
	r := new(Reach)
	r.Saw(path)
	d.write("kept", "more")
	p := &Play{Reach: r}
	seen := view{files: map[string]stamp{path: stampOf(path)}}
	if got := p.news(seen); len(got) != 1 {
		t.Errorf("got %v, want the file that has changed", got)
	}
	r.Wrote(path)
	if got := p.news(seen); len(got) != 0 {
		t.Errorf("got %v, want nothing: the play has written it", got)
	}
}
