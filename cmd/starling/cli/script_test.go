package cli

import (
	"bytes"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"os/user"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/rogpeppe/go-internal/testscript"

	"starling/cmd/starling/place"
	"starling/runtime/api"
)

var update = flag.Bool("update", false, "rewrite the cmp'd files of testdata/cli")

// The sessions in testdata/cli run the real program in real processes against a store of their own.
// Beside testscript's commands they have
//
//	exits CODE PROGRAM ARG...    run in the foreground, with exactly this exit code
//	until CODE PROGRAM ARG...    run again and again until it has this exit code
//	get NAME PATH FILE           set the variable to what stands at the dotted path of a JSON file
//	has FILE PATH [JSON]         the path of a JSON file is there, and holds this; the order of keys does not count
//	soon WITHIN FILE PATH FILE PATH
//	                             the second time comes after the first, within a duration; times stand at dotted paths of JSON files
//	distinct FILE N              the file has N lines that differ
//	order A B C                  run three.star and answer its gates in this order
//	sink start|hold P|release|await N M P|list|forget
//	                             an HTTP server that records requests; see sink_test.go
//	gone FILE                    wait until the process whose number is in the file is gone
//	flip STORE                   flip one byte in the middle of what is written in a store's log
//	murder STORE                 SIGKILL the process that owns a store, and wait until it is gone
//	owned STORE                  wait until a process owns a store; what a killed one has left does not count
func TestSessions(t *testing.T) {
	testscript.Run(t, testscript.Params{
		Dir:                 filepath.Join("..", "..", "..", "testdata", "cli"),
		UpdateScripts:       *update,
		RequireExplicitExec: true,
		RequireUniqueNames:  true,
		Condition:           condition,
		Setup:               setUp,
		Cmds: map[string]func(*testscript.TestScript, bool, []string){
			"exits":    cmdExits,
			"until":    cmdUntil,
			"get":      cmdGet,
			"has":      cmdHas,
			"soon":     cmdSoon,
			"distinct": cmdDistinct,
			"order":    cmdOrder,
			"sink":     cmdSink,
			"murder":   cmdMurder,
			"owned":    cmdOwned,
			"gone":     cmdGone,
			"flip":     cmdFlip,
		},
	})
}

// setUp gives a session the repository's scripts, a folder for sockets whose path is short enough,
// and an end: whatever still owns a store of the session is stopped.
func setUp(env *testscript.Env) error {
	scripts, err := filepath.Abs(filepath.Join("..", "..", "..", "scripts"))
	if err != nil {
		return err
	}
	sockets, err := os.MkdirTemp("", "starling")
	if err != nil {
		return err
	}
	me, err := user.Current()
	if err != nil {
		return err
	}
	env.Setenv("USERNAME", "local:"+me.Username)
	env.Setenv("GORACE", os.Getenv("GORACE"))
	env.Setenv("GOCACHE", buildCache())
	env.Setenv("XDG_CACHE_HOME", sharedCache())
	env.Setenv("SCRIPTS", scripts)
	env.Setenv("LIBRARY", filepath.Join(scripts, "..", "stdlib"))
	env.Setenv("XDG_RUNTIME_DIR", sockets)
	env.Values[sinkKey{}] = newSink()
	env.Defer(func() {
		env.Values[sinkKey{}].(*sink).close()
		endOwners(env.WorkDir)
		os.RemoveAll(sockets)
	})
	return nil
}

// sharedCache is the user's cache as the program finds it in the tests: what one has checked is
// checked. It lies where the program does, and goes with it.
func sharedCache() string {
	program, err := exec.LookPath("starling")
	if err != nil {
		panic(err)
	}
	return filepath.Join(filepath.Dir(program), "cache")
}

// buildCache is where go keeps what it has built: a session that runs go is not to build the
// library of Go again. Its HOME is empty.
func buildCache() string {
	if dir := os.Getenv("GOCACHE"); dir != "" {
		return dir
	}
	dir, _ := os.UserCacheDir() // none: go says so
	return filepath.Join(dir, "go-build")
}

