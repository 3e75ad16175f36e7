package runtimetest

import (
	"crypto/rand"
	"flag"
	"fmt"
	"net"
	"os"
	"os/exec"
	"os/user"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"
)

var withPostgres = flag.Bool("postgres", false, "start a PostgreSQL server and test on it; it needs initdb, postgres and psql")

// Postgres is a PostgreSQL server of a test, with a database of its own.
type Postgres struct {
	Port int
	dir  string
	run  *exec.Cmd
	test testing.TB
}

// StartPostgres starts a server on a free port of the loopback, with the database and the user
// starling, whose password is "secret". It syncs as servers do. It ends with the test, which is
// left out without the flag -postgres.
func StartPostgres(t testing.TB) *Postgres {
	t.Helper()
	if !*withPostgres {
		t.Skip("it needs a PostgreSQL server: go test with -postgres")
	}
	dir, err := os.MkdirTemp("", "pg")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.RemoveAll(dir) })
	p := &Postgres{Port: FreePort(t), dir: filepath.Join(dir, "data"), test: t}
	if err := os.WriteFile(filepath.Join(dir, "password"), []byte("secret\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	if owner, ok := p.unprivileged(); ok {
		if err := os.Chown(dir, int(owner.Uid), int(owner.Gid)); err != nil {
			t.Fatal(err)
		}
	}
	p.must(p.command("initdb", "--pgdata", p.dir, "--username", "starling", "--auth", "scram-sha-256",
		"--pwfile", filepath.Join(dir, "password"), "--encoding", "UTF8", "--no-locale").CombinedOutput())
	p.Start()
	t.Cleanup(func() { p.Kill() })
	p.Query("create database starling")
	return p
}

// Replica starts a copy of the server that follows what happens at a port, where it or a proxy of
// it is. It takes no changes until it is promoted.
func (p *Postgres) Replica(port int) *Postgres {
	p.test.Helper()
	dir, err := os.MkdirTemp("", "replica")
	if err != nil {
		p.test.Fatal(err)
	}
	p.test.Cleanup(func() { os.RemoveAll(dir) })
	r := &Postgres{Port: FreePort(p.test), dir: filepath.Join(dir, "data"), test: p.test}
	backup := r.command("pg_basebackup", "-D", r.dir, "-h", "127.0.0.1", "-p", strconv.Itoa(port), "-U", "starling", "-R", "-c", "fast")
	backup.Env = append(os.Environ(), "PGPASSWORD=secret")
	p.must(backup.CombinedOutput())
	r.Start()
	p.test.Cleanup(func() { r.Kill() })
	return r
}

// command makes a command of the server's, as a user that it accepts: it refuses to be root.
func (p *Postgres) command(name string, args ...string) *exec.Cmd {
	path, err := exec.LookPath(name)
	if err != nil {
		found, _ := filepath.Glob("/usr/lib/postgresql/*/bin/" + name)
		if len(found) == 0 {
			p.test.Fatalf("PostgreSQL's %s is not installed: on Debian, apt-get install postgresql", name)
		}
		path = found[len(found)-1]
	}
	return p.Command(filepath.Dir(p.dir), path, args...)
}

// Command makes a command that runs in a folder as the user of the server, who is not root.
func (p *Postgres) Command(dir, path string, args ...string) *exec.Cmd {
	cmd := exec.Command(path, args...)
	cmd.Dir = dir
	cmd.SysProcAttr = &syscall.SysProcAttr{}
	if owner, ok := p.unprivileged(); ok {
		cmd.SysProcAttr.Credential = owner
		_ = os.Chown(dir, int(owner.Uid), int(owner.Gid)) // else the command says so
	}
	return cmd
}

func (p *Postgres) unprivileged() (*syscall.Credential, bool) {
	if os.Geteuid() != 0 {
		return nil, false
	}
	u, err := user.Lookup("postgres")
	if err != nil {
		p.test.Fatalf("PostgreSQL does not run as root, and there is no user postgres: %v", err)
	}
	uid, _ := strconv.Atoi(u.Uid)
	gid, _ := strconv.Atoi(u.Gid)
	return &syscall.Credential{Uid: uint32(uid), Gid: uint32(gid)}, true
}

func (p *Postgres) must(said []byte, err error) {
	p.test.Helper()
	if err != nil {
		p.test.Fatalf("%v: %s", err, said)
	}
}

// Start starts the server, and returns when it answers.
func (p *Postgres) Start() {
	p.test.Helper()
	p.run = p.command("postgres", "-D", p.dir, "-p", strconv.Itoa(p.Port), "-c", "listen_addresses=127.0.0.1",
		"-c", "unix_socket_directories="+filepath.Dir(p.dir), "-c", "max_connections=300", "-c", "log_min_messages=fatal")
	if err := p.run.Start(); err != nil {
		p.test.Fatal(err)
	}
	for end := time.Now().Add(time.Minute); ; time.Sleep(50 * time.Millisecond) {
		if _, err := p.query("postgres", "select 1"); err == nil {
			return
		} else if time.Now().After(end) {
			p.test.Fatalf("the server does not answer: %v", err)
		}
	}
}

// Kill ends the server as a power cut would end its processes, and returns when it is gone.
func (p *Postgres) Kill() { p.end(syscall.SIGQUIT) }

// Stop has the server end its connections and leave in good order.
func (p *Postgres) Stop() { p.end(syscall.SIGINT) }

func (p *Postgres) end(s syscall.Signal) {
	if p.run != nil {
		_ = p.run.Process.Signal(s)
		_ = p.run.Wait() // its code tells of the signal
		p.run = nil
	}
}

// Query has psql send statements as the superuser, and gives what they print.
func (p *Postgres) Query(sql string) string {
	p.test.Helper()
	out, err := p.query(p.database(), sql)
	if err != nil {
		p.test.Fatalf("%s: %v: %s", sql, err, out)
	}
	return strings.TrimSpace(string(out))
}

func (p *Postgres) database() string {
	if _, err := p.query("starling", "select 1"); err != nil {
		return "postgres"
	}
	return "starling"
}

func (p *Postgres) query(database, sql string) ([]byte, error) {
	cmd := exec.Command("psql", "-h", "127.0.0.1", "-p", strconv.Itoa(p.Port), "-U", "starling", "-d", database, "-XAtqc", sql)
	cmd.Env = append(os.Environ(), "PGPASSWORD=secret")
	return cmd.CombinedOutput()
}

// Address is that of a new, empty schema, which is a place for one store.
func (p *Postgres) Address() string {
	p.test.Helper()
	schema := "s" + strings.ToLower(rand.Text())
	p.Query("create schema " + schema)
	return fmt.Sprintf("postgres://starling:secret@127.0.0.1:%d/starling?search_path=%s", p.Port, schema)
}

// FreePort is a port of the loopback on which nobody listens.
func FreePort(t testing.TB) int {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	return l.Addr().(*net.TCPAddr).Port
}
