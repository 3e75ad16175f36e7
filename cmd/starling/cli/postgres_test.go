package cli

import (
	"fmt"
	"io"
	"io/fs"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"starling/cmd/starling/place"
	"starling/runtime"
	"starling/runtime/runtimetest"
)

// shared makes the place of a telling whose store is in a database.
func shared(t *testing.T, address string) *telling {
	t.Helper()
	p := &telling{t: t, dir: t.TempDir(), end: &ending{}, away: new(atomic.Int64)}
	state := filepath.Join(t.TempDir(), "state")
	p.env = []string{"STARLING_STORE=" + address, "XDG_STATE_HOME=" + state}
	p.place = &place.Place{Database: address, Store: filepath.Join(state, "looking")}
	return p
}

// serve has servers own the store, one after another as each is killed, the first of them at a
// commit, until the test is over.
func (p *telling) serve(crash string) (stop func()) {
	ended, leave := make(chan struct{}), make(chan struct{})
	p.unserved.Store(false)
	go func() {
		defer close(ended)
		defer p.unserved.Store(true)
		for {
			var errs strings.Builder
			cmd := p.commandContext(p.t.Context(), "serve")
			cmd.Stderr = &errs
			cmd.Env = append(cmd.Env, crashVariable+"="+crash)
			if err := cmd.Start(); err != nil {
				p.t.Error(err)
				return
			}
			died := make(chan error, 1)
			go func() { died <- cmd.Wait() }()
			select {
			case <-leave:
				_ = cmd.Process.Signal(terminate)
				<-died
				return
			case <-died:
			}
			if !killed(cmd.ProcessState) {
				p.t.Errorf("the server left: %v: %s", cmd.ProcessState, errs.String())
				return
			}
			p.away.Add(1)
			crash = ""
		}
	}()
	return func() { close(leave); <-ended }
}

// Each story is told with its store in a database, without a crash and while the server that owns
// it is killed before and after a commit: the first and those that a seed draws, or every one with
// -every-commit. The end must be the same.
func TestSIGKILLAtCommitsInPostgres(t *testing.T) {
	server := runtimetest.StartPostgres(t)
	for _, s := range stories(t) {
		t.Run(s.name, func(t *testing.T) {
			t.Parallel()
			tell := func(crash string) *ending {
				p := shared(t, server.Address())
				stop := p.serve(crash)
				defer func() { stop() }()
				end := s.telling(p, killer{})
				end.kills = int(p.away.Load())
				if end.kills > 0 && s.Toy {
					stop()
					stop = p.serve("")
					p.do(killer{}, "resume", "--all")
					p.noTrees()
				}
				return end
			}
			want, r := tell(""), drawn(t)
			for _, side := range s.sides(r) {
				for n, more := 1, true; more; n += 1 + r.IntN(s.apart(12)) {
					got := tell(fmt.Sprintf("%s %d", side, n))
					more = got.kills > 0
					if diff := want.differs(got); diff != "" {
						t.Errorf("the server killed %s %d: %s", side, n, diff)
					}
				}
			}
		})
	}
}

// Stories go on while the database is killed and started again, and end as they do without that.
func TestStoriesWhileTheDatabaseRestartsInPostgres(t *testing.T) {
	for _, s := range branchStories {
		t.Run(s.name, func(t *testing.T) {
			t.Parallel()
			server := runtimetest.StartPostgres(t)
			tell := func(around func(p *telling, tell func())) (end *ending) {
				p := shared(t, server.Address())
				defer p.serve("")()
				around(p, func() { end = s.telling(p, killer{}) })
				return end
			}
			want := tell(func(_ *telling, tell func()) { tell() })
			restarts := 0
			got := tell(func(p *telling, tell func()) {
				for away := runtime.ErrOwnerUnreachable.ExitCode(); away == runtime.ErrOwnerUnreachable.ExitCode(); { // until it serves
					_, state := p.exec(killer{}, "resume", "--all")
					away = state.code
				}
				told, ended := make(chan struct{}), make(chan struct{})
				go func() {
					defer close(ended)
					for {
						select {
						case <-told:
							return
						case <-time.After(200 * time.Millisecond): // for the story to go on
						}
						server.Kill()
						server.Start()
						restarts++
					}
				}()
				tell()
				close(told)
				<-ended
			})
			t.Logf("%d restarts", restarts)
			if diff := want.differs(got); diff != "" {
				t.Errorf("with %d restarts: %s", restarts, diff)
			}
		})
	}
}

// machine is a machine of a test: a folder to work in, and one for what it keeps of shared stores.
type machine struct {
	t    testing.TB
	dir  string
	home string
}

