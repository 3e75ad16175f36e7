package lang_test

import (
	"errors"
	"flag"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"starling/lang"
	"starling/lang/diagnostic"
)

var rewrite = flag.Bool("rewrite", false, "write what check says into testdata/check")

// The files in testdata/check are what scripts are wrong in and what is said about it. A file is a list of cases, each ended by a line of dashes:
//
//	# The first line says what the case shows.
//	def main(): …
//	### file lib/x.star            begins a further file of the case
//	#= main.star:1:1: … [kind]     what check says, word for word, and the stable word for it
//
// A case without #= lines is one about which there is nothing to say. `go test ./lang -rewrite` writes the #= lines anew; read the difference.
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
	if cases < 60 {
		t.Errorf("testdata/check has %d cases, want at least 60", cases)
	}
}

// goldenCase is one case of a file.
type goldenCase struct {
	source string // all of it but the #= lines
	files  files
	want   string
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
	b, err := lang.Read("main.star", c.files.read, standard.read)
	var list diagnostic.List
	if !errors.As(err, &list) {
		list = lang.Check(b, environment())
	}
	out := ""
	for _, d := range list {
		headline, rest, _ := strings.Cut(d.Render(), "\n")
		out += headline + " [" + d.Kind + "]\n" + rest
	}
	return out
}

func (c goldenCase) format() string {
	out := c.source
	for line := range strings.Lines(c.check()) {
		out += strings.TrimRight("#= "+line, " \n") + "\n"
	}
	return out
}
