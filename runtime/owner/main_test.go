package owner_test

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	goruntime "runtime"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"starling/lang/effect"
	"starling/runtime"
	"starling/runtime/badger"
	"starling/runtime/engine"
	"starling/runtime/engine/enginetest"
	"starling/runtime/owner"
)

// A test binary that is started with roleVariable is not a test but a process of the play: it
// stands for election for the store of dirVariable and takes orders, lines of JSON on its standard
// input, each answered by lines of JSON with the order's number.
const (
	roleVariable = "OWNER_TEST_ROLE"
	dirVariable  = "OWNER_TEST_STORE"
)

// order is what a process is to do with its session.
type order struct {
	Number int
	Do     string // start, get, list, signal, watch, idle, owner, close
	Start  runtime.StartRequest
	Signal runtime.Signal
	Run    string
	Quiet  time.Duration
}

// reply is one line of an answer. The last has Done.
type reply struct {
	Number  int
	Done    bool
	Error   string
	Kind    runtime.ErrorKind
	Run     *runtime.Run
	Runs    []string
	Receipt *runtime.Receipt
	Event   *runtime.Event
	Owner   int // of the store, 0 for the process itself
}

func TestMain(m *testing.M) {
	role, dir := os.Getenv(roleVariable), os.Getenv(dirVariable)
	switch role {
	case "":
		os.Exit(play(m))
	case "silent": // says something and ends
		fmt.Println("first line\nthe last words")
		os.Exit(7)
	case "serve":
		os.Exit(serve(dir))
	case "forger", "marked forger":
		forge(role, dir)
	}
	perform(map[string]owner.Role{"participant": owner.Participant, "keeper": owner.Keeper, "reader": owner.Reader}[role], dir)
}

// play runs the tests, with a runtime directory of their own. Most of them wait for other
// processes, so that more than the processors are played at once.
func play(m *testing.M) int {
	dir, err := os.MkdirTemp("", "run")
	if err == nil {
		err = os.Setenv("XDG_RUNTIME_DIR", dir)
	}
	if err != nil {
		panic(err)
	}
	defer os.RemoveAll(dir)
	flag.Parse()
	if err := flag.Set("test.parallel", strconv.Itoa(max(8, goruntime.GOMAXPROCS(0)))); err != nil {
		panic(err)
	}
	return m.Run()
}

// config is a store whose agents are played. The file "epoch" says how often it was opened by
// an owner.
func config(dir string) owner.Config {
	return owner.Config{
		Dir:     dir,
		Build:   "test",
		Prepare: badger.Prepare,
		Open: func(dir string) (runtime.Engine, error) {
			s, err := badger.Open(dir, badger.Options{})
			if err != nil {
				return nil, err
			}
			if err := os.WriteFile(filepath.Join(dir, "epoch"), fmt.Append(nil, s.Info().Epoch), 0o600); err != nil {
				return nil, err
			}
			return enginetest.Open(s, agents(dir))
		},
		OpenReader: func(dir string) (runtime.Engine, error) {
			s, err := badger.Open(dir, badger.Options{ReadOnly: true})
			if err != nil {
				return nil, err
			}
			return engine.NewReader(s, enginetest.Environment(agents(dir)), nil), nil
		},
	}
}

func epoch(dir string) int {
	content, _ := os.ReadFile(filepath.Join(dir, "epoch"))
	n, _ := strconv.Atoi(string(content))
	return n
}

// agents are "token", who says what the variable TOKEN is, and "patient", who waits for the file
// "go".
func agents(dir string) enginetest.Agent {
	return func(ctx context.Context, a *effect.Attempt) (string, error) {
		for strings.HasPrefix(a.Step, "patient") && ctx.Err() == nil {
			if _, err := os.Stat(filepath.Join(dir, "go")); err == nil {
				break
			}
			time.Sleep(time.Millisecond)
		}
		token, _ := a.Env("TOKEN")
		return token, ctx.Err()
	}
}

