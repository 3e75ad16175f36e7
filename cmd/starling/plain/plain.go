// Package plain writes what somebody else has said: what scripts print, agents reply and gates ask,
// the names of runs and files. A control character or an escape sequence in it would act on the
// reader's terminal, a carriage return or a mark of direction could hide what stands there. So all
// that this program prints for people or as JSON goes through here, whether or not a terminal is at
// the other end: what is looked at later in a pager is a terminal too.
package plain

import (
	"bytes"
	"fmt"
	"io"
	"os"
	"strings"
	"sync"
	"unicode"
	"unicode/utf16"
)

// Output is standard output or standard error. Each Write must hold whole runes.
type Output struct{ To io.Writer }

// Write writes text: runes that have no shape are shown as the replacement rune.
func (o Output) Write(text []byte) (int, error) {
	if _, err := io.WriteString(o.To, Text(string(text))); err != nil {
		return 0, err
	}
	return len(text), nil
}

// JSON is for documents: there such runes are written as \u and four digits, which means the same.
func (o Output) JSON() io.Writer { return document(o) }

// Raw is for what is no text, and for protocols: bytes are written as they are.
func (o Output) Raw() io.Writer { return o.To }

// File is the file that is written to, if it is one.
func (o Output) File() (*os.File, bool) {
	to := o.To
	if s, ok := to.(*Sink); ok {
		to = s.To
	}
	f, ok := to.(*os.File)
	return f, ok
}

// Lost is why not all was written, nil where all was or where nobody remembers.
func (o Output) Lost() error {
	if s, ok := o.To.(*Sink); ok {
		return s.lost()
	}
	return nil
}

// Sink writes, until a write fails: that error is remembered, for whoever prints seldom looks at
// it, and is that of every later write, so that what is there is the beginning of what was said and
// has no gaps.
type Sink struct {
	To io.Writer

	mu  sync.Mutex // for what is below
	err error
}

// Write writes, unless a write has failed before.
func (s *Sink) Write(text []byte) (n int, err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.err == nil {
		n, s.err = s.To.Write(text)
	}
	return n, s.err
}

func (s *Sink) lost() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.err
}

// Text is a text with the replacement rune in place of those that have no shape.
func Text(text string) string {
	return strings.Map(func(r rune) rune {
		if shaped(r) {
			return r
		}
		return unicode.ReplacementChar
	}, text)
}

// shaped tells whether a rune is shown as it is: those that have a shape, line breaks, tabs, and
// what joins letters and emoji.
func shaped(r rune) bool {
	const joiner, nonJoiner = '\u200d', '\u200c'
	return r == '\n' || r == '\t' || r == joiner || r == nonJoiner || unicode.IsGraphic(r)
}

type document Output

// Write writes JSON, in which runes without a shape stand in texts only.
func (d document) Write(text []byte) (int, error) {
	var b bytes.Buffer
	for _, r := range string(text) {
		switch {
		case shaped(r):
			b.WriteRune(r)
		case r > 0xffff:
			high, low := utf16.EncodeRune(r)
			fmt.Fprintf(&b, `\u%04x\u%04x`, high, low)
		default:
			fmt.Fprintf(&b, `\u%04x`, r)
		}
	}
	if _, err := d.To.Write(b.Bytes()); err != nil {
		return 0, err
	}
	return len(text), nil
}
