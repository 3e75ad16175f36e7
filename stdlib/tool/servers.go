package tool

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"starling/lang/effect"
	"starling/stdlib/confine"
	"starling/stdlib/process"
	"starling/stdlib/project"
	"starling/stdlib/redact"
	"starling/stdlib/secret"
)

// maxKnown bounds the runs times servers whose definitions are remembered.
const maxKnown = 10_000

// Servers are the tool servers at work in this process. A server belongs to a run: what one run has
// told it is no other's business.
type Servers struct {
	mu      sync.Mutex // protects what is below
	running map[string]*instance
	known   map[string]string // hashes of definitions by run and server, as they were first seen
	order   []string          // keys of known, the oldest first
}

// NewServers makes a pool in which nothing runs.
func NewServers() *Servers {
	return &Servers{running: map[string]*instance{}, known: map[string]string{}}
}

// instance is a server that is being started or at work.
type instance struct {
	key    string
	users  int           // protected by Servers.mu
	ready  chan struct{} // closed when conn or fault is set
	cancel context.CancelFunc
	conn   *connection
	fault  *Fault
}

// acquire gives the server of a definition, started if need be. Each acquire that succeeds needs a
// release.
func (s *Servers) acquire(ctx context.Context, a *effect.Attempt, d Definition, e equipment) (*instance, *Fault) {
	key := identity(a, d)
	s.mu.Lock()
	i := s.running[key]
	if i == nil || i.lost() {
		i = s.start(key, d, e)
	}
	i.users++
	s.mu.Unlock()
	select {
	case <-i.ready:
		if i.fault != nil {
			s.release(i)
			return nil, i.fault
		}
		return i, nil
	case <-ctx.Done():
		s.release(i)
		return nil, faultf(Cancelled, d.Name, "", "cancelled while it was started")
	}
}

// start begins to start a server; s.mu is held. It goes on when whoever asked first has gone:
// others may wait for it.
func (s *Servers) start(key string, d Definition, e equipment) *instance {
	ctx, cancel := context.WithCancel(context.Background())
	i := &instance{key: key, ready: make(chan struct{}), cancel: cancel}
	s.running[key] = i
	go func() {
		defer close(i.ready)
		i.conn, i.fault = connect(ctx, d, e)
	}()
	return i
}

// lost tells whether a server was started and has gone, or could not be started.
func (i *instance) lost() bool {
	select {
	case <-i.ready:
		return i.fault != nil || i.conn.gone()
	default:
		return false
	}
}

// release gives a server back. The last to do so ends it, and returns when it is gone.
func (s *Servers) release(i *instance) {
	s.mu.Lock()
	i.users--
	last := i.users == 0
	if last && s.running[i.key] == i {
		delete(s.running, i.key)
	}
	s.mu.Unlock()
	if !last {
		return
	}
	i.cancel()
	<-i.ready
	if i.conn != nil {
		i.conn.end()
	}
}

// same compares the definitions of a server with those that the run has seen first, and with what
// the project expects.
func (s *Servers) same(run string, d Definition, hash string) *Fault {
	if d.Definitions != "" && d.Definitions != hash {
		return faultf(Changed, d.Name, "", "the definitions of its tools have the hash %s, and the project expects %s; look at them with `starling tools ls %s`, then correct definitions of [tools.%s]",
			hash, d.Definitions, d.Name, d.Name)
	}
	key := run + "\x00" + d.Name
	s.mu.Lock()
	defer s.mu.Unlock()
	first, seen := s.known[key]
	if !seen {
		s.known[key] = hash
		if s.order = append(s.order, key); len(s.order) > maxKnown {
			delete(s.known, s.order[0])
			s.order = slices.Delete(s.order, 0, 1)
		}
		return nil
	}
	if first != hash {
		return faultf(Changed, d.Name, "", "the server has changed the definitions of its tools since the run saw them first (%s, now %s); it is not called any more", first, hash)
	}
	return nil
}