// serve is what a detached owner does.
func serve(dir string) int {
	s, err := owner.Acquire(context.Background(), config(dir), owner.Keeper)
	if err != nil {
		fmt.Println(err)
		return 7
	}
	ctx, cancel := context.WithCancel(context.Background())
	go func() { <-s.Stopping(); cancel() }()
	s.Idle(ctx, time.Hour)
	s.Close()
	return 0
}

// perform takes orders until the input ends.
func perform(role owner.Role, dir string) {
	var mu sync.Mutex
	say := func(r reply, err error) {
		if err != nil {
			r.Error, r.Kind = err.Error(), runtime.AsRefusal(err).Kind
		}
		mu.Lock()
		defer mu.Unlock()
		json.NewEncoder(os.Stdout).Encode(r)
	}
	s, err := owner.Acquire(context.Background(), config(dir), role)
	if err != nil {
		say(reply{Done: true}, err)
		os.Exit(7)
	}
	say(reply{Done: true, Owner: s.Owner()}, nil)
	for lines := bufio.NewScanner(os.Stdin); lines.Scan(); {
		var o order
		if err := json.Unmarshal(lines.Bytes(), &o); err != nil {
			panic(err)
		}
		go func() {
			r, err := o.obey(s, say)
			r.Number, r.Done = o.Number, true
			say(r, err)
		}()
	}
	os.Exit(0)
}

func (o order) obey(s *owner.Session, say func(reply, error)) (r reply, err error) {
	ctx := context.Background()
	switch o.Do {
	case "start":
		r.Run, err = s.Start(ctx, o.Start)
	case "get":
		r.Run, err = s.Get(ctx, o.Run)
	case "list":
		var l *runtime.Listing
		if l, err = s.List(ctx, runtime.Query{All: true}); err == nil {
			for _, run := range l.Runs {
				r.Runs = append(r.Runs, run.ID)
			}
		}
	case "signal":
		r.Receipt, err = s.Signal(ctx, o.Signal)
	case "watch":
		err = s.Watch(ctx, runtime.WatchRequest{Run: o.Run, Follow: true}, func(ev runtime.Event) error {
			say(reply{Number: o.Number, Event: &ev}, nil)
			return nil
		})
	case "idle":
		err = s.Idle(ctx, o.Quiet)
	case "owner":
		r.Owner = s.Owner()
	case "close":
		err = s.Close()
	}
	return r, err
}

// process is a process of the play, as the test sees it.
type process struct {
	t       *testing.T
	cmd     *exec.Cmd
	in      io.Writer
	mu      sync.Mutex // protects what is below
	numbers int
	pending map[int]chan reply
	greeted reply // its first words
}

// hang bounds a test that waits for what never comes.
const hang = 60 * time.Second

func within(t *testing.T) context.Context {
	ctx, cancel := context.WithTimeout(context.Background(), hang)
	t.Cleanup(cancel)
	return ctx
}

// begin starts a process of the play without waiting for its first words.
func begin(t *testing.T, role, dir string) *process {
	t.Helper()
	p := &process{t: t, pending: map[int]chan reply{0: make(chan reply, 1)}}
	p.cmd = exec.CommandContext(within(t), os.Args[0])
	p.cmd.Env = append(os.Environ(), roleVariable+"="+role, dirVariable+"="+dir)
	p.cmd.Stderr = os.Stderr
	in, err := p.cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	out, err := p.cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := p.cmd.Start(); err != nil {
		t.Fatal(err)
	}
	p.in = in
	go p.listen(out)
	t.Cleanup(func() {
		in.Close()
		p.cmd.Process.Kill()
		p.cmd.Wait()
	})
	return p
}

// launch starts a process of the play; it is owner or client when launch returns, or refused.
func launch(t *testing.T, role, dir string) *process {
	t.Helper()
	p := begin(t, role, dir)
	p.ready()
	return p
}

