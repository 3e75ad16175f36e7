package process

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"slices"
	"sync/atomic"
	"time"

	"starling/stdlib/redact"
)

// drainTime is how long a pipe may stay silent once every descendant is gone. Then nobody can write
// to it but a process that got hold of it some other way, and that one is not waited for.
const drainTime = time.Second

// sink takes what a child writes. add reports ErrOverLimit once; what comes later is dropped, so
// that the child can end itself.
type sink interface {
	add(p []byte) error
	finish() error // no more will come
}

// stream reads one pipe of the child to its end.
type stream struct {
	pipe *os.File
	sink sink
	over func(error) // called at ErrOverLimit
	gone atomic.Bool // all writers are
	done chan struct{}
}

func newStream(pipe *os.File, s sink, over func(error)) *stream {
	return &stream{pipe: pipe, sink: s, over: over, done: make(chan struct{})}
}

func (s *stream) drain() {
	defer close(s.done)
	defer s.pipe.Close()
	buffer := make([]byte, 32<<10)
	for {
		if s.gone.Load() { // a slow OnLine must not use up the time of the next read
			s.pipe.SetReadDeadline(time.Now().Add(drainTime))
		}
		n, err := s.pipe.Read(buffer)
		if e := s.sink.add(buffer[:n]); e != nil {
			s.over(e)
		}
		if err != nil {
			if e := s.sink.finish(); e != nil {
				s.over(e)
			}
			return
		}
	}
}

// finish reads what is left and returns when the sink has it. If the writers are not known to be
// gone there may be no end of it, and the time is counted once.
func (s *stream) finish(gone bool) {
	s.gone.Store(gone)
	s.pipe.SetReadDeadline(time.Now().Add(drainTime))
	<-s.done
}

// veiled hides values in what it hands to a sink.
type veiled struct {
	sink
	text *redact.Stream
}

func (v veiled) add(p []byte) error { return v.sink.add(v.text.Next(p)) }

func (v veiled) finish() error { return errors.Join(v.sink.add(v.text.Rest()), v.sink.finish()) }

// head keeps the first limit bytes.
type head struct {
	limit int
	kept  []byte
	over  bool
}

func (h *head) add(p []byte) error {
	if h.over {
		return nil
	}
	room := h.limit - len(h.kept)
	h.kept = append(h.kept, p[:min(room, len(p))]...)
	if len(p) <= room {
		return nil
	}
	h.over = true
	return fmt.Errorf("process: %w: more than %d bytes on stdout", ErrOverLimit, h.limit)
}

func (h *head) finish() error { return nil }

// tail keeps the last limit bytes, in a buffer of at most twice as many.
type tail struct {
	limit int
	kept  []byte
}

func (t *tail) add(p []byte) error {
	t.kept = append(t.kept, p[max(0, len(p)-t.limit):]...)
	if len(t.kept) > 2*t.limit {
		return t.finish()
	}
	return nil
}

func (t *tail) finish() error {
	t.kept = slices.Delete(t.kept, 0, max(0, len(t.kept)-t.limit))
	return nil
}

// Write makes a tail the stderr of a guard.
func (t *tail) Write(p []byte) (int, error) { return len(p), t.add(p) }

// lines hands on each line of at most limit bytes.
type lines struct {
	limit   int
	deliver func(line []byte, whole bool)
	partial []byte
	over    bool
}

func (l *lines) add(p []byte) error {
	for !l.over {
		line, rest, found := bytes.Cut(p, []byte{'\n'})
		if len(l.partial)+len(line) > l.limit {
			l.over = true
			l.partial = nil
			return fmt.Errorf("process: %w: a line of more than %d bytes on stdout", ErrOverLimit, l.limit)
		}
		l.partial = append(l.partial, line...)
		if !found {
			return nil
		}
		l.deliver(l.partial, true)
		l.partial = nil
		p = rest
	}
	return nil
}

// finish hands on a last line that has no newline.
func (l *lines) finish() error {
	if len(l.partial) > 0 {
		l.deliver(l.partial, false)
	}
	return nil
}
