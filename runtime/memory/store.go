package memory

import (
	"bytes"
	"context"
	"crypto/rand"
	"encoding/hex"
	"fmt"
	"slices"
	"sync"

	"starling/runtime"
)

// Store is a runtime.Store in memory with a crash model. All its methods may be called
// concurrently.
//
// A lazy batch is held back, unseen, until the next durable one or Close, which is the latest that
// a Store promises; a crash before that loses it. Several handles share one medium: the newest
// owner is the one whose commits are accepted.
type Store struct {
	medium *medium
	info   runtime.StoreInfo // but for Sequence

	// Guarded by medium.mu.
	closed bool
	failed error
}

var _ runtime.Store = (*Store)(nil)

// medium is what outlives a handle, as a disk does.
type medium struct {
	mu       sync.Mutex // guards what is below
	id       string
	epoch    uint64
	sequence uint64
	entries  []pair                   // by key
	runs     map[string]runtime.Fence // the last of each
	lazy     []*runtime.Batch         // acknowledged, not durable
	fault    *fault
	size     int64  // of keys and values, bytes
	most     int64  // size from which over is called
	over     func() // nil for none, or when it was called
}

type pair struct {
	key, value []byte
}

// fault is a commit that is going to fail.
type fault struct {
	after  int // commits to let pass
	err    error
	moment Moment
}

// Moment is where a commit fails.
type Moment int

// The moments. In both the caller gets the same error.
const (
	BeforeApply Moment = iota // nothing of the batch is there
	AfterApply                // the batch is there, and durable
)

// New makes a new, empty store and opens it.
func New() *Store {
	id := make([]byte, 16)
	rand.Read(id) // never fails
	m := &medium{id: hex.EncodeToString(id), runs: make(map[string]runtime.Fence)}
	return m.open()
}

// open makes a handle for the next owner.
func (m *medium) open() *Store {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.epoch++
	return &Store{medium: m, info: runtime.StoreInfo{ID: m.id, Format: 1, Epoch: m.epoch}}
}

// Reopen opens the same medium as its next owner, with all that was acknowledged. This handle's
// commits are refused from then on.
func (s *Store) Reopen() *Store {
	s.medium.mu.Lock()
	s.medium.settle()
	s.medium.mu.Unlock()
	return s.medium.open()
}

// Crash opens the same medium as its next owner, with what a power cut at this moment would have
// left: every durable batch, and no lazy one that no durable batch has followed. This handle's
// commits are refused from then on. A fault that was not reached is forgotten.
func (s *Store) Crash() *Store {
	s.medium.mu.Lock()
	s.medium.lazy, s.medium.fault = nil, nil
	s.medium.mu.Unlock()
	return s.medium.open()
}

// Reader opens the same medium for reading.
func (s *Store) Reader() *Store {
	s.medium.mu.Lock()
	defer s.medium.mu.Unlock()
	info := s.info
	info.Epoch, info.ReadOnly = s.medium.epoch, true
	return &Store{medium: s.medium, info: info}
}

// FailCommit lets the n-th commit from now, counting from 1, fail with err, and every later one of
// its handle with the same error. Lazy commits and such as are refused for their fences are not
// counted.
func (s *Store) FailCommit(n int, err error, moment Moment) {
	s.medium.mu.Lock()
	defer s.medium.mu.Unlock()
	s.medium.fault = &fault{after: n - 1, err: err, moment: moment}
}

// Bound has over called on a goroutine of its own, once, when keys and values come to take more
// than most bytes. The store goes on: whoever is called ends what fills it.
func (s *Store) Bound(most int64, over func()) {
	s.medium.mu.Lock()
	defer s.medium.mu.Unlock()
	s.medium.most, s.medium.over = most, over
}

// Failure is the error of the commit that failed, nil while none has. It tells a test that the
// owner of this handle can do nothing more.
func (s *Store) Failure() error {
	s.medium.mu.Lock()
	defer s.medium.mu.Unlock()
	return s.failed
}

// Info tells what was opened.
func (s *Store) Info() runtime.StoreInfo {
	s.medium.mu.Lock()
	defer s.medium.mu.Unlock()
	info := s.info
	info.Sequence = s.medium.sequence
	return info
}

// Get returns the value of key.
func (s *Store) Get(key []byte) ([]byte, error) {
	s.medium.mu.Lock()
	defer s.medium.mu.Unlock()
	if s.closed {
		return nil, runtime.ErrStoreClosed
	}
	i, found := s.medium.find(key)
	if !found {
		return nil, runtime.ErrNoKey
	}
	return append([]byte{}, s.medium.entries[i].value...), nil
}

// Head tells where a run stands, and what was left with it there.
func (s *Store) Head(run string) (at uint64, head []byte, err error) {
	s.medium.mu.Lock()
	defer s.medium.mu.Unlock()
	if s.closed {
		return 0, nil, runtime.ErrStoreClosed
	}
	f := s.medium.runs[run]
	return f.Next, bytes.Clone(f.Head), nil
}

