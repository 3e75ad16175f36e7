package query

import (
	"fmt"
	"strings"
	"unicode"
	"unicode/utf8"
)

// Name is an address as people read it: the keys of branches in their own script, as the author has
// written them. What could be mistaken for a part of an address stays encoded.
func Name(address string) string {
	if !strings.Contains(address, "%") {
		return address
	}
	segments := strings.Split(address, "/")
	for i, s := range segments {
		segments[i] = decoded(s)
	}
	return strings.Join(segments, "/")
}

// decoded is a segment without its percent signs, as it is where that would not be one word.
func decoded(segment string) string {
	var b strings.Builder
	for i := 0; i < len(segment); i++ {
		c := segment[i]
		if c == '%' && i+2 < len(segment) {
			high, low := unhex(segment[i+1]), unhex(segment[i+2])
			if high < 0 || low < 0 {
				return segment
			}
			c = byte(high<<4 | low)
			i += 2
		}
		b.WriteByte(c)
	}
	text := b.String()
	hidden := func(r rune) bool { return strings.ContainsRune("/#%@:", r) || !unicode.IsGraphic(r) }
	if !utf8.ValidString(text) || strings.TrimSpace(text) != text || text == "" || strings.IndexFunc(text, hidden) >= 0 {
		return segment
	}
	return text
}

// Address is what [Name] is the name of: what an address may not hold is encoded again. An address
// stays as it is, with the signs that the names of the system have.
func Address(name string) string {
	var b strings.Builder
	for i := range len(name) {
		c := name[i]
		kept := c < 0x80 && (c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c >= '0' && c <= '9' || strings.IndexByte("._-/#%!<>:@=~", c) >= 0)
		if kept {
			b.WriteByte(c)
		} else {
			fmt.Fprintf(&b, "%%%02X", c)
		}
	}
	return b.String()
}

// unhex is the value of a digit as addresses have it, -1 of none.
func unhex(c byte) int { return strings.IndexByte("0123456789ABCDEF", c) }
