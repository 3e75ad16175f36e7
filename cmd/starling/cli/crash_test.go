package cli

import (
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"

	"starling/cmd/starling/connect"
	"starling/cmd/starling/place"
	"starling/runtime"
	"starling/runtime/runtimetest"
)

// The program of these tests can be told, by an environment variable, to end itself with SIGKILL
// right before or right after its n-th commit: at each durable boundary, exactly. Badger, the
// sockets and the processes are the real ones.
const crashVariable = "STARLING_TEST_CRASH" // "before 3", "after 3"; "after 3 FILE" counts from when there is such a file

// crashingStore kills its process at one of its commits.
type crashingStore struct {
	runtime.Store
	moment string
	left   atomic.Int64
	armed  string // a file without which nothing is counted, "" for none
}

func crashing(s runtime.Store) runtime.Store {
	c := &crashingStore{Store: s}
	var left int64
	if n, _ := fmt.Sscanf(os.Getenv(crashVariable), "%s %d %s", &c.moment, &left, &c.armed); n < 2 {
		return s
	}
	c.left.Store(left)
	return c
}

func (c *crashingStore) Commit(ctx context.Context, b *runtime.Batch) error {
	if string(b.Writes[0].Key) == "m/mac" || c.armed != "" && !place.Exists(c.armed) { // the store's own key, or too early
		return c.Store.Commit(ctx, b)
	}
	mine := c.left.Add(-1) == 0
	if mine && c.moment == "before" {
		die()
	}
	err := c.Store.Commit(ctx, b)
	if mine {
		die()
	}
	return err
}

func die() {
	_ = syscall.Kill(os.Getpid(), syscall.SIGKILL)
	select {}
}

// long tells whether a story takes long, since it runs tests, git or servers. Of those a seed draws
// what is played, unless a flag asks for all.
func (s *story) long() bool { return (s.Toy || s.Servers) && !*everyCommit }

// given tells whether a flag was.
func given(name string) (found bool) {
	flag.Visit(func(f *flag.Flag) { found = found || f.Name == name })
	return found
}

var madeKey = regexp.MustCompile(`[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}`)

// drawn is what a story draws from: one seed, which plays it again.
func drawn(t *testing.T) *rand.Rand {
	t.Helper()
	seed := *killSeed
	if seed == 0 {
		seed = rand.Uint64()
	}
	t.Logf("-kill-seed %d", seed)
	return rand.New(rand.NewPCG(seed, 0))
}

// commands are those that are killed.
func (s *story) commands(r *rand.Rand) (which []int) {
	for command := range 1 + len(s.Answers) {
		which = append(which, command)
	}
	if s.long() {
		which = which[r.IntN(len(which)):][:1]
	}
	return which
}

// apart is how far the next commit at which the story is cut may be from the last one, given how
// far where that costs little.
func (s *story) apart(most int) int {
	switch {
	case *everyCommit:
		return 1
	case s.Toy:
		return 256
	case s.Servers:
		return 12
	}
	return most
}

// passed tells whether a seed passes over a story in whose toy repository tests are run many times:
// two of three.
func (s *story) passed(t *testing.T, r *rand.Rand) bool {
	if !s.Toy || *everyCommit || r.IntN(3) == 0 {
		return false
	}
	t.Log("it takes long, and the seed does not draw it; -every-commit cuts it in any case")
	return true
}

// first is the first commit at which the story is cut: its first, unless it takes long.
func (s *story) first(r *rand.Rand) int {
	if s.long() {
		return 1 + r.IntN(s.apart(1))
	}
	return 1
}

// sides are those of a commit at which the story is cut: before and after it. Of a story that takes
// long the seed draws one.
func (s *story) sides(r *rand.Rand) []string {
	both := []string{"before", "after"}
	if s.long() {
		return both[r.IntN(2):][:1]
	}
	return both
}

// killAll kills one command at its first commit and those that follow, until it has no more.
func (s *story) killAll(t *testing.T, r *rand.Rand, command int, want *ending) {
	for _, side := range s.sides(r) {
		for n, killed := s.first(r), true; killed; n += 1 + r.IntN(s.apart(6)) {
			killed = s.killAt(t, n, command, side, want)
		}
	}
}

// killAt kills one command at its n-th commit, if it has so many.
func (s *story) killAt(t *testing.T, n, command int, side string, want *ending) bool {
	got := s.tell(t, killer{command: command, crash: fmt.Sprintf("%s %d", side, n)})
	if diff := want.differs(got); diff != "" {
		t.Errorf("killed in command %d, %s %d: %s", command, side, n, diff)
	}
	if got.kills == 0 && n == 1 {
		t.Errorf("command %d commits nothing", command)
	}
	return got.kills > 0
}

