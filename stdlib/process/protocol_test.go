package process_test

import (
	"bufio"
	"context"
	"encoding/base64"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"starling/stdlib/process"
)

// wire is an owner that speaks to a guard by hand, in the bytes of the package comment.
type wire struct {
	t       *testing.T
	guard   *exec.Cmd
	control *os.File
	status  *bufio.Reader
	words   *strings.Builder // what the guard says on its own stderr
}

func newWire(t *testing.T) *wire {
	t.Helper()
	var files []*os.File
	pipe := func() *os.File {
		r, w, err := os.Pipe()
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { r.Close(); w.Close() })
		files = append(files, r, w)
		return r
	}
	pipe()
	status := pipe()
	null, err := os.OpenFile(os.DevNull, os.O_RDWR, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer null.Close()
	w := &wire{t: t, guard: exec.Command(os.Args[0], "__guard"), control: files[1], status: bufio.NewReader(status), words: &strings.Builder{}}
	w.guard.Env = []string{"STARLING_GUARD=1", "GORACE=atexit_sleep_ms=0"}
	w.guard.ExtraFiles = []*os.File{files[0], files[3], null, null, null}
	w.guard.Stderr = w.words
	if err := w.guard.Start(); err != nil {
		t.Fatal(err)
	}
	status.SetReadDeadline(time.Now().Add(patience))
	files[3].Close()
	return w
}

// send writes an order for a script; $1 of the script is arg.
func (w *wire) send(script, arg, rest string) {
	b := func(s string) string { return `"` + base64.StdEncoding.EncodeToString([]byte(s)) + `"` }
	fmt.Fprintf(w.control, `{"path":%s,"argv":[%s,%s,%s,%s,%s],"env":[%s],"grace":60000000000%s}`+"\n",
		b("/bin/sh"), b("sh"), b("-c"), b(script), b("sh"), b(arg), b("PATH="+os.Getenv("PATH")), rest)
}

// want reads a line; PID stands for any number.
func (w *wire) want(line string) {
	w.t.Helper()
	got, err := w.status.ReadString('\n')
	var pid int
	if n, _ := fmt.Sscanf(got, `{"started":%d}`, &pid); n == 1 {
		got = "{\"started\":PID}\n"
	}
	if got != line+"\n" {
		w.t.Fatalf("got status %q, %v, want %s", got, err, line)
	}
}

// end wants nothing more on the pipe, and the guard's exit.
func (w *wire) end(wantWords string) {
	w.t.Helper()
	if rest, err := w.status.ReadString('\n'); rest != "" || err == nil {
		w.t.Errorf("got one more status %q, %v", rest, err)
	}
	w.guard.Wait()
	if w.words.String() != wantWords {
		w.t.Errorf("the guard says %q, want %q", w.words, wantWords)
	}
}

func TestProtocol(t *testing.T) {
	w := newWire(t)
	w.send("exit 3", "", "")
	w.want(`{"started":PID}`)
	w.want(`{"exit":3}`)
	w.want(`{"gone":true}`)
	w.end("")

	w = newWire(t)
	w.send("sleep 1000", "", "")
	w.want(`{"started":PID}`)
	w.control.WriteString("stop\n")
	w.want(`{"signal":"SIGTERM"}`)
	w.want(`{"gone":true}`)
	w.end("")

	w = newWire(t)
	w.control.WriteString("{}\n")
	w.want(`{"error":{"kind":"not_executable","message":"exec: fork/exec : no such file or directory"}}`)
	w.end("")
}

// An owner may die at any byte of its order.
func TestHalfAnOrderStartsNothing(t *testing.T) {
	mark := filepath.Join(t.TempDir(), "mark")
	for _, half := range []string{"", "{", `{"path":"L2Jpbi9zaA==","argv":["c2g=","LWM=","dG91Y2gg`} {
		w := newWire(t)
		w.control.WriteString(half)
		w.control.Close()
		w.end("guard: reading the order: EOF\n")
	}
	w := newWire(t)
	w.send(`touch "$1"`, mark, "}") // no JSON
	w.end("guard: reading the order: invalid character '}' after top-level value\n")
	if fileExists(mark) {
		t.Error("the command has run")
	}
}

