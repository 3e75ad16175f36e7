package gallery_test

import (
	"fmt"
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"starling/cmd/starling/suite"
	"starling/lang"
	"starling/lang/check"
	"starling/lang/effect"
	"starling/lang/format"
	"starling/lang/vm"
	"starling/scripts/gallery"
	"starling/stdlib"
)

func examples(t *testing.T) []gallery.Example {
	t.Helper()
	all, err := gallery.Examples()
	if err != nil {
		t.Fatal(err)
	}
	return all
}

// TestGallery checks every example and its layout, and plays its tests, in files of another name:
// they are *_test.star with the script that each is for.
func TestGallery(t *testing.T) {
	for _, e := range examples(t) {
		for _, e := range []gallery.Example{e, e.As("mine")} {
			t.Run(e.Name, func(t *testing.T) {
				t.Parallel()
				files := map[string][]byte{e.Name + ".star": []byte(e.Script), e.Name + "_test.star": []byte(e.Test)}
				for name, text := range files {
					if laid, err := format.Source(name, text); err != nil || string(laid) != string(text) {
						t.Errorf("%s is not laid out as starling fmt does: %v", name, err)
					}
				}
				source := func(name string) ([]byte, error) {
					if text, ok := files[name]; ok {
						return text, nil
					}
					return nil, fmt.Errorf("there is no %s", name)
				}
				checkScript(t, e.Name+".star", source)
				if e.Name == "mine" {
					playTests(t, "mine_test.star", source)
				}
			})
		}
	}
}

// checkScript finds nothing, not even something to warn of.
func checkScript(t *testing.T, name string, source lang.Source) {
	bundle, err := lang.Read(name, source, stdlib.Library)
	if err != nil {
		t.Fatal(err)
	}
	env := stdlib.Environment(stdlib.Options{Natives: vm.Natives()})
	if found := lang.Check(bundle, env, check.Project{}); len(found) > 0 {
		t.Error(found.Render())
	}
	program, err := lang.Compile(bundle, env)
	if err != nil {
		t.Fatal(err)
	}
	if program.Inputs == nil {
		t.Errorf("%s has no contract of its inputs", name)
	}
}

// playTests plays the tests of an example: there are three at least, and the power fails in one.
func playTests(t *testing.T, name string, source lang.Source) {
	env := stdlib.Environment(stdlib.Options{Natives: vm.Natives(), Tests: true})
	accept := func(b *lang.Bundle) error { return lang.Check(b, env, check.Project{}).Err() }
	f, err := suite.Read(name, source, stdlib.Library, accept)
	if err != nil {
		t.Fatal(err)
	}
	crashes := 0
	for _, test := range f.Tests {
		r, err := f.Run(t.Context(), test, suite.Options{Settings: effect.Settings{}, Bounds: suite.Bounds{Time: time.Minute, Steps: 10_000_000, Memory: 128 << 20}})
		if err != nil {
			t.Fatal(err)
		}
		if !r.Passed {
			t.Errorf("%s: %s", test.Name, r.Findings.Render())
		}
		crashes += r.Crashes
	}
	if len(f.Tests) < 3 || crashes == 0 {
		t.Errorf("%s has %d tests and %d crashes, want 3 and 1 at least", name, len(f.Tests), crashes)
	}
}

// What a script says of itself fits a line of a list, it says how it is run, and it is short.
func TestExamplesSayWhatTheyAre(t *testing.T) {
	all := examples(t)
	if len(all) < 20 {
		t.Errorf("there are %d examples, want 20 at least", len(all))
	}
	for _, e := range all {
		if lines := strings.Count(e.Script, "\n"); lines < 30 || lines > 80 {
			t.Errorf("%s has %d lines, want 30 to 80", e.Name, lines)
		}
		runs := func(line string) bool { return strings.HasPrefix(line, "starling run "+e.Name+".star") }
		if !slices.ContainsFunc(e.Runs(), runs) {
			t.Errorf("%s does not say how it is run, but %q", e.Name, e.Runs())
		}
		if strings.Count(e.Summary, ". ")+1 > 3 || !regexp.MustCompile(`^[A-Z].*\.$`).MatchString(e.Summary) {
			t.Errorf("%s does not say in a sentence or two what it does, but %q", e.Name, e.Summary)
		}
	}
}

// The page of the gallery has every example, as it says of itself.
func TestThePageListsTheGallery(t *testing.T) {
	page, err := os.ReadFile("../../docs/gallery.md")
	if err != nil {
		t.Fatal(err)
	}
	var want strings.Builder
	for _, e := range examples(t) {
		title, what, _ := strings.Cut(e.Summary, ": ")
		fmt.Fprintf(&want, "| [%s](../scripts/gallery/%s.star) | %s: %s |\n", e.Name, e.Name, title, what)
	}
	if !strings.Contains(string(page), want.String()) {
		t.Errorf("docs/gallery.md does not list the gallery; it says of itself:\n%s", want.String())
	}
}