// endOwners kills the processes that own stores in a session's folder.
func endOwners(dir string) {
	stores, _ := filepath.Glob(filepath.Join(dir, "*", ownerFile))
	hidden, _ := filepath.Glob(filepath.Join(dir, ".starling", ownerFile))
	for _, f := range append(stores, hidden...) {
		if pid, err := ownerPid(f); err == nil {
			syscall.Kill(pid, syscall.SIGKILL)
		}
	}
}

const ownerFile = "owner.json"

func ownerPid(file string) (int, error) {
	text, err := os.ReadFile(file)
	if err != nil {
		return 0, err
	}
	var owner struct{ Pid int }
	if err := json.Unmarshal(text, &owner); err != nil || owner.Pid <= 1 {
		return 0, fmt.Errorf("%s: no pid: %v", file, err)
	}
	return owner.Pid, nil
}

// condition knows [marks]: here it can be told for certain who calls.
func condition(word string) (bool, error) {
	if word != "marks" {
		return false, fmt.Errorf("unknown condition %q", word)
	}
	return api.Doubt() == "", nil
}

func cmdExits(ts *testscript.TestScript, neg bool, args []string) {
	want := exitWanted(ts, neg, args)
	if got := exitCode(ts, args[1:]); got != want {
		ts.Fatalf("exit code %d, want %d", got, want)
	}
}

func cmdUntil(ts *testscript.TestScript, neg bool, args []string) {
	want := exitWanted(ts, neg, args)
	for deadline := time.Now().Add(patience); exitCode(ts, args[1:]) != want; time.Sleep(10 * time.Millisecond) {
		if time.Now().After(deadline) {
			ts.Fatalf("still another exit code than %d", want)
		}
	}
}

func exitWanted(ts *testscript.TestScript, neg bool, args []string) int {
	if neg || len(args) < 2 {
		ts.Fatalf("usage: exits|until CODE PROGRAM ARG...")
	}
	want, err := strconv.Atoi(args[0])
	ts.Check(err)
	return want
}

func exitCode(ts *testscript.TestScript, command []string) int {
	err := ts.Exec(command[0], command[1:]...)
	var exit *exec.ExitError
	if errors.As(err, &exit) {
		return exit.ExitCode()
	}
	ts.Check(err)
	return 0
}

func cmdGet(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 3 {
		ts.Fatalf("usage: get NAME PATH FILE")
	}
	v, err := lookUp(ts.ReadFile(args[2]), args[1])
	ts.Check(err)
	text, isText := v.(string)
	if !isText {
		b, err := json.Marshal(v)
		ts.Check(err)
		text = string(b)
	}
	ts.Setenv(args[0], text)
}

func cmdHas(ts *testscript.TestScript, neg bool, args []string) {
	if len(args) != 2 && len(args) != 3 {
		ts.Fatalf("usage: has FILE PATH [JSON]")
	}
	v, err := lookUp(ts.ReadFile(args[0]), args[1])
	found := err == nil
	if found && len(args) == 3 {
		var want any
		if err := json.Unmarshal([]byte(args[2]), &want); err != nil {
			ts.Fatalf("%s: %v", args[2], err)
		}
		found = compact(v) == compact(want)
	}
	if found == neg {
		ts.Fatalf("%s holds %s (%v)", args[1], compact(v), err)
	}
}

// compact writes JSON with its keys sorted.
func compact(v any) string {
	b, _ := json.Marshal(v)
	return string(b)
}

