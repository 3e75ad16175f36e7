package infer_test

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"go.starlark.net/lib/json"
	"go.starlark.net/lib/math"
	"go.starlark.net/lib/time"
	"go.starlark.net/starlark"
	"go.starlark.net/syntax"

	"starling/lang/langtest"
)

// assertions are what the chunks of the reference's tests load. What is expected to fail is called,
// and may.
const assertions = `
def _eq(x, y):
    if x != y:
        fail(x, "!=", y)

def _ne(x, y):
    if x == y:
        fail(x, "==", y)

def _lt(x, y):
    if not (x < y):
        fail(x, ">=", y)

def _true(cond, msg = ""):
    if not cond:
        fail(msg)

def _contains(x, y):
    if y not in x:
        fail(y, "not in", x)

assert = struct(eq = _eq, ne = _ne, lt = _lt, true = _true, contains = _contains, fails = _fails)
json = _json
math = _math
time = _time
proto = _proto
freeze = _freeze

def matches(*_):
    return True
`

// TestChunksOfTheReference goes over the tests of go.starlark.net: what is said there to fail is
// run, and must.
func TestChunksOfTheReference(t *testing.T) {
	out, err := exec.Command("go", "list", "-m", "-f", "{{.Dir}}", "go.starlark.net").Output()
	if err != nil {
		t.Fatalf("go list -m go.starlark.net: %v", err)
	}
	files, _ := filepath.Glob(filepath.Join(strings.TrimSpace(string(out)), "starlark", "testdata", "*.star"))
	chunks, said := 0, 0
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		for i, chunk := range strings.Split(string(text), "\n---\n") {
			chunks++
			t.Run(fmt.Sprintf("%s/%d", filepath.Base(file), i), func(t *testing.T) {
				p := chunkProgram(chunk)
				if err := runReference(p, world(nil)); err != nil && !strings.Contains(chunk, "###") && !slices.Contains(cut(), filepath.Base(file)) {
					t.Errorf("it does not come to its end: %v", err)
				}
				n, wrong := refuted(p)
				said += n
				if wrong != "" {
					t.Errorf("it is said to fail, and does not: %s", wrong)
				}
			})
		}
	}
	t.Logf("%d chunks, said to fail at %d places", chunks, said)
	if chunks < 90 || said < 100 {
		t.Errorf("%d chunks, said to fail at %d places: they were not tried", chunks, said)
	}
}

// cut are the files of which a chunk does not come to its end here: it wants values of the
// reference's own test, or more steps.
func cut() []string {
	return []string{"benchmark.star", "control.star", "json.star", "list.star", "module.star", "proto.star", "recursion.star"}
}

func chunkProgram(chunk string) langtest.Program {
	library := `"` + langtest.LibraryName + `"`
	for _, name := range []string{"assert", "json", "math", "time", "proto"} {
		chunk = strings.ReplaceAll(chunk, `"`+name+`.star"`, library)
	}
	return langtest.Program{Options: syntax.FileOptions{Set: true, While: true, TopLevelControl: true, GlobalReassign: true, Recursion: true},
		Library: assertions, Script: chunk + "\n"}
}

// referenceNames are the names that the chunks use beside those of generated programs.
func referenceNames(names starlark.StringDict) {
	names["_fails"] = starlark.NewBuiltin("fails", func(thread *starlark.Thread, _ *starlark.Builtin, args starlark.Tuple, _ []starlark.Tuple) (starlark.Value, error) {
		_, _ = starlark.Call(thread, args[0], nil, nil)
		return starlark.None, nil
	})
	names["_freeze"] = names["freeze"]
	names["_json"], names["_math"], names["_time"], names["_proto"] = json.Module, math.Module, time.Module, starlark.None
}

// runReference runs a program on go.starlark.net.
func runReference(p langtest.Program, names starlark.StringDict) error {
	const steps = 200_000
	load := func(*starlark.Thread, string) (starlark.StringDict, error) {
		thread := &starlark.Thread{Print: func(*starlark.Thread, string) {}}
		thread.SetMaxExecutionSteps(steps)
		globals, err := starlark.ExecFileOptions(&p.Options, thread, langtest.LibraryName, p.Library, names)
		globals.Freeze()
		return globals, err
	}
	thread := &starlark.Thread{Load: load, Print: func(*starlark.Thread, string) {}}
	thread.SetMaxExecutionSteps(steps)
	_, program, err := starlark.SourceProgramOptions(&p.Options, langtest.ScriptName, p.Script, names.Has)
	if err == nil {
		_, err = program.Init(thread, names)
	}
	return err
}
