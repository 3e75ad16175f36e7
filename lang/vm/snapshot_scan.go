package vm

import (
	"encoding/binary"
	"fmt"
)

// scanner reads the primitives of a snapshot. After the first failure everything reads as zero.
type scanner struct {
	buf []byte
	pos int
	err error
}

func (s *scanner) fail(format string, args ...any) {
	if s.err == nil {
		s.err = fmt.Errorf("snapshot byte %d: %s", s.pos, fmt.Sprintf(format, args...))
	}
	s.pos = len(s.buf)
}

func (s *scanner) check(err error) {
	if err != nil {
		s.fail("%v", err)
	}
}

func (s *scanner) byte() byte {
	if s.pos >= len(s.buf) {
		s.fail("ends too early")
		return 0
	}
	s.pos++
	return s.buf[s.pos-1]
}

// uint reads a number that is at most max.
func (s *scanner) uint(max int) int {
	if s.pos < len(s.buf) && s.buf[s.pos] < 0x80 && int(s.buf[s.pos]) <= max { // most are
		s.pos++
		return int(s.buf[s.pos-1])
	}
	n, w := binary.Uvarint(s.buf[s.pos:])
	switch {
	case w <= 0:
		s.fail("malformed number")
		return 0
	case max < 0 || n > uint64(max):
		s.fail("number %d, want at most %d", n, max)
		return 0
	}
	s.pos += w
	return int(n)
}

// below reads the number of one of n things.
func (s *scanner) below(n int, what string) int {
	if n == 0 {
		s.fail("a %s is meant, there is none", what)
		return 0
	}
	return s.uint(n - 1)
}

// count reads a count of things that take at least one byte each.
func (s *scanner) count() int { return s.uint(len(s.buf) - s.pos) }

func (s *scanner) varint() int64 {
	n, w := binary.Varint(s.buf[s.pos:])
	if w <= 0 {
		s.fail("malformed int")
		return 0
	}
	s.pos += w
	return n
}

func (s *scanner) take(n int) []byte {
	if n > len(s.buf)-s.pos {
		s.fail("ends inside a text of %d bytes", n)
		return nil
	}
	s.pos += n
	return s.buf[s.pos-n : s.pos]
}

func (s *scanner) string() string { return string(s.take(s.count())) }

// pass goes past a text.
func (s *scanner) pass() { s.take(s.count()) }
