package transfer_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"maps"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"starling/runtime"
	"starling/runtime/badger"
	"starling/runtime/runtimetest"
	"starling/runtime/transfer"
)

func folder(t *testing.T) transfer.Place { return transfer.Folder(filepath.Join(t.TempDir(), "store")) }

// content is all that a store holds, but for what a move says of itself.
func content(t *testing.T, s transfer.Store) map[string]string {
	t.Helper()
	all := map[string]string{}
	err := errors.Join(
		s.Scan(nil, nil, func(k, v []byte) error {
			if !strings.HasPrefix(string(k), "m/") {
				all["key "+string(k)] = string(v)
			}
			return nil
		}),
		s.Heads(func(f runtime.Fence) error {
			all["run "+f.Run] = fmt.Sprintf("%d %x", f.Next, f.Head)
			return nil
		}))
	if err != nil {
		t.Fatal(err)
	}
	return all
}

// fill commits what is awkward: empty and large values, runs with a head and without one, many.
func fill(t *testing.T, p transfer.Place) map[string]string {
	t.Helper()
	s, err := p.Open(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	put := func(b *runtime.Batch) {
		t.Helper()
		if err := s.Commit(t.Context(), b); err != nil {
			t.Fatal(err)
		}
	}
	put(&runtime.Batch{Writes: []runtime.Write{{Key: []byte("empty"), Value: []byte{}}, {Key: []byte("m/index"), Value: []byte("1")},
		{Key: []byte("large"), Value: bytes.Repeat([]byte("large"), 1<<20)}}})
	for n := range 2500 {
		f := runtime.Fence{Run: fmt.Sprintf("run%04d", n), Next: uint64(n + 1)}
		if n%2 == 0 {
			f.Head = bytes.Repeat([]byte{byte(n)}, n%300+1)
		}
		put(&runtime.Batch{Fences: []runtime.Fence{f}, Writes: []runtime.Write{{Key: fmt.Appendf(nil, "key/%d\xff\x00", n), Value: fmt.Appendf(nil, "v%d", n)}}})
	}
	return content(t, s)
}

func look(t *testing.T, p transfer.Place) map[string]string {
	t.Helper()
	s, err := p.Open(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	if err := transfer.Unfinished(s); err != nil {
		t.Error(err)
	}
	return content(t, s)
}

func same(t *testing.T, got, want map[string]string) {
	t.Helper()
	if maps.Equal(got, want) {
		return
	}
	for _, k := range slices.Sorted(maps.Keys(want)) {
		if got[k] != want[k] {
			t.Fatalf("%d entries, wanted %d; %s: got %.40q, wanted %.40q", len(got), len(want), k, got[k], want[k])
		}
	}
	t.Fatalf("%d entries, wanted %d", len(got), len(want))
}

// refused wants an error that says something.
func refused(t *testing.T, err error, want string) {
	t.Helper()
	if err == nil || !strings.Contains(err.Error(), want) {
		t.Errorf("got %v, wanted %s", err, want)
	}
}

// testMove moves a store from one place to others of a kind, there and back.
func testMove(t *testing.T, a, b, c transfer.Place) {
	want := fill(t, a)
	r, err := transfer.Move(t.Context(), a, b)
	if err != nil {
		t.Fatal(err)
	}
	if r.Keys != len(want)-2500 || r.Runs != 2500 || r.Back {
		t.Errorf("got %+v, wanted %d keys and 2500 runs", r, len(want)-2500)
	}
	if moved, err := a.State(t.Context()); moved != b.Name() || err != nil {
		t.Errorf("the old store was moved to %q, %v, wanted %q", moved, err, b.Name())
	}
	_, err = transfer.Move(t.Context(), a, c)
	refused(t, err, a.Name()+": the store was moved to "+b.Name())
	if r, err = transfer.Move(t.Context(), a, b); err != nil || !r.Already || r.Keys != 0 {
		t.Errorf("repeated after its end: got %+v, %v", r, err)
	}
	same(t, look(t, b), want)

	// Taken back, with what was there, and moved again elsewhere.
	r, err = transfer.Move(t.Context(), b, a)
	if err != nil || !r.Back {
		t.Fatalf("taken back: got %+v, %v", r, err)
	}
	same(t, look(t, a), want)
	if moved, _ := b.State(t.Context()); moved != a.Name() {
		t.Errorf("the new store was moved to %q, wanted %q", moved, a.Name())
	}
	if _, err := transfer.Move(t.Context(), a, c); err != nil {
		t.Fatal(err)
	}

	// What went on there is not taken back over it.
	s, err := c.Open(t.Context())
	if err == nil {
		err = errors.Join(s.Commit(t.Context(), &runtime.Batch{Writes: []runtime.Write{{Key: []byte("later"), Value: []byte("v")}}}), s.Close())
	}
	if err != nil {
		t.Fatal(err)
	}
	_, err = transfer.Move(t.Context(), c, a)
	refused(t, err, a.Name()+": the move is not taken back: 1 batches were committed since to "+c.Name())
	want["key later"] = "v"
	same(t, look(t, c), want)
}

func TestMove(t *testing.T) { testMove(t, folder(t), folder(t), folder(t)) }

func TestMoveToDatabase(t *testing.T) {
	server := runtimetest.StartPostgres(t)
	database := func() transfer.Place { return transfer.Database{Address: server.Address()} }
	t.Run("there", func(t *testing.T) { testMove(t, folder(t), database(), database()) })
	t.Run("and back", func(t *testing.T) { testMove(t, database(), folder(t), folder(t)) })
}

// dying is a place whose store dies at a commit, or while it is marked.
type dying struct {
	transfer.Place
	left *int // commits and marks to let pass
}

var errDied = errors.New("the process died here")

func (d dying) die() error {
	if *d.left--; *d.left < 0 {
		return errDied
	}
	return nil
}

func (d dying) Open(ctx context.Context) (transfer.Store, error) {
	s, err := d.Place.Open(ctx)
	if err != nil {
		return nil, err
	}
	return dyingStore{s, d}, nil
}

func (d dying) Retire(ctx context.Context, n uint64, to string) error {
	if err := d.die(); err != nil {
		return err
	}
	return d.Place.Retire(ctx, n, to)
}

type dyingStore struct {
	transfer.Store
	d dying
}

func (s dyingStore) Commit(ctx context.Context, b *runtime.Batch) error {
	if err := s.d.die(); err != nil {
		return err
	}
	return s.Store.Commit(ctx, b)
}

// Wherever a move is interrupted, one of the two stores opens at most, and the move can be
// repeated; so can taking it back.
func TestInterruptedMove(t *testing.T) {
	usable := func(p transfer.Place) bool {
		if moved, err := p.State(t.Context()); err != nil || moved != "" {
			return false
		}
		s, err := p.Open(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		defer s.Close()
		empty := true
		s.Scan(nil, nil, func(_, _ []byte) error { empty = false; return runtime.ErrStopScan })
		return !empty && transfer.Unfinished(s) == nil
	}
	a, b := folder(t), folder(t)
	want := fill(t, a)
	through := false
	for passed := 0; !through; passed++ {
		left := passed
		_, err := transfer.Move(t.Context(), dying{a, &left}, dying{b, &left})
		if through = err == nil; !through && !errors.Is(err, errDied) {
			t.Fatal(err)
		}
		if old, new := usable(a), usable(b); old && new || through && !new {
			t.Fatalf("after %d commits and marks: the old store opens: %v, the new one: %v", passed, old, new)
		}
	}
	same(t, look(t, b), want)
	through = false
	for passed := 0; !through; passed++ {
		left := passed
		_, err := transfer.Move(t.Context(), dying{b, &left}, dying{a, &left})
		if through = err == nil; !through && !errors.Is(err, errDied) {
			t.Fatal(err)
		}
		if old, new := usable(a), usable(b); old && new || through && !old {
			t.Fatalf("taken back, after %d marks: the old store opens: %v, the new one: %v", passed, old, new)
		}
	}
	same(t, look(t, a), want)
}

func TestBadMoves(t *testing.T) {
	a, b, none := folder(t), folder(t), folder(t)
	fill(t, a)
	s, err := b.Open(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	_, err = transfer.Move(t.Context(), a, b)
	if !errors.Is(err, runtime.ErrLocked) {
		t.Errorf("to one that is open: got %v, wanted %v", err, runtime.ErrLocked)
	}
	s.Close()
	_, err = transfer.Move(t.Context(), none, b)
	if !errors.Is(err, runtime.ErrNoStore) {
		t.Errorf("from nowhere: got %v, wanted %v", err, runtime.ErrNoStore)
	}
	_, err = transfer.Move(t.Context(), a, a)
	refused(t, err, "twice, want two places")
	if _, err := badger.Open(b.Name(), badger.Options{ReadOnly: true}); err != nil {
		t.Errorf("what was refused has changed the other store: %v", err)
	}
}
