package postgres

import (
	"bytes"
	"context"
	"errors"
	"time"

	"starling/runtime"
)

// patience is how long a reader waits for a server that is away; an owner waits as long as its
// lease lasts.
const patience = 5 * time.Second

// patiently does what changes nothing, again where the server is away for a moment.
func (s *Store) patiently(do func(ctx context.Context) error) error {
	end := time.Now().Add(patience)
	for pause := 10 * time.Millisecond; ; pause = min(2*pause, 500*time.Millisecond) {
		err := s.once(do)
		if s.lease != nil {
			end = s.lease.ends()
		}
		if err == nil || !passing(err) || time.Now().Add(pause).After(end) {
			return err
		}
		sleep(s.life, pause)
	}
}

func (s *Store) once(do func(ctx context.Context) error) error {
	ctx, cancel := context.WithTimeout(s.life, patience)
	defer cancel()
	return do(ctx)
}

// read does one reading call, whose failure is told in one sentence.
func (s *Store) read(do func(ctx context.Context) error) error {
	if !s.enter() {
		return runtime.ErrStoreClosed
	}
	defer s.calls.Done()
	if err := s.patiently(do); err != nil {
		return s.unread(err)
	}
	return nil
}

func (s *Store) unread(err error) error {
	if errors.Is(err, runtime.ErrNoKey) {
		return err
	}
	return explained(s.address, err)
}

// Get returns the value of key.
func (s *Store) Get(key []byte) (value []byte, err error) {
	err = s.read(func(ctx context.Context) error {
		err := s.reads.row(ctx, "select v from starling_keys where k = $1", []any{key}, &value)
		if errors.Is(err, errNoRows) {
			err = runtime.ErrNoKey
		}
		return err
	})
	return value, err
}

// Head tells where a run stands, and what was left with it there.
func (s *Store) Head(run string) (at uint64, head []byte, err error) {
	if f, ok := s.commits.head(run); ok && s.enter() {
		defer s.calls.Done()
		return f.Next, bytes.Clone(f.Head), nil
	}
	err = s.read(func(ctx context.Context) error {
		err := s.reads.row(ctx, "select at, head from starling_runs where run = $1", []any{[]byte(run)}, &at, &head)
		if errors.Is(err, errNoRows) {
			at, head, err = 0, nil, nil
		}
		return err
	})
	return at, head, err
}

// Heads calls fn for every run that the store knows, by name, with where it stands and its head.
func (s *Store) Heads(fn func(f runtime.Fence) error) error {
	return s.stream("select run, at, head from starling_runs order by run", nil, func(r *rows) (func() error, error) {
		var run, head []byte
		var at uint64
		err := r.scan(&run, &at, &head)
		return func() error { return fn(runtime.Fence{Run: string(run), Next: at, Head: head}) }, err
	})
}

// Scan calls fn for each key in [from, to). It may be called within fn, and so may Get and Commit;
// Close may not. With no upper bound another statement is sent: one that allows for both is no
// bound of the index.
func (s *Store) Scan(from, to []byte, fn func(key, value []byte) error) error {
	sql, args := "select k, v from starling_keys where k >= $1 and k < $2 order by k", []any{from, to}
	if to == nil {
		sql, args = "select k, v from starling_keys where k >= $1 order by k", []any{from}
	}
	if from == nil {
		args[0] = []byte{}
	}
	return s.stream(sql, args, func(r *rows) (func() error, error) {
		var k, v []byte
		err := r.scan(&k, &v)
		return func() error { return fn(k, v) }, err
	})
}

// held is how many rows a scan reads before it calls its function for the first: a short one
// occupies no connection while it does.
const held = 512

// stream sends one statement, which sees one moment, and gives its rows to what next makes of them.
// A long one takes its connection out of the pool, or scans within scans could wait for each other.
func (s *Store) stream(sql string, args []any, next func(*rows) (func() error, error)) error {
	if !s.enter() {
		return runtime.ErrStoreClosed
	}
	defer s.calls.Done()
	var first []func() error
	var rest *rows
	var own *conn // of the rest
	cancel := func() {}
	err := s.patiently(func(trying context.Context) (err error) {
		var ctx context.Context // of the whole scan, while trying is that of its first rows
		ctx, cancel = context.WithCancel(s.life)
		defer context.AfterFunc(trying, cancel)()
		first, rest, own, err = s.begin(ctx, sql, args, next)
		return err
	})
	defer func() { cancel() }()
	if err != nil {
		return s.unread(err)
	}
	if own != nil {
		defer hangUp(own)
		defer rest.Close()
		defer cancel() // what is not read yet is not waited for
	}
	err = each(first, rest, next)
	switch {
	case errors.Is(err, runtime.ErrStopScan):
		return nil
	case errors.As(err, new(*broken)):
		return explained(s.address, err)
	}
	return err
}

// broken is the end of a scan that the server did not finish.
type broken struct{ error }

func (b *broken) Unwrap() error { return b.error }

// each calls what was read, and then reads on.
func each(first []func() error, rest *rows, next func(*rows) (func() error, error)) error {
	for _, call := range first {
		if err := call(); err != nil {
			return err
		}
	}
	if rest == nil {
		return nil
	}
	for rest.NextRow() {
		call, err := next(rest)
		if err != nil {
			return &broken{err}
		}
		if err := call(); err != nil {
			return err
		}
	}
	if _, err := rest.Close(); err != nil {
		return &broken{err}
	}
	return nil
}

// begin reads the first rows; where there are more, they come from a connection that is the
// caller's.
func (s *Store) begin(ctx context.Context, sql string, args []any, next func(*rows) (func() error, error)) (
	first []func() error, rest *rows, own *conn, err error) {
	c, err := s.reads.take(ctx)
	if err != nil {
		return nil, nil, nil, err
	}
	defer func() {
		if own == nil {
			giveBack(c)
		}
	}()
	r, err := c.Value().query(ctx, sql, args...)
	if err != nil {
		return nil, nil, nil, err
	}
	for r.NextRow() {
		call, err := next(r)
		if err != nil {
			r.Close()
			return nil, nil, nil, err
		}
		if first = append(first, call); len(first) == held {
			c.Hijack()
			return first, r, c.Value(), nil
		}
	}
	_, err = r.Close()
	return first, nil, nil, err
}

// Usage measures the tables.
func (s *Store) Usage() (u runtime.StoreUsage, err error) {
	err = s.read(func(ctx context.Context) error {
		return s.reads.row(ctx, "select pg_total_relation_size('starling_keys') + pg_total_relation_size('starling_runs') + pg_total_relation_size('starling_store')", nil, &u.Tables)
	})
	return u, err
}

// Verify has nothing to read that Damaged does not read: the server checks its own files.
func (s *Store) Verify(ctx context.Context) error { return ctx.Err() }

// Damaged reads every value.
func (s *Store) Damaged(ctx context.Context, _ func(key []byte, err error)) (read int, err error) {
	err = s.Scan(nil, nil, func(_, _ []byte) error {
		read++
		return ctx.Err()
	})
	return read, err
}

// GC has nothing to give back: the server reuses the room of what was deleted.
func (s *Store) GC(ctx context.Context) (files int, err error) { return 0, ctx.Err() }

// Backup is the server's own.
func (s *Store) Backup(context.Context, string) (keys int, bytes int64, err error) {
	return 0, 0, runtime.Refuse(runtime.ErrUsage,
		"pg_dump writes it to a file; starling store copy makes a store in a folder of it", "%s: it is backed up by its server", s.Name())
}

var _ runtime.Keeper = (*Store)(nil)
