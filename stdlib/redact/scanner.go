package redact

import (
	"bytes"
	"cmp"
	"encoding/base64"
	"encoding/hex"
	"slices"
	"strings"
	"sync"
)

// ending says what comes after a text.
type ending uint8

const (
	whole   ending = iota // nothing: it is all there is
	cut                   // perhaps more, which is lost
	growing               // perhaps more, which will come
)

// scanner finds values in texts. It is used concurrently.
type scanner struct {
	viewed *index    // spellings as the view has them
	raw    *index    // values as they are: where a backslash or a percent sign before one misleads the view
	views  sync.Pool // of *view: their memory
}

// longLine is from which length on a line of a value is hidden for itself.
const longLine = 16

func newScanner(values []named) *scanner {
	var viewed, raw []*pattern
	for _, v := range values {
		seen := map[string]bool{}
		add := func(list []*pattern, plain bool, spellings ...string) []*pattern {
			for _, s := range spellings {
				if len(s) >= Least && !seen[s] {
					seen[s] = true
					list = append(list, &pattern{[]byte(s), v.name, plain})
				}
			}
			return list
		}
		raw = append(raw, &pattern{[]byte(unended(v.value)), v.name, true})
		viewed = add(viewed, true, readings(v.value)...)
		for line := range strings.Lines(v.value) {
			if line = strings.TrimSpace(line); len(line) >= longLine && !strings.HasPrefix(line, "-----") {
				viewed = add(viewed, true, readings(line)...)
			}
		}
		viewed = add(viewed, false, encodings(v.value)...)
	}
	return &scanner{viewed: newIndex(viewed), raw: newIndex(raw), views: sync.Pool{New: func() any { return new(view) }}}
}

// unended is a value without the backslashes at its end: in JSON each may be the first of two.
func unended(value string) string {
	if text := strings.TrimRight(value, `\`); len(text) >= Least {
		return text
	}
	return value
}

// readings are what the view makes of a value: as it is and as JSON has it, as URLs have its
// backslashes, and its spaces.
func readings(value string) (list []string) {
	bare := strings.ReplaceAll(value, `\`, "")
	for _, text := range []string{value, bare, strings.ReplaceAll(value, " ", "+"), strings.ReplaceAll(bare, " ", "+")} {
		var v view
		v.look([]byte(text), true)
		list = append(list, string(v.text))
	}
	return list
}

// encodings are a value in base64, and in hexadecimal. In base64 three bytes are four characters,
// so that it depends on where it begins; the first and the last character may be made of other
// bytes too, and are left out.
func encodings(value string) []string {
	list := []string{hex.EncodeToString([]byte(value)), strings.ToUpper(hex.EncodeToString([]byte(value)))}
	for before := range 3 {
		text := append(make([]byte, before), value...)
		from, to := (before*8+5)/6, len(text)*8/6
		list = append(list, base64.RawStdEncoding.EncodeToString(text)[from:to], base64.RawURLEncoding.EncodeToString(text)[from:to])
	}
	return list
}

// span is a part of a text that is hidden.
type span struct {
	from, to int
	name     string
}

// clean gives a text without the values, and says how many bytes at the end of a growing one it
// leaves for later. A text in which nothing is found is given back itself.
func (s *scanner) clean(text []byte, e ending) (shown []byte, held int) {
	if s.viewed == nil {
		return text, 0
	}
	v := s.views.Get().(*view)
	defer s.views.Put(v)
	v.look(text, e != growing)
	spans := s.spans(v)
	until := len(text)
	switch e {
	case growing:
		until = s.until(v, spans)
	case cut:
		spans = s.withBeginning(v, spans)
	}
	return replace(text[:until], spans), len(text) - until
}

// found are the values in a whole text.
func (s *scanner) found(text []byte) []span {
	v := s.views.Get().(*view)
	defer s.views.Put(v)
	v.look(text, true)
	return s.spans(v)
}

// spans are the values in a text, in order and apart from each other.
func (s *scanner) spans(v *view) []span {
	var list []span
	s.viewed.each(v.text, func(at int, p *pattern) {
		list = append(list, span{v.start(at), v.end(at + len(p.text)), p.name})
	})
	if v.risk {
		s.raw.each(v.raw, func(at int, p *pattern) {
			found := span{at, at + len(p.text), p.name}
			if !slices.ContainsFunc(list, func(o span) bool { return o.from < found.to && found.from < o.to }) {
				list = append(list, found)
			}
		})
	}
	return apart(list)
}

// apart sorts spans and makes one of those that overlap, by the name of the longest.
func apart(list []span) []span {
	slices.SortFunc(list, func(a, b span) int { return cmp.Or(a.from-b.from, b.to-a.to) })
	out := list[:0]
	for _, next := range list {
		last := len(out) - 1
		if last < 0 || next.from >= out[last].to {
			out = append(out, next)
			continue
		}
		if next.to-next.from > out[last].to-out[last].from {
			out[last].name = next.name
		}
		out[last].to = max(out[last].to, next.to)
	}
	return out
}

// until is how much of a growing text can be shown: what stands behind may become a value, or a
// longer one. What never ends is not waited for.
func (s *scanner) until(v *view, spans []span) int {
	any := func(*pattern) bool { return true }
	until := v.open
	if at, p := s.viewed.begun(v.text, 1, any); p != nil {
		until = min(until, v.start(at))
	}
	if v.risk {
		at, _ := s.raw.begun(v.raw, 1, any)
		until = min(until, at)
	}
	const spelling, folds = 12, 4 << 10 // bytes that one of a value may take, and line breaks and backslashes between them
	least := len(v.raw) - spelling*s.viewed.most - folds
	until = max(until, least)
	for _, f := range spans {
		switch {
		case f.from >= until || f.to <= until:
		case f.from >= least:
			until = f.from
		default:
			until = f.to
		}
	}
	return until
}

// withBeginning adds what a text that was cut ends with. A line that has come to its end is no
// beginning of a value as people write it: it may well say "github" where a key begins with that.
func (s *scanner) withBeginning(v *view, spans []span) []span {
	line := bytes.HasSuffix(v.raw, []byte("\n"))
	likely := func(p *pattern) bool { return !line || !p.plain }
	least := Least
	if v.broken() {
		least-- // there is a backslash or a percent sign beside
	}
	if at, p := s.viewed.begun(v.text, least, likely); p != nil {
		spans = append(spans, span{v.start(at), len(v.raw), p.name})
	}
	if at, p := s.raw.begun(v.raw, Least, likely); p != nil {
		spans = append(spans, span{at, len(v.raw), p.name})
	}
	return apart(spans)
}

// replace puts names in the place of spans. Those behind the text are for later.
func replace(text []byte, spans []span) []byte {
	if len(spans) == 0 || spans[0].from >= len(text) {
		return text
	}
	out, done := make([]byte, 0, len(text)), 0
	for _, f := range spans {
		if f.from >= len(text) {
			break
		}
		out = append(append(out, text[done:f.from]...), '[')
		out = append(append(out, f.name...), ']')
		done = f.to
	}
	return append(out, text[done:]...)
}
