package redact

import (
	"bytes"
	"sort"
	"unicode/utf16"
	"unicode/utf8"
)

// view is a text as its last reader has it: without line breaks, JSON's escapes and the percent
// signs of URLs read, however often they were applied. Values are viewed the same way, so that one
// search finds all spellings.
type view struct {
	raw  []byte
	text []byte // raw itself where there was nothing to read, else memory of own
	own  []byte
	read []unit // in order
	open int    // where in raw something begins that what follows decides; len(raw) for nothing
	risk bool   // an escape was read that may be none, so that a value may stand in raw and not here
}

// unit is what stands in the view for some bytes that are not themselves.
type unit struct{ at, size, raw, rawSize int }

// signs begin what is read.
const signs = "\\%\n\r"

// look makes it the view of a text. What is open at the end is part of it only if nothing follows.
func (v *view) look(raw []byte, ends bool) {
	v.raw, v.text, v.read, v.open, v.risk = raw, raw, v.read[:0], len(raw), false
	next, first := [len(signs)]int{}, len(raw)
	for i := range next {
		next[i] = find(raw, 0, signs[i])
		first = min(first, next[i])
	}
	if first < len(raw) {
		v.fill(next, ends)
	}
}

// fill reads a text in which there are signs, each for the first time where next says.
func (v *view) fill(next [len(signs)]int, ends bool) {
	raw, text := v.raw, v.own[:0]
	defer func() { v.text, v.own = text, text }()
	for done := 0; ; {
		at := len(raw)
		for i := range next {
			if next[i] < done {
				next[i] = find(raw, done, signs[i])
			}
			at = min(at, next[i])
		}
		text = append(text, raw[done:at]...)
		if at == len(raw) {
			return
		}
		v.risk = v.risk || raw[at] == '\\' || raw[at] == '%'
		read, size := unescape(raw[at:], ends)
		if size == 0 {
			v.open = at
			return
		}
		v.read = append(v.read, unit{len(text), len(read), at, size})
		text = append(text, read...)
		done = at + size
	}
}

func find(text []byte, from int, c byte) int {
	if i := bytes.IndexByte(text[from:], c); i >= 0 {
		return from + i
	}
	return len(text)
}

// unescape reads what a text begins with, a sign, and says how long it is; 0 is that this depends
// on what follows. Where nothing does, it is what there is of it.
func unescape(text []byte, ends bool) (read string, size int) {
	switch text[0] {
	case '\\':
		read, size = backslash(text)
	case '%':
		read, size = percent(text)
	default:
		return "", 1
	}
	if size == 0 && ends {
		return "", len(text)
	}
	return read, size
}

// backslash reads an escape of JSON. Backslashes double when JSON is put into JSON, so any number
// of them is one.
func backslash(text []byte) (read string, size int) {
	n := len(text) - len(bytes.TrimLeft(text, `\`))
	if n == len(text) {
		return "", 0
	}
	switch c := text[n]; c {
	case 'n', 'r':
		return "", n + 1
	case 't':
		return "\t", n + 1
	case '\n', '\r', '%':
		return "", n
	case 'u':
		return unicodeEscape(text, n+1)
	default:
		return string(text[n : n+1]), n + 1
	}
}

// unicodeEscape reads four digits at i, and of a character that needs two escapes both.
func unicodeEscape(text []byte, i int) (read string, size int) {
	c, n := hexAt(text[i:], 4)
	switch {
	case n < 0:
		return "u", i
	case n == 0:
		return "", 0
	case !utf16.IsSurrogate(c):
		return plainRune(c), i + 4
	}
	rest := text[i+4:]
	second := bytes.TrimLeft(rest, `\`)
	skipped := len(rest) - len(second)
	switch {
	case len(second) == 0:
		return "", 0
	case skipped == 0 || second[0] != 'u':
		return "", i + 4
	}
	low, n := hexAt(second[1:], 4)
	switch {
	case n == 0:
		return "", 0
	case n < 0 || utf16.DecodeRune(c, low) == utf8.RuneError:
		return "", i + 4
	}
	return string(utf16.DecodeRune(c, low)), i + 4 + skipped + 5
}

// percent reads a byte of a URL. A percent sign is %25 there, so any number of "25" behind it is
// one.
func percent(text []byte) (read string, size int) {
	i := 1
	for bytes.HasPrefix(text[i:], []byte("25")) {
		i += 2
	}
	c, n := hexAt(text[i:], 2)
	switch {
	case n == 0:
		return "", 0
	case n > 0 && c < utf8.RuneSelf:
		return plainRune(c), i + 2
	case n > 0:
		return string([]byte{byte(c)}), i + 2
	}
	return "%", i
}

// plainRune is a character in the view, where signs but the percent sign do not stand.
func plainRune(c rune) string {
	if c == '\n' || c == '\r' || c == '\\' {
		return ""
	}
	return string(c)
}

// hexAt reads that many hexadecimal digits. n is their number, 0 when the text ends before them,
// and negative for something else.
func hexAt(text []byte, digits int) (c rune, n int) {
	for _, d := range text[:min(digits, len(text))] {
		switch {
		case d >= '0' && d <= '9':
			c = c<<4 | rune(d-'0')
		case d|0x20 >= 'a' && d|0x20 <= 'f':
			c = c<<4 | rune(d|0x20-'a'+10)
		default:
			return 0, -1
		}
	}
	if len(text) < digits {
		return 0, 0
	}
	return c, digits
}

// broken tells whether the text ends in the middle of an escape.
func (v *view) broken() bool {
	if len(v.read) == 0 {
		return false
	}
	u := v.read[len(v.read)-1]
	return u.size == 0 && u.raw+u.rawSize == len(v.raw) && v.raw[u.raw] != '\n' && v.raw[u.raw] != '\r'
}

// start is where in the raw text the byte at i of the view begins.
func (v *view) start(i int) int {
	u, inside := v.unitOf(i)
	if inside {
		return u.raw
	}
	return u.raw + u.rawSize + i - u.at - u.size
}

// end is where in the raw text the byte before i of the view ends.
func (v *view) end(i int) int {
	u, inside := v.unitOf(i - 1)
	if inside {
		return u.raw + u.rawSize
	}
	return u.raw + u.rawSize + i - u.at - u.size
}

// unitOf is the last unit that begins at i of the view or before, and whether i is in it.
func (v *view) unitOf(i int) (u unit, inside bool) {
	n := sort.Search(len(v.read), func(k int) bool { return v.read[k].at > i })
	if n == 0 {
		return unit{}, false
	}
	u = v.read[n-1]
	return u, i < u.at+u.size
}
