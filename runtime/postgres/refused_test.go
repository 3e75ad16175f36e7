package postgres_test

import (
	"bytes"
	"context"
	"encoding/binary"
	"fmt"
	"io"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"starling/runtime"
	"starling/runtime/postgres"
	"starling/runtime/runtimetest"
)

// refused wants one sentence and exit code 7, and no password in it.
func refused(t *testing.T, address string, o postgres.Options, kind runtime.ErrorKind, want string) {
	t.Helper()
	t.Setenv("PGPASSWORD", "")
	ctx, cancel := context.WithTimeout(t.Context(), 20*time.Second)
	defer cancel()
	s, err := postgres.Open(ctx, address, o)
	if err == nil {
		s.Close()
		t.Errorf("it opened, wanted %s", want)
		return
	}
	r := runtime.AsRefusal(err)
	if r.Kind != kind || !strings.HasSuffix(r.Message, want) || strings.Contains(r.Message, "\n") {
		t.Errorf("got  %s: %s\nwanted %s: %s", r.Kind, r.Message, kind, want)
	}
	if code := kind.ExitCode(); code != 7 && kind != runtime.ErrUsage {
		t.Errorf("%s has the exit code %d, wanted 7", kind, code)
	}
	for _, secret := range []string{"secret", "wr0ng"} {
		if said := r.Message + r.Help + err.Error(); strings.Contains(said, secret) {
			t.Errorf("the password is in %q", said)
		}
	}
}

func TestRefusals(t *testing.T) {
	server := runtimetest.StartPostgres(t)
	server.Query("create role reader login password 'secret'; grant usage on schema public to reader")
	at := func(user, host, database, more string) string {
		return fmt.Sprintf("postgres://%s@%s/%s?%s", user, strings.Replace(host, "PORT", fmt.Sprint(server.Port), 1), database, more)
	}
	const here = "127.0.0.1:PORT"
	reading := postgres.Options{ReadOnly: true}
	kind := runtime.ErrStoreUnreachable
	refused(t, at("starling:wr0ng", here, "starling", ""), postgres.Options{}, kind, `the server says: password authentication failed for user "starling"`)
	refused(t, at("starling", here, "starling", "password=wr0ng"), postgres.Options{}, kind, `the server says: password authentication failed for user "starling"`)
	refused(t, at("nobody:secret", here, "starling", ""), postgres.Options{}, kind, `the server says: password authentication failed for user "nobody"`)
	refused(t, at("starling:secret", here, "nowhere", ""), postgres.Options{}, kind, `the server says: database "nowhere" does not exist`)
	refused(t, at("starling:secret", here, "starling", "search_path=nowhere"), postgres.Options{}, kind, "the server says: no schema has been selected to create in")
	refused(t, at("starling:secret", "no.such.host.invalid:PORT", "starling", ""), postgres.Options{}, kind, "the host no.such.host.invalid is not known")
	refused(t, at("starling:secret", "127.0.0.1:1", "starling", ""), postgres.Options{}, kind, "nothing answers there: connection refused")
	refused(t, at("starling:secret", here, "starling", "sslmode=require"), postgres.Options{}, kind, "server refused TLS connection")
	refused(t, at("starling:secret", here, "starling", "sslmode=maybe"), postgres.Options{}, runtime.ErrUsage, "it is no address of a database: sslmode is invalid")
	refused(t, at("starling:wr0ng%zz", here, "starling", ""), postgres.Options{}, runtime.ErrUsage, "it is no address of a database: invalid percent-encoded token in password")
	refused(t, at("reader:secret", here, "starling", ""), postgres.Options{}, runtime.ErrKindReadOnly, "the server says: permission denied for schema public")
	refused(t, at("starling:secret", here, "starling", "default_transaction_read_only=on"), postgres.Options{}, runtime.ErrKindReadOnly,
		"the user may only read there (default_transaction_read_only is on)")
	refused(t, at("starling:secret", here, "starling", ""), reading, runtime.ErrKindNotAStore, "there is no store")

	made := at("starling:secret", here, "starling", "")
	open(t, made, postgres.Options{}).Close()
	refused(t, at("reader:secret", here, "starling", ""), postgres.Options{}, runtime.ErrKindReadOnly, "the server says: permission denied for table starling_store")
	server.Query("grant select on starling_store, starling_keys, starling_runs to reader")
	refused(t, at("reader:secret", here, "starling", ""), postgres.Options{}, runtime.ErrKindReadOnly, "the server says: permission denied for table starling_store")
	open(t, at("reader:secret", here, "starling", ""), reading).Close()
	server.Query("update starling_store set format = 2")
	refused(t, made, postgres.Options{}, runtime.ErrKindNewer, "the store is of a newer format: it has the format 2, this version reads 1")
	refused(t, made, reading, runtime.ErrKindNewer, "the store is of a newer format: it has the format 2, this version reads 1")
	server.Query("alter table starling_store rename holder to holders")
	refused(t, made, postgres.Options{}, runtime.ErrKindNewer, "its tables have other columns")
}

