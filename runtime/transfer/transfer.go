// Package transfer moves a whole store to another place: from a folder into a database, and back.
//
// At no moment can both stores be opened, whatever the copying process dies of:
//
//  1. the new store is marked as unfinished, and filled
//  2. the old one is marked as moved, on the condition that nothing was committed to it since
//  3. the mark of the new one says that it is whole
//
// An unfinished store is emptied and filled again when the move is repeated. A move is taken back,
// by moving in the other direction, as long as nothing was committed to the new store: then the old
// one is opened again, and the new one is marked as moved.
package transfer

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"

	"starling/runtime"
	"starling/runtime/journal"
)

// Store is a store that can be moved.
type Store interface {
	runtime.Store
	// Heads calls fn for every run that the store knows, by name, with where it stands and its
	// head; the slice is valid only during the call.
	Heads(fn func(f runtime.Fence) error) error
}

// Place is where a store lies or is to lie. A context bounds the opening of what may be far away.
type Place interface {
	// Name is what people call it.
	Name() string
	// State is the name of the place that the store was moved to, "" for none. It fails with
	// runtime.ErrNoStore where there is no store.
	State(ctx context.Context) (moved string, err error)
	// Open opens the store as its next owner, and makes it where there is none. One that was moved
	// is taken back with that.
	Open(ctx context.Context) (Store, error)
	// Retire marks a store, which nobody has open, as moved. It fails with runtime.ErrFenced where
	// it has another number of batches.
	Retire(ctx context.Context, sequence uint64, to string) error
}

// copied is the mark of a store that was made by a move.
type copied struct {
	From     string `json:"from"`               // name of the place
	ID       string `json:"id"`                 // of the store there
	Whole    bool   `json:"whole"`              // nothing is missing
	Sequence uint64 `json:"sequence,omitempty"` // of the new store when it was whole
}

// Report says what was moved.
type Report struct {
	Keys  int   `json:"keys"`
	Runs  int   `json:"runs"`  // that the store knows
	Bytes int64 `json:"bytes"` // of keys and values
	// Back tells that a move was taken back: nothing was copied.
	Back bool `json:"back,omitempty"`
	// Already tells that the whole store was moved there before: nothing was copied.
	Already bool `json:"already,omitempty"`
}

// Unfinished refuses a store that a move has not filled yet, or not wholly.
func Unfinished(s runtime.Store) error {
	m, err := markOf(s)
	if err != nil || m == nil || m.Whole {
		return err
	}
	return runtime.Refuse(runtime.ErrKindNotAStore, "repeat the move: starling store copy "+m.From+" and this one", "the store is being moved here from %s, or that was interrupted", m.From)
}

func markOf(s runtime.Store) (*copied, error) {
	value, err := s.Get([]byte(journal.KeyCopied))
	if errors.Is(err, runtime.ErrNoKey) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	m := new(copied)
	if err := json.Unmarshal(value, m); err != nil {
		return nil, fmt.Errorf("%w: %s: %w", runtime.ErrDamaged, journal.KeyCopied, err)
	}
	return m, nil
}

// Move moves the store of one place to another.
func Move(ctx context.Context, from, to Place) (*Report, error) {
	if a, ok := from.(Folder); ok && a.overlaps(to) {
		return nil, runtime.Refuse(runtime.ErrUsage, "name a folder of its own, or a database", "%s and %s lie one in the other, or are one folder", from.Name(), to.Name())
	}
	movedFrom, err := from.State(ctx)
	if err != nil {
		return nil, err
	}
	movedTo, err := to.State(ctx)
	if err != nil && !errors.Is(err, runtime.ErrNoStore) {
		return nil, err
	}
	switch {
	case from.Name() == to.Name():
		return nil, runtime.Refusef(runtime.ErrUsage, "got %s twice, want two places", from.Name())
	case movedTo == from.Name():
		return takeBack(ctx, from, to, movedFrom)
	case movedTo != "":
		return nil, fmt.Errorf("%s: %w", to.Name(), runtime.Moved(movedTo))
	case movedFrom != "" && movedFrom != to.Name():
		return nil, fmt.Errorf("%s: %w", from.Name(), runtime.Moved(movedFrom))
	}
	return fill(ctx, from, to, movedFrom != "")
}

// fill makes the store of to a copy of that of from.
func fill(ctx context.Context, from, to Place, again bool) (r *Report, err error) {
	next, err := to.Open(ctx)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, next.Close()) }()
	if m, err := markOf(next); err == nil && again && m != nil && m.Whole && m.From == from.Name() {
		return &Report{Already: true}, nil
	}
	begun, err := vacant(next, to.Name(), from.Name())
	switch {
	case err != nil:
		return nil, err
	case again && !begun:
		return nil, fmt.Errorf("%s: %w", from.Name(), runtime.Moved(to.Name()))
	}
	old, err := from.Open(ctx)
	if err != nil {
		return nil, err
	}
	mark := &copied{From: from.Name(), ID: old.Info().ID}
	err = Unfinished(old)
	if err == nil {
		err = begin(ctx, next, mark)
	}
	if err == nil {
		r, err = copyAll(ctx, old, next)
	}
	sequence := old.Info().Sequence
	if err = errors.Join(err, old.Close()); err != nil {
		return nil, err
	}
	if err := from.Retire(ctx, sequence, to.Name()); err != nil {
		return nil, err
	}
	mark.Whole, mark.Sequence = true, next.Info().Sequence+1
	return r, put(ctx, next, mark)
}