// Scan calls fn for each key in [from, to), as they were when it was called.
func (s *Store) Scan(from, to []byte, fn func(key, value []byte) error) error {
	view, err := s.between(from, to)
	for _, e := range view {
		if err == nil {
			err = fn(e.key, e.value)
		}
	}
	if err == runtime.ErrStopScan {
		return nil
	}
	return err
}

// between returns the entries in [from, to). What is in the medium is replaced and never changed,
// so that they stay as they are.
func (s *Store) between(from, to []byte) ([]pair, error) {
	m := s.medium
	m.mu.Lock()
	defer m.mu.Unlock()
	if s.closed {
		return nil, runtime.ErrStoreClosed
	}
	first, _ := m.find(from)
	last := len(m.entries)
	if to != nil {
		last, _ = m.find(to)
	}
	return slices.Clone(m.entries[first:max(first, last)]), nil
}

// Commit applies the batch. Everything but a lazy batch is durable at once.
func (s *Store) Commit(ctx context.Context, b *runtime.Batch) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	m := s.medium
	m.mu.Lock()
	defer m.mu.Unlock()
	if err := s.accepts(b); err != nil {
		return err
	}
	if b.Lazy {
		m.lazy = append(m.lazy, cloneBatch(b))
		return nil
	}
	if err := m.standing(b.Fences); err != nil {
		return err
	}
	failing := m.fault != nil && m.fault.after == 0
	if failing {
		s.failed = fmt.Errorf("%w: %w", runtime.ErrFailed, m.fault.err)
	}
	if m.fault != nil {
		m.fault.after--
	}
	if !failing || m.fault.moment == AfterApply {
		m.settle()
		m.apply(cloneBatch(b))
	}
	return s.failed
}

// accepts tells whether this handle takes the batch at all.
func (s *Store) accepts(b *runtime.Batch) error {
	switch {
	case s.closed:
		return runtime.ErrStoreClosed
	case s.info.ReadOnly:
		return runtime.ErrReadOnly
	case s.failed != nil:
		return s.failed
	case s.info.Epoch != s.medium.epoch:
		return fmt.Errorf("%w: the epoch is %d, this owner's is %d", runtime.ErrLost, s.medium.epoch, s.info.Epoch)
	}
	return b.Check()
}

// Close ends the handle. What its lazy batches hold is durable then.
func (s *Store) Close() error {
	s.medium.mu.Lock()
	defer s.medium.mu.Unlock()
	if !s.closed && !s.info.ReadOnly && s.failed == nil && s.info.Epoch == s.medium.epoch {
		s.medium.settle()
	}
	s.closed = true
	return nil
}

// standing compares fences with where the runs stand.
func (m *medium) standing(fences []runtime.Fence) error {
	moved := make(map[string]uint64, len(fences))
	for _, f := range fences {
		at, ok := moved[f.Run]
		if !ok {
			at = m.runs[f.Run].Next
		}
		if at != f.Expect {
			return fmt.Errorf("%w: run %s stands at %d, the batch expects %d", runtime.ErrFenced, f.Run, at, f.Expect)
		}
		moved[f.Run] = f.Next
	}
	return nil
}

// settle makes the lazy batches durable.
func (m *medium) settle() {
	for _, b := range m.lazy {
		m.apply(b)
	}
	m.lazy = nil
}

func (m *medium) apply(b *runtime.Batch) {
	m.sequence++
	for _, f := range b.Fences {
		m.runs[f.Run] = f // one that is forgotten is as one that was never seen
	}
	for _, w := range b.Writes {
		m.put(w)
	}
	if m.over != nil && m.size > m.most {
		go m.over()
		m.over = nil
	}
}

func (m *medium) put(w runtime.Write) {
	i, found := m.find(w.Key)
	switch {
	case found && w.Value == nil:
		m.size -= int64(len(w.Key) + len(m.entries[i].value))
		m.entries = slices.Delete(m.entries, i, i+1)
	case found:
		m.size += int64(len(w.Value) - len(m.entries[i].value))
		m.entries[i].value = w.Value
	case w.Value != nil:
		m.size += int64(len(w.Key) + len(w.Value))
		m.entries = slices.Insert(m.entries, i, pair{w.Key, w.Value})
	}
}

// find returns where key is, or belongs.
func (m *medium) find(key []byte) (int, bool) {
	return slices.BinarySearchFunc(m.entries, key, func(e pair, key []byte) int { return bytes.Compare(e.key, key) })
}

// cloneBatch copies what the caller may change after Commit.
func cloneBatch(b *runtime.Batch) *runtime.Batch {
	c := &runtime.Batch{Fences: slices.Clone(b.Fences), Lazy: b.Lazy, Writes: make([]runtime.Write, len(b.Writes))}
	for i := range c.Fences {
		c.Fences[i].Head = bytes.Clone(c.Fences[i].Head)
	}
	for i, w := range b.Writes {
		c.Writes[i].Key = slices.Clone(w.Key)
		if w.Value != nil {
			c.Writes[i].Value = append([]byte{}, w.Value...)
		}
	}
	return c
}