// A server that loses what it acknowledges is used, with a warning.
func TestUnsafeServer(t *testing.T) {
	server := runtimetest.StartPostgres(t)
	server.Query("alter system set fsync = off")
	server.Query("alter system set synchronous_commit = off")
	server.Stop()
	server.Start()
	var said []string
	s := open(t, server.Address(), postgres.Options{Warn: func(format string, args ...any) { said = append(said, fmt.Sprintf(format, args...)) }})
	if err := s.Commit(t.Context(), step("run", 0)); err != nil {
		t.Error(err)
	}
	const want = "warning: fsync is off and full_page_writes on at the server: a power cut there can lose what was acknowledged, or all of the store"
	if len(said) != 1 || said[0] != want {
		t.Errorf("got %q, wanted %q", said, want)
	}
}

// A pooler that shares connections between transactions is refused, and one that does not is used.
func TestPooler(t *testing.T) {
	server := runtimetest.StartPostgres(t)
	path, err := exec.LookPath("pgbouncer")
	if err != nil {
		if path, err = exec.LookPath("/usr/sbin/pgbouncer"); err != nil {
			t.Fatalf("pgbouncer is not installed: on Debian, apt-get install pgbouncer")
		}
	}
	for _, mode := range []string{"transaction", "session"} {
		address := pooled(t, server, path, mode)
		if mode == "transaction" {
			refused(t, address, postgres.Options{}, runtime.ErrKindNotAStore,
				"there is a pooler in transaction mode before the server; name the server itself, or a pool in session mode")
			continue
		}
		s := open(t, address, postgres.Options{})
		if err := s.Commit(t.Context(), step("run", 0)); err != nil {
			t.Error(err)
		}
	}
}

// pooled starts a pooler of a server.
func pooled(t *testing.T, server *runtimetest.Postgres, path, mode string) string {
	dir, err := os.MkdirTemp("", "pooler")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.RemoveAll(dir) })
	port := runtimetest.FreePort(t)
	config := fmt.Sprintf(`[databases]
starling = host=127.0.0.1 port=%d password=secret
[pgbouncer]
listen_addr = 127.0.0.1
listen_port = %d
unix_socket_dir =
auth_type = plain
auth_file = %s/users
pool_mode = %s
default_pool_size = 20
logfile = %s/log
`, server.Port, port, dir, mode, dir)
	for name, text := range map[string]string{"users": `"starling" "secret"`, "ini": config} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	cmd := server.Command(dir, path, "-q", filepath.Join(dir, "ini"))
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { cmd.Process.Kill(); cmd.Wait() })
	address := fmt.Sprintf("127.0.0.1:%d", port)
	for end := time.Now().Add(20 * time.Second); ; time.Sleep(20 * time.Millisecond) {
		if c, err := net.Dial("tcp", address); err == nil {
			c.Close()
			break
		} else if time.Now().After(end) {
			t.Fatal(err)
		}
	}
	return fmt.Sprintf("postgres://starling:secret@%s/starling", address)
}

// A server that is too old is refused before it is asked for anything.
func TestOldServer(t *testing.T) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	go func() {
		for {
			c, err := l.Accept()
			if err != nil {
				return
			}
			go greetAsOld(c)
		}
	}()
	refused(t, fmt.Sprintf("postgres://starling:secret@%s/starling?sslmode=disable", l.Addr()), postgres.Options{}, runtime.ErrKindNotAStore,
		"the server is PostgreSQL 9.6.24; 13 or later is needed")
}

// greetAsOld takes the startup message of a client, lets it in, and reads on.
func greetAsOld(c net.Conn) {
	defer c.Close()
	var length uint32
	if binary.Read(c, binary.BigEndian, &length) != nil {
		return
	}
	io.CopyN(io.Discard, c, int64(length)-4)
	var b bytes.Buffer
	message := func(kind byte, body string) {
		b.WriteByte(kind)
		binary.Write(&b, binary.BigEndian, uint32(4+len(body)))
		b.WriteString(body)
	}
	message('R', "\x00\x00\x00\x00") // let in
	message('S', "server_version\x009.6.24\x00")
	message('K', "\x00\x00\x00\x01\x00\x00\x00\x02")
	message('Z', "I")
	c.Write(b.Bytes())
	io.Copy(io.Discard, c)
}