func (p *process) ready() {
	p.t.Helper()
	select {
	case p.greeted = <-p.pending[0]:
	case <-time.After(hang):
		p.t.Fatal("a process says nothing")
	}
}

func (p *process) pid() int { return p.cmd.Process.Pid }

// listen hands answers to who asked; when the process is gone everybody is told.
func (p *process) listen(out io.Reader) {
	lines := bufio.NewScanner(out)
	lines.Buffer(nil, 1<<24)
	for lines.Scan() {
		var r reply
		if err := json.Unmarshal(lines.Bytes(), &r); err != nil {
			r = reply{Done: true, Error: "not a reply: " + lines.Text()}
		}
		p.mu.Lock()
		c := p.pending[r.Number]
		p.mu.Unlock()
		c <- r
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, c := range p.pending {
		close(c)
	}
}

// send gives an order and returns where the answer comes.
func (p *process) send(o order) <-chan reply {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.numbers++
	o.Number = p.numbers
	c := make(chan reply, 1000)
	p.pending[o.Number] = c
	line, err := json.Marshal(o)
	if err == nil {
		_, err = fmt.Fprintf(p.in, "%s\n", line)
	}
	if err != nil {
		p.t.Error(err)
	}
	return c
}

// do gives an order and waits for a good answer.
func (p *process) do(o order) reply {
	p.t.Helper()
	r := p.last(p.send(o))
	if r.Error != "" {
		p.t.Fatalf("%s: %s", o.Do, r.Error)
	}
	return r
}

// last waits for the end of an answer.
func (p *process) last(c <-chan reply) reply {
	p.t.Helper()
	for {
		select {
		case r, ok := <-c:
			if !ok {
				return reply{Done: true, Error: "the process has ended"}
			}
			if r.Done {
				return r
			}
		case <-time.After(hang):
			p.t.Fatal("no answer")
		}
	}
}

// kill ends the process as a crash does, and waits until it is gone.
func (p *process) kill() {
	p.t.Helper()
	if err := p.cmd.Process.Kill(); err != nil {
		p.t.Fatal(err)
	}
	p.cmd.Wait()
}

// store is a directory in which no store is yet.
func store(t *testing.T) string {
	t.Helper()
	return filepath.Join(t.TempDir(), "store")
}

// recorded is what owner.json says.
func recorded(t *testing.T, dir string) owner.Record {
	t.Helper()
	var r owner.Record
	content, err := os.ReadFile(filepath.Join(dir, "owner.json"))
	if err == nil {
		err = json.Unmarshal(content, &r)
	}
	if err != nil {
		t.Fatal(err)
	}
	return r
}

// refused checks the kind and the words of a refusal.
func refused(t *testing.T, err error, kind runtime.ErrorKind, words ...string) *runtime.Refusal {
	t.Helper()
	var r *runtime.Refusal
	if !errors.As(err, &r) || r.Kind != kind {
		t.Fatalf("got %v, want a refusal %s", err, kind)
	}
	for _, w := range words {
		if !strings.Contains(r.Message+"\n"+r.Help, w) {
			t.Errorf("got %q, help %q; want %q in it", r.Message, r.Help, w)
		}
	}
	return r
}

func source(text string) runtime.StartRequest {
	return runtime.StartRequest{Bundle: enginetest.Bundle(text), Script: "test.star"}
}

const (
	review = `
def main():
    d = gate("review", options = ["approve", "reject"])
    e = gate("again", options = ["approve", "reject"])
    print("decided")
    return d.choice
`
	patient = `
def main():
    a = agent("patient")
    return a.output
`
	hello = `
def main():
    return "hello"
`
)

func answer(run, gate string) runtime.Signal {
	return runtime.Signal{Kind: runtime.SignalAnswer, Run: run, Gate: gate, Choice: "approve", Key: gate}
}