// identity tells servers apart: by run, workspace and definition; one of the run's own by attempt.
func identity(a *effect.Attempt, d Definition) string {
	whose := a.Run
	if d.own() {
		whose = fmt.Sprint(a.Key, "\x00", a.Number)
	}
	sum := sha256.Sum256([]byte(whose + "\x00" + a.Settings.Workspace + "\x00" + string(d.payload())))
	return hex.EncodeToString(sum[:12])
}

// equipment is what a server is given that is not recorded: the values of variables and secrets.
type equipment struct {
	spec    process.Spec
	headers http.Header
	shown   *redact.Redactor
	home    string      // HOME and TMPDIR of a program in a sandbox
	own     *mcp.Server // that of this process, for one of its own
}

// makeHome makes an empty folder, the same for every start of the server, so that what a crash has
// left is found.
func (e equipment) makeHome(d Definition) *Fault {
	if e.home == "" {
		return nil
	}
	err := os.RemoveAll(e.home)
	if err == nil {
		err = os.Mkdir(e.home, 0o700) // fails where somebody else has put something meanwhile
	}
	if err != nil {
		return faultf(NotStarted, d.Name, "", "the folder for its files cannot be made: %v", err)
	}
	return nil
}

// equip finds the values for the attempt. hide is what whoever calls was given, and may repeat.
func equip(ctx context.Context, a *effect.Attempt, d Definition, hide *redact.Redactor) (equipment, *Fault) {
	e := equipment{headers: http.Header{}, shown: new(redact.Redactor)}
	missing := func(err error) (equipment, *Fault) {
		f := faultf(NotStarted, d.Name, "", "%v", err)
		f.Missing = true
		return e, f
	}
	set := []string{"STARLING_RUN_ID=" + a.Run}
	for _, name := range d.Env {
		value, ok := a.Env(name)
		if !ok {
			return missing(fmt.Errorf("the environment variable %s, which [tools.%s] declares, has no value; set it and resume the run", name, d.Name))
		}
		e.shown.Hide(name, value)
		set = append(set, name+"="+value)
	}
	for _, use := range d.Secrets {
		text, err := e.fill(ctx, a, use)
		if err != nil {
			return missing(err)
		}
		set = append(set, use.Key+"="+text)
		e.headers.Set(use.Key, text)
	}
	if d.Sandbox != nil {
		e.home = filepath.Join(os.TempDir(), "starling-tools-"+identity(a, d))
		set = append(set, "HOME="+e.home, "TMPDIR="+e.home)
	}
	if d.own() {
		e.own = variables(a, hide)
		return e, nil
	}
	if d.URL == "" {
		e.spec = spec(a, d, e.home, process.Environment(os.Environ(), nil, set...))
		e.spec.Hide = e.shown
	}
	return e, nil
}

// fill puts the values of secrets into a text.
func (e *equipment) fill(ctx context.Context, a *effect.Attempt, use project.SecretUse) (string, error) {
	text, err := secret.Fill(ctx, a, use.Text, e.shown)
	if err == nil && strings.ContainsAny(text, "\r\n\x00") {
		err = fmt.Errorf("the value of %s has a line break", use.Key)
	}
	return text, err
}

// spec is the process of a server. It works in the workspace. Its lock keeps two of it apart, and
// says whom it works for.
func spec(a *effect.Attempt, d Definition, home string, env []string) process.Spec {
	s := process.Spec{Argv: slices.Clone(d.Command), Dir: a.Settings.Workspace, Env: env, Attempt: process.Attempt{Run: a.Run, Step: a.Step, Attempt: a.Number}, Host: a}
	if program := s.Argv[0]; strings.Contains(program, "/") && !filepath.IsAbs(program) {
		s.Argv[0] = filepath.Join(d.Dir, program)
	}
	if lock := a.Lock(); lock != "" {
		s.Lock = filepath.Join(filepath.Dir(lock), "tools-"+identity(a, d))
	}
	if box := d.Sandbox; box != nil {
		confine.Program(a, &s, confine.Order{Level: box.Level, Home: home, Read: box.Read, Write: box.Write, Network: box.Network})
	}
	return s
}