// ending is what a story came to.
type ending struct {
	kills    int
	output   string
	journal  []string // without attempts, times and rests
	effects  []string // what the world saw, once per idempotency key
	requests int      // how often it was asked
}

func (want *ending) differs(got *ending) string {
	switch {
	case got.output != want.output:
		return fmt.Sprintf("output %s, want %s", got.output, want.output)
	case !slices.Equal(got.journal, want.journal):
		return fmt.Sprintf("journal %v, want %v", got.journal, want.journal)
	case !slices.Equal(got.effects, want.effects):
		return fmt.Sprintf("effects %v, want %v", got.effects, want.effects)
	case got.requests > want.requests+got.kills:
		return fmt.Sprintf("%d requests in spite of only %d kills, want at most one more for each than %d", got.requests, got.kills, want.requests)
	}
	return ""
}

// telling is one telling of a story.
type telling struct {
	t    *testing.T
	dir  string
	sink *sink
	end  *ending

	house *house       // plays it in this process; nil for real ones
	place *place.Place // of the store; nil for the folder in dir
	env   []string     // beside that of the tests

	// Of a telling whose server is killed in place of its commands, which are typed again while
	// there is none.
	away     *atomic.Int64 // how often it was; nil for others
	unserved atomic.Bool   // no server comes any more

	history runtimetest.History
}

func (p *telling) write(name, text string) {
	if err := os.WriteFile(filepath.Join(p.dir, name), []byte(text), 0o600); err != nil {
		p.t.Fatal(err)
	}
}

// do types a command, and types it again each time it was killed.
func (p *telling) do(k killer, args ...string) []byte {
	p.t.Helper()
	out, state := p.exec(k, args...)
	for p.away != nil && !p.unserved.Load() && state.code == runtime.ErrOwnerUnreachable.ExitCode() {
		out, state = p.exec(k, args...)
	}
	for state.killed {
		p.end.kills++
		k = k.next()
		out, state = p.exec(k, args...)
	}
	if state.code != 0 && state.code != runtime.ExitSuspended {
		p.t.Fatalf("starling %s: exit code %d: %s", strings.Join(args, " "), state.code, out)
	}
	return out
}

func (p *telling) commandContext(ctx context.Context, args ...string) *exec.Cmd {
	cmd := exec.CommandContext(ctx, "starling", args...)
	cmd.Dir = p.dir
	cmd.Env = append(append(os.Environ(), "XDG_RUNTIME_DIR="+p.dir, "XDG_CACHE_HOME="+sharedCache()), p.env...)
	return cmd
}

func killed(state *os.ProcessState) bool {
	status, ok := state.Sys().(syscall.WaitStatus)
	return ok && status.Signaled()
}

// exit is how a command ended.
type exit struct {
	code   int
	killed bool
}

func (p *telling) exec(k killer, args ...string) ([]byte, exit) {
	p.t.Helper()
	if p.house != nil {
		return p.house.exec(p, args...)
	}
	ctx := context.Background()
	if k.within > 0 {
		var stop func()
		ctx, stop = context.WithTimeout(ctx, k.within) // its end is SIGKILL
		defer stop()
	}
	cmd := p.commandContext(ctx, args...)
	if k.crash != "" {
		cmd.Env = append(cmd.Env, crashVariable+"="+k.crash)
	}
	var errs strings.Builder
	cmd.Stderr = &errs
	out, err := cmd.Output()
	switch {
	case cmd.ProcessState == nil && ctx.Err() != nil: // its time was over before it had begun
		return nil, exit{killed: true}
	case cmd.ProcessState == nil:
		p.t.Fatal(err)
	}
	if len(out) == 0 {
		out = []byte(errs.String())
	}
	return out, exit{cmd.ProcessState.ExitCode(), killed(cmd.ProcessState)}
}

// answer sends an answer and notes what its sender was told.
func (p *telling) answer(k killer, run string, a []string, key string) {
	p.t.Helper()
	var receipt runtime.Receipt
	text := p.do(k, append([]string{"signal", run + "/" + a[0], "--key", key, "--json"}, a[1:]...)...)
	if err := json.Unmarshal(text, &receipt); err != nil {
		p.t.Fatalf("signal printed %s", text)
	}
	p.history.Answered(runtime.Signal{Run: run, Gate: a[0], Key: key}, &receipt, nil)
}

// reading lets fn look at the store from this process, as somebody who changes nothing. At one that
// crashes meanwhile it looks again.
func (p *telling) reading(fn func(s connect.Session) error) {
	p.t.Helper()
	for {
		s, err := p.looking()
		if err == nil {
			err = errors.Join(fn(s), s.Close())
		}
		if p.house != nil && p.house.store.Failure() != nil {
			p.end.kills++
			p.house.open(p)
			continue
		}
		if err != nil && p.away != nil && runtime.AsRefusal(err).Kind == runtime.ErrStoreUnreachable {
			continue // its database is away for a moment
		}
		if err != nil {
			p.t.Fatal(err)
		}
		return
	}
}