func newMachine(t testing.TB, files map[string]string) *machine {
	t.Helper()
	m := &machine{t, t.TempDir(), t.TempDir()}
	for name, text := range files {
		if err := os.WriteFile(filepath.Join(m.dir, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	return m
}

func (m *machine) command(args ...string) *exec.Cmd {
	cmd := exec.Command("starling", args...)
	cmd.Dir = m.dir
	cmd.Env = append(os.Environ(), "XDG_STATE_HOME="+m.home, "XDG_RUNTIME_DIR="+m.home, "HOME="+m.home)
	return cmd
}

// run types a command, and gives its exit code and all that it prints.
func (m *machine) run(args ...string) (code int, said string) {
	m.t.Helper()
	cmd := m.command(args...)
	out, err := cmd.CombinedOutput()
	if cmd.ProcessState == nil {
		m.t.Fatal(err)
	}
	return cmd.ProcessState.ExitCode(), string(out)
}

// wants types a command and wants its exit code.
func (m *machine) wants(code int, args ...string) string {
	m.t.Helper()
	got, said := m.run(args...)
	if got != code {
		m.t.Fatalf("starling %s: exit code %d, wanted %d: %s", strings.Join(args, " "), got, code, said)
	}
	return said
}

// serving is a server of a machine, and what it has said so far.
type serving struct {
	*exec.Cmd
	m    *machine
	said string // the file that it says it to
}

func (m *machine) serve(args ...string) *serving {
	m.t.Helper()
	s := &serving{m.command(append([]string{"serve"}, args...)...), m, filepath.Join(m.t.TempDir(), "said")}
	f, err := os.Create(s.said)
	if err != nil {
		m.t.Fatal(err)
	}
	defer f.Close()
	s.Stdout, s.Stderr = f, f
	if err := s.Start(); err != nil {
		m.t.Fatal(err)
	}
	m.t.Cleanup(func() { s.end(syscall.SIGKILL) })
	return s
}

func (s *serving) end(how syscall.Signal) {
	_ = s.Process.Signal(how)
	_ = s.Wait()
}

// says waits until the server has said something.
func (s *serving) says(want string) string {
	s.m.t.Helper()
	for end := time.Now().Add(time.Minute); ; time.Sleep(10 * time.Millisecond) {
		text, err := os.ReadFile(s.said)
		if err == nil && strings.Contains(string(text), want) {
			return string(text)
		}
		if time.Now().After(end) {
			s.m.t.Fatalf("the server says %q, wanted %q", text, want)
		}
	}
}

const (
	reviewScript = `
def main():
    print("a review begins")
    choice = gate("merge", prompt = "Merge it?", options = ["yes", "no"]).choice
    return [choice, sh.run(["cat", "note"]).text]
`
	slowScript = `
def main():
    return agent("slow", "tick", on_uncertain = "retry")
`
)

// What a newcomer does: the machine that carries a review dies, and its gate is answered on
// another.
func TestTheMachineOfAReviewDies(t *testing.T) {
	server := runtimetest.StartPostgres(t)
	project := fmt.Sprintf("[store]\nurl = %q\nlease = \"2s\"\n[secrets.db]\nenv = \"DB_PASSWORD\"\n[sh]\nallow = [\"cat\"]\n",
		strings.Replace(server.Address(), ":secret@", ":{db}@", 1))
	t.Setenv("DB_PASSWORD", "secret")
	files := map[string]string{"starling.toml": project, "review.star": reviewScript, "note": "brought"}
	one, two, three := newMachine(t, files), newMachine(t, files), newMachine(t, files)
	if said := one.wants(7, "run", "review.star"); !strings.Contains(said, "nobody owns it, and only starling serve owns a store in a database") {
		t.Errorf("without a server: %s", said)
	}
	port := runtimetest.FreePort(t)
	first := one.serve("--http", fmt.Sprintf("127.0.0.1:%d", port))
	first.says("serving postgres://starling@")
	second := two.serve("--http", fmt.Sprintf("127.0.0.1:%d", runtimetest.FreePort(t)))
	at := fmt.Sprintf("http://127.0.0.1:%d", port)
	second.says("at " + at)

	// Who asks the standby is told who owns the store, at its address and on its machine.
	one.wants(3, "run", "review.star", "--key", "start")
	for _, m := range []*machine{two, three} {
		if said := m.wants(7, "signal", "@last/merge", "--choice", "yes"); !strings.Contains(said, "owns it") || !strings.Contains(said, "--server "+at) {
			t.Errorf("where another machine owns the store: %s", said)
		}
		if said := m.wants(0, "ps"); !strings.Contains(said, "suspended") { // looking asks the database
			t.Errorf("looking at it: %s", said)
		}
	}
	answer, err := http.Get("http://" + second.address() + "/v1/list_runs")
	if err != nil {
		t.Fatal(err)
	}
	body, _ := io.ReadAll(answer.Body)
	answer.Body.Close()
	if answer.StatusCode != http.StatusServiceUnavailable || !strings.Contains(string(body), `"address":"`+at+`"`) {
		t.Errorf("the standby answers %d: %s", answer.StatusCode, body)
	}

	first.end(syscall.SIGKILL)
	second.says("carrying 1 unfinished runs")
	two.wants(0, "signal", "@last/merge", "--choice", "yes")
	two.wants(3, "wait", "@last")
	if said := two.wants(0, "show", "@last"); !strings.Contains(said, "!workspace") || !strings.Contains(said, one.dir) {
		t.Errorf("away from its workspace it shows %s", said)
	}
	two.wants(0, "signal", "@last/!workspace", "--choice", "fail", "--key", "k", "--json")
	two.wants(1, "wait", "@last")

	// The first machine comes back, stands by, and takes the store when the second gives it back.
	first = one.serve()
	first.says("standing by")
	second.end(terminate)
	first.says("carrying 0 unfinished runs")
	one.wants(3, "run", "review.star")
	one.wants(0, "signal", "@last/merge", "--choice", "yes")
	one.wants(0, "wait", "@last")
	if said := one.wants(0, "show", "@last", "--json"); !strings.Contains(said, `"output":["yes","brought"]`) {
		t.Errorf("at home it came to %s", said)
	}
	for _, m := range []*machine{one, two, three} { // nobody has written the password down
		filepath.WalkDir(m.home, func(path string, d fs.DirEntry, err error) error {
			if text, err := os.ReadFile(path); err == nil && strings.Contains(string(text), "secret") {
				t.Errorf("%s holds the password", path)
			}
			return nil
		})
	}
}

// What docs/database.md shows for PostgreSQL does what it says.
func TestCommandsInPostgres(t *testing.T) {
	project := fmt.Sprintf("[store]\nurl = %q\n[secrets.db]\nenv = \"DB_PASSWORD\"\n",
		strings.Replace(runtimetest.StartPostgres(t).Address(), ":secret@", ":{db}@", 1))
	t.Setenv("DB_PASSWORD", "secret")
	m := newMachine(t, map[string]string{"starling.toml": project, "review.star": asksForReview})
	commands := commandsFor(t, "In PostgreSQL,")
	if commands[0] != "starling serve" {
		t.Fatalf("it begins with %q", commands[0])
	}
	m.serve().says("carrying 0 unfinished runs")
	m.typesReview(commands[1:])
}

// address is where the server says that it answers; one that stands by listens there too.
func (s *serving) address() string {
	for i, a := range s.Args {
		if a == "--http" {
			return s.Args[i+1]
		}
	}
	return ""
}

// An owner that is cut off from the database has ended its agents before another machine owns the
// store; then it stands by.
func TestAnOwnerThatIsCutOffEndsItsAgents(t *testing.T) {
	server := runtimetest.StartPostgres(t)
	t.Run("cut off", func(t *testing.T) { testCutOff(t, server, false) })
	t.Run("stopped", func(t *testing.T) { testCutOff(t, server, true) })
}

// testCutOff cuts a server off, or stops its process, which does nothing itself then.
func testCutOff(t *testing.T, server *runtimetest.Postgres, stops bool) {
	proxy := runtimetest.StartProxy(t, fmt.Sprintf("127.0.0.1:%d", server.Port))
	address := server.Address()
	through := strings.Replace(address, fmt.Sprintf(":%d/", server.Port), fmt.Sprintf(":%d/", proxy.Port), 1)
	ticks := filepath.Join(t.TempDir(), "ticks")
	files := map[string]string{"slow.star": slowScript, "starling.toml": fmt.Sprintf(
		"[store]\nlease = \"2s\"\n[agents.slow]\nsandbox = false\ncommand = [\"sh\", \"-c\", \"while :; do date +%%s%%N >> %s; sleep 0.02; done\"]\n", ticks)}
	one, two := newMachine(t, files), newMachine(t, files)
	first := one.serve("--store", through)
	first.says("serving")
	asked := one.command("run", "slow.star", "--store", through)
	asked.Stderr = os.Stderr
	if err := asked.Start(); err != nil {
		t.Fatal(err)
	}
	defer asked.Wait()
	for end := time.Now().Add(time.Minute); !place.Exists(ticks); time.Sleep(10 * time.Millisecond) {
		if time.Now().After(end) {
			t.Fatal("the agent does nothing")
		}
	}
	second := two.serve("--store", address)
	cut := func() {
		proxy.Swallow(true, true)
		first.says("its attempts are ended")
	}
	if stops {
		cut = func() { _ = first.Process.Signal(syscall.SIGSTOP) }
	}
	second.says("standing by")
	cut()
	second.says("serving")
	taken := time.Now()
	text, err := os.ReadFile(ticks)
	if err != nil {
		t.Fatal(err)
	}
	all := strings.Fields(string(text))
	last, err := strconv.ParseInt(all[len(all)-1], 10, 64)
	if err != nil {
		t.Fatal(err)
	}
	if early := taken.Sub(time.Unix(0, last)); early < 0 {
		t.Errorf("the agent worked until %v after another owned the store", -early)
	} else {
		t.Logf("the agent ended %v before another owned the store", early)
	}
	_ = first.Process.Signal(syscall.SIGCONT)
	proxy.Swallow(false, false)
	proxy.Cut()
	first.says("standing by")
}
