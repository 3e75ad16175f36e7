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

// Each file of the library has tests beside it, which `starling test stdlib` runs, or a script of its name in testdata/library, which ends with the transcript of what it
// prints and sleeps.
func TestLibrary(t *testing.T) {
	for _, name := range stdlib.LibraryNames() {
		t.Run(path.Base(name), func(t *testing.T) {
			if _, err := os.Stat(strings.TrimSuffix(path.Base(name), ".star") + "_test.star"); err == nil {
				return
			}
			script := "testdata/library/" + path.Base(name)
			text, err := os.ReadFile(filepath.Join("..", filepath.FromSlash(script)))
			if err != nil {
				t.Fatal("the library's file has no test: ", err)
			}
			var want []string
			for line := range strings.Lines(string(text)) {
				if said, ok := strings.CutPrefix(line, "# "); ok && (strings.HasPrefix(said, "print: ") || strings.HasPrefix(said, "sleep: ")) {
					want = append(want, strings.TrimSpace(said))
				}
			}
			got := play(t, script, text)
			if len(want) == 0 || strings.Join(got, "\n") != strings.Join(want, "\n") {
				t.Errorf("got\n%s\nwant\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
			}
		})
	}
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
	for name, want := range map[string]string{
		"rerty.star":    "no file @std/rerty.star; did you mean @std/retry.star?",
		"zzzzzzzz.star": "no file @std/zzzzzzzz.star; the library has " + strings.Join(stdlib.LibraryNames(), ", "),
		"../doc.go":     "no file @std/../doc.go; the library has " + strings.Join(stdlib.LibraryNames(), ", "),
	} {
		if _, err := stdlib.Library(name); err == nil || err.Error() != want {
			t.Errorf("%s: got %v, want %s", name, err, want)
		}
	}
}

// S2-20: patterns are files that one reads and copies. They are short, and any script may say what they say: the library has no builtin of its own.
func TestLibraryIsAScriptLikeOthers(t *testing.T) {
	const longest = 400
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
