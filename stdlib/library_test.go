package stdlib_test

import (
	"fmt"
	"os"
	"path"
	"path/filepath"
	"strings"
	"testing"

	"go.starlark.net/starlark"

	"starling/lang"
	"starling/lang/effect"
	"starling/lang/vm"
	"starling/stdlib"
)

// Each file of the library has tests beside it, which `starling test stdlib` runs, or a script of
// its name in testdata/library.
func TestLibraryHasTests(t *testing.T) {
	for _, name := range stdlib.LibraryNames() {
		own := strings.TrimSuffix(path.Base(name), ".star") + "_test.star"
		_, beside := os.Stat(own)
		_, script := os.Stat(filepath.Join(transcripts, path.Base(name)))
		if beside != nil && script != nil {
			t.Errorf("%s has no test: write %s", name, own)
		}
	}
}

// transcripts has scripts that end with the transcript of what they print and sleep.
const transcripts = "../testdata/library"

// TestLibrary plays the scripts of testdata/library, all of them.
func TestLibrary(t *testing.T) {
	files, err := filepath.Glob(transcripts + "/*.star")
	if err != nil || len(files) == 0 {
		t.Fatalf("no files in %s (%v)", transcripts, err)
	}
	for _, file := range files {
		t.Run(filepath.Base(file), func(t *testing.T) {
			text, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			got, want := play(t, filepath.ToSlash(strings.TrimPrefix(file, "../")), text), transcriptOf(text)
			if len(want) == 0 || strings.Join(got, "\n") != strings.Join(want, "\n") {
				t.Errorf("got\n%s\nwant\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
			}
		})
	}
}

// transcriptOf is the transcript at the end of a script.
func transcriptOf(text []byte) (transcript []string) {
	for line := range strings.Lines(string(text)) {
		line, ok := strings.CutPrefix(line, "# ")
		if ok && (strings.HasPrefix(line, "print: ") || strings.HasPrefix(line, "sleep: ")) {
			transcript = append(transcript, strings.TrimSpace(line))
		}
	}
	return transcript
}

// play runs a script that prints and sleeps.
func play(t *testing.T, name string, text []byte) (transcript []string) {
	t.Helper()
	m := start(t, name, string(text))
	for {
		stop := m.Run(answerNow)
		for _, e := range stop.Emissions {
			args, _ := e.Request.Args.View()
			switch e.Request.Kind {
			case "print":
				transcript = append(transcript, "print: "+args.Text("text"))
			case "sleep":
				transcript = append(transcript, fmt.Sprintf("sleep: %s %s", e.Step, args.Text("duration")))
				m.Settle(e.Step, effect.Outcome{Value: effect.MustEncode(starlark.None)})
			default:
				t.Fatalf("the script asks for %s", e.Request.Kind)
			}
		}
		switch stop.Status {
		case vm.Failed:
			t.Fatal(stop.Err, stop.Err.Backtrace)
		case vm.Done:
			return transcript
		}
	}
}

func TestLibraryHasNoOtherFile(t *testing.T) {
	for name, hint := range map[string]string{
		"rerty.star": `did you mean "@std/retry.star"?`,
		"retires":    `did you mean "@std/retry.star"?`,
		"zzzzzzzz":   "there are " + strings.ReplaceAll(strings.Join(stdlib.LibraryNames(), ", "), stdlib.LibraryPrefix, ""),
		"../doc.go":  "@std/../doc.go",
	} {
		source := []byte("load(\"@std/" + name + "\", \"x\")\n")
		_, err := lang.Read("main.star", func(string) ([]byte, error) { return source, nil }, stdlib.Library)
		if err == nil || !strings.Contains(err.Error(), hint) {
			t.Errorf("%s: got %v, want %s", name, err, hint)
		}
	}
}

// S2-20: patterns are files that one reads and copies. They are short, and any script may say what
// they say: the library has no builtin of its own.
func TestLibraryIsAScriptLikeOthers(t *testing.T) {
	const longest = 800 // of 100 columns, as starling fmt lays them out
	for _, name := range stdlib.LibraryNames() {
		text, err := stdlib.Library(path.Base(name))
		if err != nil {
			t.Fatal(err)
		}
		if lines := strings.Count(string(text), "\n"); lines > longest {
			t.Errorf("%s has %d lines, want at most %d", name, lines, longest)
		}
		copied := func(file string) ([]byte, error) {
			if file != "copied.star" {
				return nil, os.ErrNotExist
			}
			return text, nil
		}
		b, err := lang.Read("copied.star", copied, stdlib.Library)
		if err == nil {
			_, err = lang.Compile(b, stdlib.Environment(stdlib.Options{Natives: vm.Natives()}))
		}
		if err != nil {
			t.Errorf("%s as a file of one's own: %v", name, err)
		}
	}
}