func TestOwnerThatDiesWaitingStartsNothing(t *testing.T) {
	held := sh("sleep 1000")
	held.Lock, held.Attempt = filepath.Join(t.TempDir(), "step"), attempt(1)
	child := start(t, context.Background(), held)

	mark := filepath.Join(t.TempDir(), "mark")
	w := newWire(t)
	w.send(`touch "$1"`, mark, `,"lock":"`+base64.StdEncoding.EncodeToString([]byte(held.Lock))+`","lock_wait":60000000000`)
	w.want(`{"waiting":{"run":"r7f3","step":"review#2","attempt":1,"agent":"reviewer"}}`)
	w.control.Close()
	w.want(`{"error":{"kind":"stopped","message":"told to end before the start"}}`)
	w.end("")
	child.Stop()
	wait(t, child)
	if fileExists(mark) {
		t.Error("the command has run")
	}
}

// The owner asks, with a minute of grace, and dies within it.
func TestOwnerThatDiesStopping(t *testing.T) {
	v := newVigil(t)
	w := newWire(t)
	w.send(watch+`trap 'echo asked >&9' TERM; echo up >&9; while :; do sleep 0.01; done`, v.path, "")
	w.want(`{"started":PID}`)
	v.expect("up")
	w.control.WriteString("stop\n")
	v.expect("asked")
	w.control.Close()
	w.want(`{"signal":"SIGKILL"}`)
	w.want(`{"gone":true}`)
	w.end("")
	v.end()
}

// Whatever the moment at which a context ends, nothing is left, and what is returned says what
// happened.
func TestCancelAtAnyMoment(t *testing.T) {
	seed := uint64(time.Now().UnixNano())
	t.Logf("seed %d", seed)
	random := rand.New(rand.NewPCG(seed, 0))
	lock := filepath.Join(t.TempDir(), "step")
	v := newVigil(t)
	for i := range 60 {
		ctx, cancel := context.WithTimeout(context.Background(), time.Duration(random.IntN(40_000))*time.Microsecond)
		spec := sh(watch+"trap '' TERM; (sleep 1000 &); sleep 1000", v.path)
		spec.Lock, spec.Grace = lock, time.Millisecond
		child, err := process.Start(ctx, spec)
		if err != nil {
			if !errors.Is(err, context.DeadlineExceeded) {
				t.Errorf("child %d: got %v, want the deadline", i, err)
			}
		} else if r := wait(t, child); !r.TimedOut || r.Err != nil {
			t.Errorf("child %d: got %+v, want a time-out", i, r)
		}
		cancel()
	}
	v.end()
}

// Nor does it matter when an owner is killed.
func TestKillAnOwnerAtAnyMoment(t *testing.T) {
	seed := uint64(time.Now().UnixNano())
	t.Logf("seed %d", seed)
	random := rand.New(rand.NewPCG(seed, 0))
	v := newVigil(t)
	dir := t.TempDir()
	for i := range 25 {
		spec := sh(watch+"trap '' TERM; (sleep 1000 &); sleep 1000", v.path)
		spec.Lock = filepath.Join(dir, fmt.Sprint(i))
		spec.Grace = time.Millisecond
		owner := launchOwner(t, spec)
		kill := time.AfterFunc(time.Duration(random.IntN(80_000))*time.Microsecond, func() { owner.Process.Kill() })
		owner.Wait()
		kill.Stop()
	}
	v.end()
	// Guards remove their locks before they end, whether or not a child came to hold the vigil.
	for i := range 25 {
		spec := sh("exit 0")
		spec.Lock, spec.LockWait = filepath.Join(dir, fmt.Sprint(i)), patience
		if r := run(t, spec); r.ExitCode != 0 || r.Err != nil {
			t.Errorf("step %d: got %+v", i, r)
		}
	}
}

func BenchmarkRun(b *testing.B) {
	for b.Loop() {
		if _, err := process.Run(context.Background(), process.Spec{Argv: []string{"/bin/true"}}); err != nil {
			b.Fatal(err)
		}
	}
}
