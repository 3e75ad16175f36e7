package vm_test

import (
	"flag"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"go.starlark.net/syntax"

	"starling/lang/langtest"
	"starling/lang/vm"
)

var (
	programs = flag.Int("programs", 2000, "how many generated programs to compare with go.starlark.net")
	first    = flag.Uint64("first", 1, "seed of the first generated program; the next have the next numbers")
)

// TestGeneratedProgramsAgree compares generated programs on both engines. One that differs is made
// small before it is shown, and by its seed it can be made again:
//
//	go test ./lang/vm -run TestGeneratedProgramsAgree -first 42 -programs 1
//	nice go test ./lang/vm -run TestGeneratedProgramsAgree -first 1000000 -programs 1000000 -timeout 0
func TestGeneratedProgramsAgree(t *testing.T) {
	began, limited := time.Now(), 0
	for i := range uint64(*programs) {
		p := langtest.Generate(langtest.Seed(*first + i))
		difference, over := compareEngines(p)
		if over {
			limited++
		}
		if difference != "" {
			small := langtest.Reduce(p, differs)
			difference, _ = compareEngines(small)
			t.Errorf("seed %d: the engines differ on\n%s%s", *first+i, small, difference)
		}
	}
	t.Logf("seed %d: %d programs in %v, %d of them over a limit", *first, *programs, time.Since(began).Round(time.Second), limited)
	if *programs >= 1000 && limited > *programs/20 {
		t.Errorf("%d of %d programs went over a limit: they compare nothing", limited, *programs)
	}
}

// FuzzDifferential is the same with choices that a fuzzer finds:
//
//	go test ./lang/vm -run '^$' -fuzz FuzzDifferential
func FuzzDifferential(f *testing.F) {
	f.Add([]byte("a program is what these bytes choose"))
	for i := range byte(8) {
		data := make([]byte, 400)
		for j := range data {
			data[j] = byte(j)*(31+2*i) ^ byte(j>>2)
		}
		f.Add(data)
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		p := langtest.Generate(langtest.Bytes(data))
		if difference, _ := compareEngines(p); difference != "" {
			t.Errorf("the engines differ on\n%s%s", p, difference)
		}
	})
}

// compareEngines runs a program on both engines and shows what differs, "" if nothing does. The
// machine comes first: it bounds what a program may use.
func compareEngines(p langtest.Program) (difference string, limited bool) {
	ours := onMachine(p, generatedLimits)
	if ours.limited {
		return "", true
	}
	theirs := onReference(p)
	if got, want := ours.String(), theirs.String(); alike(got) != alike(unlocked(want)) && !theirs.limited {
		return "--- got\n" + got + "\n--- want\n" + want, false
	}
	return "", theirs.limited
}

func differs(p langtest.Program) bool {
	difference, _ := compareEngines(p)
	return difference != ""
}

// mustAgree runs a script under all options, with and without recursion, on both engines.
func mustAgree(t *testing.T, script string) {
	t.Helper()
	for _, recursion := range []bool{true, false} {
		p := langtest.Program{Script: script, Options: everyOption(recursion)}
		want, got := onReference(p).String(), onMachine(p, vm.Limits{Frames: 100_000}).String()
		if got != want {
			t.Errorf("%s\n--- got\n%s\n--- want\n%s", script, got, want)
		}
	}
}

func everyOption(recursion bool) syntax.FileOptions {
	return syntax.FileOptions{Set: true, While: true, TopLevelControl: true, GlobalReassign: true, Recursion: recursion}
}

// readDifferential reads a file of testdata/differential.
func readDifferential(t *testing.T, name string) string {
	t.Helper()
	text, err := os.ReadFile(filepath.Join("..", "..", "testdata", "differential", name))
	if err != nil {
		t.Fatal(err)
	}
	return strings.TrimSpace(string(text))
}

func TestExpressionsAgree(t *testing.T) {
	for expression := range strings.SplitSeq(readDifferential(t, "expressions.txt"), "\n") {
		if !strings.HasPrefix(expression, "#") {
			mustAgree(t, "x = "+expression+"\nprint(x)")
		}
	}
}

// TestProgramsAgree runs programs for order of evaluation, unpacking, locks, messages and
// positions.
func TestProgramsAgree(t *testing.T) {
	for script := range strings.SplitSeq(readDifferential(t, "programs.star"), "\n---\n") {
		mustAgree(t, script)
	}
}

func TestParametersAgree(t *testing.T) {
	defs, calls, _ := strings.Cut(readDifferential(t, "parameters.star"), "\n---\n")
	for _, name := range strings.Split("abcdefghijk", "") {
		for args := range strings.SplitSeq(calls, "\n") {
			mustAgree(t, defs+"\nprint("+name+args+")")
		}
	}
}

func TestSpellingAgrees(t *testing.T) {
	for _, name := range []string{"apend", "Append", "a_ppend", "extnd", "zzz", "indexx", "a"} {
		mustAgree(t, "[]."+name)
		mustAgree(t, "struct(append = 1, extend = 2)."+name)
	}
}