// lookUp follows a dotted path, "gates.0.address", into a JSON text. In a text of several lines,
// the first word is the number of the line.
func lookUp(text, path string) (any, error) {
	steps := strings.Split(path, ".")
	if lines := strings.Split(strings.TrimSpace(text), "\n"); len(lines) > 1 {
		n, err := strconv.Atoi(steps[0])
		if err != nil || n >= len(lines) {
			return nil, fmt.Errorf("%s: want a line's number below %d", path, len(lines))
		}
		text, steps = lines[n], steps[1:]
	}
	var v any
	if err := json.Unmarshal([]byte(text), &v); err != nil {
		return nil, fmt.Errorf("%q: %w", text, err)
	}
	for _, step := range steps {
		if step == "" {
			continue
		}
		next, ok := child(v, step)
		if !ok {
			return nil, fmt.Errorf("%s: no %s in %s", path, step, compact(v))
		}
		v = next
	}
	return v, nil
}

func child(v any, step string) (any, bool) {
	switch v := v.(type) {
	case map[string]any:
		c, ok := v[step]
		return c, ok
	case []any:
		if step == "length" {
			return len(v), true
		}
		i, err := strconv.Atoi(step)
		if err != nil || i < 0 || i >= len(v) {
			return nil, false
		}
		return v[i], true
	}
	return nil, false
}

func cmdSoon(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 5 {
		ts.Fatalf("usage: soon WITHIN FILE PATH FILE PATH")
	}
	within, err := time.ParseDuration(args[0])
	ts.Check(err)
	var times [2]time.Time
	for i := range times {
		v, err := lookUp(ts.ReadFile(args[1+2*i]), args[2+2*i])
		ts.Check(err)
		text, _ := v.(string)
		times[i], err = time.Parse(time.RFC3339Nano, text)
		ts.Check(err)
	}
	if d := times[1].Sub(times[0]); d < 0 || d > within {
		ts.Fatalf("%s after %s it was %s, want within %s", d, args[2], args[4], within)
	}
}

func cmdDistinct(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 2 {
		ts.Fatalf("usage: distinct FILE N")
	}
	want, err := strconv.Atoi(args[1])
	ts.Check(err)
	lines := strings.Split(strings.TrimSpace(ts.ReadFile(args[0])), "\n")
	slices.Sort(lines)
	if got := slices.Compact(lines); len(got) != want {
		ts.Fatalf("%d lines differ, want %d: %q", len(got), want, got)
	}
}

// cmdOrder runs three.star, whose three branches a, b and c each wait at a gate, and answers these
// in an order. The answer of a branch is its place in the order, so that mixing two up would show.
func cmdOrder(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 3 {
		ts.Fatalf("usage: order A B C")
	}
	if code := exitCode(ts, []string{"starling", "run", "three.star", "--json"}); code != 3 {
		ts.Fatalf("run: exit code %d", code)
	}
	run, err := lookUp(ts.ReadFile("stdout"), "id")
	ts.Check(err)
	for i, branch := range args {
		ts.Check(ts.Exec("starling", "signal", fmt.Sprintf("%s/parallel/%s/g", run, branch), "--data", strconv.Itoa(10*i)))
	}
	ts.Check(ts.Exec("starling", "wait", run.(string), "--json"))
	got, err := lookUp(ts.ReadFile("stdout"), "output")
	ts.Check(err)
	want := map[string]any{}
	for i, branch := range args {
		want[branch] = []any{branch, 10*i + 1}
	}
	if compact(got) != compact(want) {
		ts.Fatalf("in the order %v: got %s, want %s", args, compact(got), compact(want))
	}
}

func cmdMurder(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 1 {
		ts.Fatalf("usage: murder STORE")
	}
	pid, err := ownerPid(filepath.Join(ts.MkAbs(args[0]), ownerFile))
	ts.Check(err)
	ts.Check(syscall.Kill(pid, syscall.SIGKILL))
	awaitEnd(ts, pid)
}

func cmdOwned(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 1 {
		ts.Fatalf("usage: owned STORE")
	}
	for deadline := time.Now().Add(patience); ; time.Sleep(time.Millisecond) {
		pid, err := ownerPid(filepath.Join(ts.MkAbs(args[0]), ownerFile))
		if err == nil && alive(pid) {
			return
		}
		if time.Now().After(deadline) {
			ts.Fatalf("no process owns %s: %v", args[0], err)
		}
	}
}