func (p *telling) looking() (connect.Session, error) {
	if p.house != nil {
		return houseConnector{p.house}.guest()
	}
	where := p.place
	if where == nil {
		where = &place.Place{Store: filepath.Join(p.dir, place.StoreFolder)}
	}
	c := &call{place: where, getenv: os.LookupEnv, env: environment, doubt: doubting}
	return c.openDoors().OpenReader(p.t.Context())
}

// check holds what was seen against the journals of all runs, and gives these.
func (p *telling) check() (journals map[string][]runtime.Event) {
	p.t.Helper()
	p.reading(func(s connect.Session) error {
		journals = map[string][]runtime.Event{}
		all, err := s.List(p.t.Context(), runtime.Query{All: true})
		if err != nil {
			return err
		}
		for _, r := range all.Runs {
			err = errors.Join(err, s.Watch(p.t.Context(), runtime.WatchRequest{Run: r.ID}, func(ev runtime.Event) error {
				journals[r.ID] = append(journals[r.ID], ev)
				return nil
			}))
		}
		return err
	})
	if len(journals) == 0 {
		p.t.Fatal("there are no runs")
	}
	for run, events := range journals {
		p.history.Journal(run, events)
	}
	if err := p.history.Check(); err != nil {
		p.t.Error(err)
	}
	if p.away == nil { // a server that was killed has left what the next to start removes
		p.noTrees()
	}
	return journals
}

// noTrees wants no worktree to be left.
func (p *telling) noTrees() {
	p.t.Helper()
	if trees, _ := filepath.Glob(filepath.Join(p.dir, ".*-trees")); len(trees) > 0 || place.Exists(filepath.Join(p.dir, ".git", "worktrees", "parallel+code")) {
		p.t.Errorf("a worktree is left: %v", trees)
	}
}

// get is a run as it stands.
func (p *telling) get(run string) (r *runtime.Run) {
	p.t.Helper()
	p.reading(func(s connect.Session) (err error) {
		r, err = s.Get(p.t.Context(), run)
		return err
	})
	return r
}

// retryUncertain answers the questions of a run whose script asks about attempts that were cut, or
// that is quarantined. Where nobody was killed there are none.
func (p *telling) retryUncertain(run string) {
	p.t.Helper()
	for p.end.kills > 0 || p.away != nil {
		if p.away != nil { // whoever asked has left, while the server goes on
			p.do(killer{}, "wait", run, "--timeout", "20s")
		}
		gates := p.get(run).Gates
		i := slices.IndexFunc(gates, func(g runtime.Gate) bool {
			return strings.HasPrefix(g.Gate, "!uncertain:") || g.Gate == "!quarantine"
		})
		if i < 0 {
			return
		}
		p.do(killer{}, "signal", run+"/"+gates[i].Gate, "--choice", "retry")
	}
}

// without is an output without the fields that vary.
func (p *telling) without(output json.RawMessage, varies []string) string {
	p.t.Helper()
	if len(varies) == 0 {
		return string(output)
	}
	var fields map[string]json.RawMessage
	if err := json.Unmarshal(output, &fields); err != nil {
		p.t.Fatal(err)
	}
	for _, name := range varies {
		delete(fields, name)
	}
	return fmt.Sprintf("%s", fields)
}

// look says what the run came to.
func (p *telling) look(run string, varies []string, journal []runtime.Event) *ending {
	p.t.Helper()
	shown := p.get(run)
	if shown.Status != runtime.Completed {
		p.t.Fatalf("the run is %s", shown.Status)
	}
	p.end.output = p.without(shown.Output, varies)
	for _, ev := range journal {
		if !strings.HasPrefix(ev.Step, "!") && !strings.HasPrefix(ev.Type, "attempt.") && ev.Type != "agent.event" && ev.Type != "run.suspended" && ev.Type != "run.resumed" {
			p.end.journal = append(p.end.journal, strings.TrimSpace(ev.Type+" "+ev.Step))
		}
	}
	slices.Sort(p.end.journal) // branches may take turns
	p.sink.mu.Lock()
	defer p.sink.mu.Unlock()
	p.end.requests = len(p.sink.requests)
	keys := map[string]string{} // those that a script has made, which differ from run to run
	for _, r := range p.sink.requests {
		r = madeKey.ReplaceAllStringFunc(strings.ReplaceAll(r, run, "RUN"), func(key string) string {
			if keys[key] == "" {
				keys[key] = fmt.Sprintf("KEY%d", len(keys)+1)
			}
			return keys[key]
		})
		if !slices.Contains(p.end.effects, r) {
			p.end.effects = append(p.end.effects, r)
		}
	}
	return p.end
}