// vacant refuses a place where there is a store already. begun tells that an earlier move has begun
// to fill it.
func vacant(s Store, name, from string) (begun bool, err error) {
	m, err := markOf(s)
	switch {
	case err != nil:
		return false, err
	case m != nil && !m.Whole && m.From == from:
		return true, nil
	case m != nil && !m.Whole:
		return false, runtime.Refuse(runtime.ErrUsage, "repeat that one, or name another place", "%s: a move of %s to it was interrupted", name, m.From)
	}
	err = s.Scan(nil, nil, func(_, _ []byte) error {
		return runtime.Refuse(runtime.ErrUsage, "name a place where there is none yet", "%s: there is a store already", name)
	})
	return false, err
}

// begin empties the store and marks it as unfinished.
func begin(ctx context.Context, s Store, mark *copied) error {
	if err := put(ctx, s, mark); err != nil {
		return err
	}
	p := &pack{ctx: ctx, to: s}
	err := s.Scan(nil, nil, func(key, _ []byte) error {
		if string(key) == journal.KeyCopied {
			return nil
		}
		return p.write(key, nil)
	})
	if err == nil {
		err = s.Heads(func(f runtime.Fence) error { return p.fence(runtime.Fence{Run: f.Run, Expect: f.Next}) })
	}
	return errors.Join(err, p.flush())
}

func put(ctx context.Context, s Store, mark *copied) error {
	value, err := json.Marshal(mark)
	if err != nil {
		return err
	}
	return s.Commit(ctx, &runtime.Batch{Writes: []runtime.Write{{Key: []byte(journal.KeyCopied), Value: value}}})
}

// copyAll copies keys, and where runs stand. What only says which owner has kept an index is left
// out: the new store's first owner makes it anew. So is the mark of an earlier move.
func copyAll(ctx context.Context, from, to Store) (*Report, error) {
	r, p := new(Report), &pack{ctx: ctx, to: to}
	err := from.Scan(nil, nil, func(key, value []byte) error {
		if k := string(key); k == journal.KeyCopied || k == journal.KeyIndex {
			return nil
		}
		r.Keys++
		r.Bytes += int64(len(key) + len(value))
		return p.write(key, append([]byte{}, value...))
	})
	if err == nil {
		err = from.Heads(func(f runtime.Fence) error {
			r.Runs++
			f.Head = append([]byte(nil), f.Head...)
			return p.fence(f)
		})
	}
	return r, errors.Join(err, p.flush())
}

// pack gathers changes into batches.
type pack struct {
	ctx   context.Context
	to    Store
	batch runtime.Batch
	size  int
}

const (
	packBytes  = 1 << 20
	packWrites = 1000
)

// write adds a change of a key, whose value belongs to the pack.
func (p *pack) write(key, value []byte) error {
	p.batch.Writes = append(p.batch.Writes, runtime.Write{Key: append([]byte{}, key...), Value: value})
	return p.grown(len(key) + len(value))
}

func (p *pack) fence(f runtime.Fence) error {
	p.batch.Fences = append(p.batch.Fences, f)
	return p.grown(len(f.Run) + len(f.Head))
}

func (p *pack) grown(n int) error {
	if p.size += n; p.size < packBytes && len(p.batch.Writes)+len(p.batch.Fences) < packWrites {
		return nil
	}
	return p.flush()
}

func (p *pack) flush() error {
	if len(p.batch.Writes)+len(p.batch.Fences) == 0 {
		return nil
	}
	b := p.batch
	p.batch, p.size = runtime.Batch{}, 0
	return p.to.Commit(p.ctx, &b)
}

// takeBack gives a store back to the place that it came from, where its older state still is.
func takeBack(ctx context.Context, from, to Place, moved string) (*Report, error) {
	if moved != to.Name() { // else this was interrupted behind it
		if moved != "" {
			return nil, fmt.Errorf("%s: %w", from.Name(), runtime.Moved(moved))
		}
		s, err := from.Open(ctx)
		if err != nil {
			return nil, err
		}
		m, err := markOf(s)
		sequence := s.Info().Sequence
		if err := errors.Join(err, s.Close()); err != nil {
			return nil, err
		}
		switch {
		case m == nil || !m.Whole || m.From != to.Name():
			return nil, runtime.Refuse(runtime.ErrUsage, "name a place where there is none yet", "%s: there is a store already, an older state of that at %s", to.Name(), from.Name())
		case m.Sequence != sequence:
			return nil, runtime.Refuse(runtime.ErrUsage, "name a place where there is no store yet, to move it there",
				"%s: the move is not taken back: %d batches were committed since to %s", to.Name(), sequence-m.Sequence, from.Name())
		}
		if err := from.Retire(ctx, sequence, to.Name()); err != nil {
			return nil, err
		}
	}
	s, err := to.Open(ctx)
	if err != nil {
		return nil, err
	}
	return &Report{Back: true}, s.Close()
}
