package lang_test

import (
	"errors"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"starling/lang"
	"starling/lang/check"
	"starling/lang/diagnostic"
	"starling/lang/effect"
	"starling/lang/vm"
	"starling/stdlib"
)

var rewrite = flag.Bool("rewrite", false, "write what check says into testdata/check")

// The files in testdata/check are what scripts are wrong in and what is said about it. A file is a
// list of cases, each ended by a line of dashes:
//
//	# The first line says what the case shows.
//	def main(): …
//	### file lib/x.star            begins a further file of the case
//	### agents a b:none,live,own   the agents that there are, how each backend of one is steered, and whether it has tools of its own
//	### tools x y                  the tool servers that there are
//	#= main.star:1:1: … [kind]     what check says, word for word, and the stable word for it
//
// The cases of run.star are run, whatever check says, and what they say is how that ends. An agent
// fails there, and so does http; any other effect gives None. A case without #= lines is one about
// which there is nothing to say. `go test ./lang -rewrite` writes the #= lines anew; read the
// difference.
func TestCheckGolden(t *testing.T) {
	paths, err := filepath.Glob("../testdata/check/*.star")
	if err != nil || len(paths) == 0 {
		t.Fatalf("no files in testdata/check (%v)", err)
	}
	cases := 0
	for _, path := range paths {
		text, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		var out []string
		for chunk := range strings.SplitSeq(strings.TrimSuffix(string(text), "---\n"), "---\n") {
			cases++
			c := parseCase(chunk)
			c.runs = filepath.Base(path) == runCases
			c.whole = slices.Contains(wholeCases, filepath.Base(path))
			title, _, _ := strings.Cut(chunk, "\n")
			t.Run(filepath.Base(path)+"/"+strings.TrimPrefix(title, "# "), func(t *testing.T) {
				if got := c.check(); got != c.want && !*rewrite {
					t.Errorf("got\n%swant\n%s", got, c.want)
				}
			})
			out = append(out, c.format())
		}
		if *rewrite {
			if err := os.WriteFile(path, []byte(strings.Join(out, "---\n")+"---\n"), 0o644); err != nil {
				t.Fatal(err)
			}
		}
	}
	const least = 60
	if cases < least {
		t.Errorf("testdata/check has %d cases, want at least %d", cases, least)
	}
}

// runCases is the file whose cases are run.
const runCases = "run.star"

// wholeCases are the files whose cases have the whole library.
var wholeCases = []string{"bounds.star", "calls.star", "children.star", "newcomer.star", "newcomer_more.star", "orchestration.star", "pipelines.star", "schedules.star", "stranger.star", "stranger_correct.star", "turning.star", "types.star", "unset.star"}

// goldenCase is one case of a file.
type goldenCase struct {
	source string // all of it but the #= lines
	files  files
	want   string
	known  check.Project
	runs   bool // it is run as well
	whole  bool // it has the whole library
}

func parseCase(chunk string) goldenCase {
	c := goldenCase{files: files{}}
	name := "main.star"
	for line := range strings.Lines(chunk) {
		if want, ok := strings.CutPrefix(line, "#="); ok {
			c.want += strings.TrimPrefix(want, " ")
			continue
		}
		c.source += line
		if names, ok := strings.CutPrefix(line, "### agents "); ok {
			for _, name := range strings.Fields(names) {
				name, steers, _ := strings.Cut(name, ":")
				a := check.Agent{Name: name, Own: strings.HasSuffix(steers, "own")}
				for _, s := range strings.Split(strings.TrimSuffix(steers, "own"), ",") {
					if s != "" {
						a.Steers = append(a.Steers, effect.Steering(s))
					}
				}
				c.known.Agents = append(c.known.Agents, a)
			}
		}
		if names, ok := strings.CutPrefix(line, "### tools "); ok {
			c.known.Tools = strings.Fields(names)
		}
		if file, ok := strings.CutPrefix(line, "### file "); ok {
			name = strings.TrimSpace(file)
			c.files[name] = ""
			continue
		}
		c.files[name] += line
	}
	return c
}

func (c goldenCase) check() string {
	std := standard.read
	if c.whole {
		std = library
	}
	b, err := lang.Read("main.star", c.files.read, std)
	var list diagnostic.List
	if !errors.As(err, &list) {
		list = lang.Check(b, c.environment(), c.known)
	}
	if c.runs {
		list = execute(b)
	}
	out := ""
	for _, d := range list {
		headline, rest, _ := strings.Cut(d.Render(), "\n")
		if d.Kind != "" {
			headline += " [" + d.Kind + "]"
		}
		out += headline + "\n" + rest
	}
	return out
}

// library is the embedded library, and what standard has beside it.
func library(name string) ([]byte, error) {
	if text, err := stdlib.Library(name); err == nil {
		return text, nil
	}
	return standard.read(name)
}

// environment is one in which a case can be checked, or run.
func (c goldenCase) environment() *effect.Environment {
	if c.runs || c.whole {
		return specEnvironment()
	}
	return environment()
}

// execute runs a bundle and explains how it fails, nil if it does not.
func execute(b *lang.Bundle) diagnostic.List {
	stop, err := finish(b, specEnvironment())
	if failed := (*vm.Error)(nil); errors.As(err, &failed) {
		return lang.Explain(failed.Effect(), b.Files())
	}
	if err != nil || stop.Err == nil {
		return diagnostic.List{{Message: fmt.Sprintf("it does not fail as a script does: %v", err)}}
	}
	return lang.Explain(stop.Err, b.Files())
}

// finish runs a bundle to its end, answering every request.
func finish(b *lang.Bundle, env *effect.Environment) (vm.Stop, error) {
	p, err := lang.Compile(b, env)
	if err != nil {
		return vm.Stop{}, err
	}
	image, err := vm.Load(p.Modules, env)
	if err != nil {
		return vm.Stop{}, err
	}
	m, err := image.Start(nil)
	if err != nil {
		return vm.Stop{}, err
	}
	for {
		stop := m.Run(func(*effect.Request) effect.Outcome { return effect.Outcome{} })
		if stop.Status == vm.Done || stop.Status == vm.Failed {
			return stop, nil
		}
		for _, e := range stop.Emissions {
			if e.Kind == vm.Requested {
				m.Settle(e.Step, outcome(e.Request))
			}
		}
	}
}

// outcome is what becomes of a request in the cases that run.
func outcome(r *effect.Request) effect.Outcome {
	switch r.Kind {
	case "agent":
		return effect.Outcome{Err: effect.Errorf(effect.KindAgent, "%s: no answer", r.Step)}
	case "http":
		return effect.Outcome{Err: effect.Errorf(effect.KindEffect, "connection refused")}
	}
	return effect.Outcome{}
}

func (c goldenCase) format() string {
	out := c.source
	for line := range strings.Lines(c.check()) {
		out += strings.TrimRight("#= "+line, " \n") + "\n"
	}
	return out
}
