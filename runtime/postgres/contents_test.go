package postgres_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"starling/runtime"
	"starling/runtime/journal"
	"starling/runtime/postgres"
	"starling/runtime/runtimetest"
)

// Contents have no owner: any number of processes make their table, write and read at once, beside
// a store that has one.
func TestContents(t *testing.T) {
	server := runtimetest.StartPostgres(t)
	address := server.Address()
	open(t, address, postgres.Options{})
	contents := func() *postgres.Contents {
		c := postgres.NewContents(address, t.Logf)
		t.Cleanup(c.Close)
		return c
	}
	ctx := t.Context()
	if _, err := contents().Get(ctx, "none"); !errors.Is(err, runtime.ErrNoKey) {
		t.Errorf("before there is a table: got %v, want %v", err, runtime.ErrNoKey)
	}
	large := bytes.Repeat([]byte("large "), 1<<20)
	var all sync.WaitGroup
	for i := range 8 {
		all.Go(func() {
			c := contents()
			for _, b := range [][]byte{large, fmt.Append(nil, i)} {
				if err := c.Put(ctx, journal.HashOf(b), b); err != nil {
					t.Error(err)
				}
			}
		})
	}
	all.Wait()
	server.Kill() // what Put has returned of is durable
	server.Start()
	other := contents()
	for _, b := range [][]byte{large, []byte("0"), []byte("7")} {
		if got, err := other.Get(ctx, journal.HashOf(b)); err != nil || !bytes.Equal(got, b) {
			t.Errorf("got %d bytes, %v, want %d", len(got), err, len(b))
		}
	}
	if _, err := other.Get(ctx, "none"); !errors.Is(err, runtime.ErrNoKey) {
		t.Errorf("what is not there: got %v, want %v", err, runtime.ErrNoKey)
	}
}

// What keeps contents from being had is one sentence without the password.
func TestContentsAreRefused(t *testing.T) {
	t.Setenv("PGPASSWORD", "")
	server := runtimetest.StartPostgres(t)
	at := func(user string) string { return fmt.Sprintf("postgres://%s@127.0.0.1:%d/starling", user, server.Port) }
	made := postgres.NewContents(at("starling:secret"), t.Logf)
	defer made.Close()
	if err := made.Put(t.Context(), "hash", []byte("content")); err != nil {
		t.Fatal(err)
	}
	server.Query("create role reader login password 'secret'; grant select on starling_contents to reader")
	refused := func(address string, kind runtime.ErrorKind, want string, do func(context.Context, *postgres.Contents) error) {
		t.Helper()
		c := postgres.NewContents(address, t.Logf)
		defer c.Close()
		ctx, cancel := context.WithTimeout(t.Context(), 2*time.Second)
		defer cancel()
		r := runtime.AsRefusal(do(ctx, c))
		if r.Kind != kind || !strings.HasSuffix(r.Message, want) || strings.Contains(r.Message, "\n") {
			t.Errorf("got %s: %s\nwant %s: %s", r.Kind, r.Message, kind, want)
		}
		if said := r.Message + r.Help; strings.Contains(said, "secret") || strings.Contains(said, "wr0ng") {
			t.Errorf("the password is in %q", said)
		}
	}
	put := func(ctx context.Context, c *postgres.Contents) error { return c.Put(ctx, "other", []byte("content")) }
	get := func(ctx context.Context, c *postgres.Contents) error {
		_, err := c.Get(ctx, "hash")
		return err
	}
	refused(at("starling:wr0ng"), runtime.ErrStoreUnreachable, `the server says: password authentication failed for user "starling"`, get)
	refused("postgres://starling:secret@127.0.0.1:1/starling", runtime.ErrStoreUnreachable, "nothing answers there: connection refused", put)
	refused(at("reader:secret"), runtime.ErrKindReadOnly, "the server says: permission denied for table starling_contents", put)
	reader := postgres.NewContents(at("reader:secret"), t.Logf)
	defer reader.Close()
	if b, err := reader.Get(t.Context(), "hash"); err != nil || string(b) != "content" {
		t.Errorf("who may only read gets %q, %v", b, err)
	}
}
