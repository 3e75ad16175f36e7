package contract

import (
	"strings"
	"unicode/utf8"
)

// literalOffsets maps the bytes of the string that a Starlark literal denotes to where they come
// from: element i is the offset within source of the i-th byte of the value, and a last element is
// the offset of the closing quote. source begins with the literal, as it stands in its file, and
// the Starlark scanner has accepted it. (What the scanner calls the raw text will not do: it has
// lost carriage returns.)
func literalOffsets(source string) []int {
	at := prefix(source, func(c byte) bool { return c == 'r' || c == 'b' })
	escapes := !strings.Contains(source[:at], "r")
	quote := source[at : at+1]
	if triple := strings.Repeat(quote, 3); strings.HasPrefix(source[at:], triple) {
		quote = triple
	}
	var offsets []int
	for at += len(quote); at < len(source) && !strings.HasPrefix(source[at:], quote); {
		size, bytes := literalPart(source[at:], escapes)
		for i := range bytes {
			if size != bytes {
				i = 0 // an escape is pointed at as a whole
			}
			offsets = append(offsets, at+i)
		}
		at += size
	}
	return append(offsets, at)
}

// literalPart is how many bytes the first rune or escape of s takes, and how many bytes of the
// value it stands for.
func literalPart(s string, escapes bool) (size, bytes int) {
	switch {
	case s[0] == '\\' && len(s) > 1 && escapes:
		return escapeSize(s)
	case s[0] == '\\' && len(s) > 1 && strings.IndexByte(`"'\`, s[1]) >= 0:
		return 2, 2 // in a raw literal a backslash stands for itself, and still keeps a quote from closing
	}
	if strings.HasPrefix(s, "\r\n") {
		return 2, 1
	}
	r, size := utf8.DecodeRuneInString(s)
	return size, utf8.RuneLen(r) // what is not UTF-8 is read as U+FFFD
}

// escapeSize is literalPart for an escape.
func escapeSize(s string) (size, bytes int) {
	digits := func(n int) int { return utf8.RuneLen(hexRune(s[2:min(2+n, len(s))])) }
	switch c := s[1]; {
	case c == '\n' || c == '\r' && !strings.HasPrefix(s[1:], "\r\n"):
		return 2, 0
	case c == '\r':
		return 3, 0
	case c == 'x':
		return 4, 1
	case c == 'u':
		return 6, digits(4)
	case c == 'U':
		return 10, digits(8)
	case '0' <= c && c <= '7':
		return 1 + prefix(s[1:min(4, len(s))], func(c byte) bool { return '0' <= c && c <= '7' }), 1
	}
	return 2, 1
}

// hexRune is the code point that hexadecimal digits name.
func hexRune(digits string) rune {
	var r rune
	for _, d := range []byte(strings.ToLower(digits)) {
		if isDigit(d) {
			r = r<<4 | rune(d-'0')
		} else {
			r = r<<4 | rune(d-'a'+10)
		}
	}
	return r
}
