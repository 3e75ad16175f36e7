package redact

import (
	"slices"
	"strings"
	"sync"
	"sync/atomic"
)

// Least is how many bytes of a value, one after the other, are as bad as the whole: no value that
// is shorter is hidden, and so many of its beginning are where a text was cut.
const Least = 6

// maxNumber is how long a number, a date or a time is at most that is no secret.
const maxNumber = 10 // bytes

// words are what settings say, of [Least] letters or more.
var words = map[string]bool{"always": true, "automatic": true, "default": true, "development": true,
	"disable": true, "disabled": true, "enable": true, "enabled": true, "production": true,
	"staging": true, "undefined": true, "warning": true}

// Plain says why a value is not hidden, as the end of a sentence that begins with it; "" says that
// it is. Hiding "true" and "1" wherever they stand would leave nothing to read, and guard nothing:
// whoever has such a key has none.
func Plain(value string) (why string) {
	value = strings.TrimSpace(value)
	rest := strings.Trim(value, "0123456789+-.,:/_ ")
	switch {
	case len(value) < Least:
		return "has fewer than 6 characters"
	case rest == "" && len(value) <= maxNumber:
		return "is a short number"
	case words[strings.ToLower(value)]:
		return "is a word that settings use"
	}
	return ""
}

// Redactor hides values. The zero one hides nothing, nor does nil. Its methods are safe for
// concurrent use; it must not be copied.
type Redactor struct {
	mu     sync.Mutex // of what is below
	values []named
	made   atomic.Pointer[scanner] // of all values; nil after one was added
}

// named is a value and what is said of it.
type named struct{ name, value string }

// Hide has a value replaced by its name in brackets from now on, unless it is [Plain]. Spaces and
// line breaks around it are not part of it.
func (r *Redactor) Hide(name, value string) {
	if Plain(value) != "" {
		return
	}
	v := named{name, strings.TrimSpace(value)}
	r.mu.Lock()
	defer r.mu.Unlock()
	if !slices.Contains(r.values, v) {
		r.values = append(r.values, v)
		r.made.Store(nil)
	}
}

// Redact is a text without the values.
func (r *Redactor) Redact(text string) string {
	s := r.scanner()
	if s == nil {
		return text
	}
	shown, _ := s.clean([]byte(text), whole)
	return string(shown)
}

// Cut is a text without the values, of which more may have followed: what it ends with may be the
// beginning of a value.
func (r *Redactor) Cut(text string) string {
	s := r.scanner()
	if s == nil {
		return text
	}
	shown, _ := s.clean([]byte(text), cut)
	return string(shown)
}

// Names lists the values that are in a text, by their names, each once.
func (r *Redactor) Names(text string) (names []string) {
	if s := r.scanner(); s != nil {
		for _, f := range s.found([]byte(text)) {
			if !slices.Contains(names, f.name) {
				names = append(names, f.name)
			}
		}
	}
	return names
}

// Stream takes a text in pieces.
func (r *Redactor) Stream() *Stream { return &Stream{of: r} }

// scanner is nil where there is nothing to hide.
func (r *Redactor) scanner() *scanner {
	if r == nil {
		return nil
	}
	if s := r.made.Load(); s != nil {
		return s
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	if len(r.values) == 0 {
		return nil
	}
	s := newScanner(r.values)
	r.made.Store(s)
	return s
}

// Stream is a text that comes in pieces, of which a value may be in several. It holds back what may
// be the beginning of a value and nothing else. It serves one goroutine.
type Stream struct {
	of    *Redactor
	text  []byte // held back
	other []byte // what the last call gave, whose memory the next one uses
}

// Next takes a piece, and gives what can be shown by now. That is valid until the next call.
func (s *Stream) Next(piece []byte) []byte {
	scan := s.of.scanner()
	if scan == nil && len(s.text) == 0 {
		return piece
	}
	return s.show(scan, piece, growing)
}

// Rest gives what was held back, when the text has come to its end: see [Redactor.Cut].
func (s *Stream) Rest() []byte {
	if len(s.text) == 0 {
		return nil
	}
	return s.show(s.of.scanner(), nil, cut)
}

func (s *Stream) show(scan *scanner, piece []byte, e ending) []byte {
	if scan == nil {
		scan = &scanner{}
	}
	s.text = append(s.text, piece...)
	shown, held := scan.clean(s.text, e)
	s.text, s.other = append(s.other[:0], s.text[len(s.text)-held:]...), s.text
	return shown
}