func cmdGone(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 1 {
		ts.Fatalf("usage: gone FILE")
	}
	pid, err := strconv.Atoi(strings.TrimSpace(ts.ReadFile(args[0])))
	ts.Check(err)
	awaitEnd(ts, pid)
}

func cmdFlip(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 1 {
		ts.Fatalf("usage: flip STORE|FILE")
	}
	log, err := findLog(ts.MkAbs(args[0]))
	ts.Check(err)
	text, err := os.ReadFile(log)
	ts.Check(err)
	text[len(bytes.TrimRight(text, "\x00"))/2] ^= 0xff
	ts.Check(os.WriteFile(log, text, 0o600))
}

// findLog finds the write-ahead log of a store that was not closed; a file is itself.
func findLog(store string) (log string, err error) {
	err = filepath.WalkDir(store, func(path string, d fs.DirEntry, err error) error {
		if err == nil && (filepath.Ext(path) == ".mem" || path == store && !d.IsDir()) {
			log = path
		}
		return err
	})
	if err == nil && log == "" {
		err = errors.New("the store has no log")
	}
	return log, err
}

func awaitEnd(ts *testscript.TestScript, pid int) {
	if !gone(pid) {
		ts.Fatalf("process %d is still there", pid)
	}
}

// gone waits for the end of a process.
func gone(pid int) bool {
	for deadline := time.Now().Add(patience); alive(pid); time.Sleep(time.Millisecond) {
		if time.Now().After(deadline) {
			return false
		}
	}
	return true
}

// alive tells whether a process runs; one that has ended and waits to be reaped does not. Of one
// that was killed the first thread may be a zombie while others still hold its files and locks.
func alive(pid int) bool {
	threads, _ := filepath.Glob(fmt.Sprintf("/proc/%d/task/*/stat", pid))
	running := func(thread string) bool {
		stat, err := os.ReadFile(thread)
		_, state, _ := strings.Cut(string(stat), ") ")
		return err == nil && !strings.HasPrefix(state, "Z") && !strings.HasPrefix(state, "X")
	}
	if !place.Exists("/proc/self/stat") {
		return syscall.Kill(pid, 0) == nil
	}
	return slices.ContainsFunc(threads, running)
}

// patience bounds how long a test waits for what must come.
const patience = 30 * time.Second

// TestVerbsAreMadeByName: the word by which a verb is made is the word that it answers to.
func TestVerbsAreMadeByName(t *testing.T) {
	for _, v := range verbs() {
		if got := v.command(&call{}).Name(); got != v.name {
			t.Errorf("verb %q makes the command %q", v.name, got)
		}
	}
	all, one := (&call{}).root().Commands(), (&call{args: []string{"version"}}).root().Commands()
	if len(all) != len(verbs()) || len(one) != 1 || one[0].Name() != "version" {
		t.Errorf("got %d commands for no word, and %d for version", len(all), len(one))
	}
}

// TestSessionsAreNamedByVerb: a session is named after the verb that it is most about, and what it
// shows of that.
func TestSessionsAreNamedByVerb(t *testing.T) {
	known := map[string]bool{}
	for _, v := range verbs() {
		known[v.name] = true
	}
	sessions, err := filepath.Glob(filepath.Join("..", "..", "..", "testdata", "cli", "*.txtar"))
	if err != nil || len(sessions) == 0 {
		t.Fatalf("got %d sessions, %v", len(sessions), err)
	}
	for _, path := range sessions {
		name := strings.TrimSuffix(filepath.Base(path), ".txtar")
		if verb, aspect, ok := strings.Cut(name, "_"); !ok || !known[verb] || aspect == "" {
			t.Errorf("%s: want VERB_ASPECT, where VERB is one of the program's", name)
		}
	}
}
