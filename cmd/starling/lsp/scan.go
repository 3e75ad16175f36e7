package lsp

import (
	"strings"
	"unicode"
	"unicode/utf8"
)

// scanned is what is around an offset of a text that may not be a program yet.
type scanned struct {
	comment  bool
	text     bool  // in a text between quotes
	start    int   // of that text: its first quote
	content  int   // behind its first quotes
	brackets []int // that are open, the innermost last
}

// scan goes over a text up to an offset, as the language's scanner would.
func scan(source string, offset int) scanned {
	var s scanned
	for at := 0; at < offset; {
		switch c := source[at]; c {
		case '#':
			end := at + strings.IndexByte(source[at:]+"\n", '\n')
			if end >= offset {
				s.comment = true
				return s
			}
			at = end
		case '"', '\'':
			content, end := literal(source, at)
			if end > offset || end == offset && !closed(source, content, end, at) {
				s.text, s.start, s.content = true, at, min(content, offset)
				return s
			}
			at = end
		case '(', '[', '{':
			s.brackets = append(s.brackets, at)
			at++
		case ')', ']', '}':
			s.brackets = s.brackets[:max(0, len(s.brackets)-1)]
			at++
		default:
			at++
		}
	}
	return s
}

// literal finds where the content of a text begins, whose first quote is at an offset, and where
// the text ends: behind its last quote, or at the end of the line or the source if there is none.
func literal(source string, start int) (content, end int) {
	quote := source[start : start+1]
	if strings.HasPrefix(source[start:], strings.Repeat(quote, 3)) {
		quote = source[start : start+3]
	}
	for at := start + len(quote); at < len(source); at++ {
		switch {
		case source[at] == '\\':
			at++
		case strings.HasPrefix(source[at:], quote):
			return start + len(quote), at + len(quote)
		case source[at] == '\n' && len(quote) == 1:
			return start + 1, at
		}
	}
	return start + len(quote), len(source)
}

// closed tells whether a text that ends at an offset has its last quote.
func closed(source string, content, end, start int) bool {
	quote := source[start:content]
	return end >= content+len(quote) && strings.HasSuffix(source[:end], quote)
}

// wordStart is where the word begins that ends at an offset.
func wordStart(source string, offset int) int {
	for offset > 0 {
		r, size := utf8.DecodeLastRuneInString(source[:offset])
		if r != '_' && !unicode.IsLetter(r) && !unicode.IsDigit(r) {
			break
		}
		offset -= size
	}
	return offset
}

// wordEnd is where the word ends that goes on at an offset.
func wordEnd(source string, offset int) int {
	for offset < len(source) {
		r, size := utf8.DecodeRuneInString(source[offset:])
		if r != '_' && !unicode.IsLetter(r) && !unicode.IsDigit(r) {
			break
		}
		offset += size
	}
	return offset
}

// dottedBefore are the names with dots between them that end at an offset.
func dottedBefore(source string, offset int) string {
	start := wordStart(source, offset)
	for start > 0 && start < offset && source[start-1] == '.' {
		next := wordStart(source, start-1)
		if next == start-1 {
			break
		}
		start = next
	}
	return source[start:offset]
}

// argument is which argument of a call an offset is in, of one whose bracket is open, and the name
// it is passed by, "" for none.
func argument(source string, open, offset int) (n int, name string) {
	start := open + 1
	depth := 0
	for at := start; at < offset; at++ {
		switch source[at] {
		case '"', '\'':
			_, end := literal(source, at)
			at = end - 1
		case '#':
			at += strings.IndexByte(source[at:]+"\n", '\n')
		case '(', '[', '{':
			depth++
		case ')', ']', '}':
			depth--
		case ',':
			if depth == 0 {
				n, start = n+1, at+1
			}
		}
	}
	before, _, ok := strings.Cut(source[min(start, offset):offset], "=")
	if name := strings.TrimSpace(before); ok && wordStart(name, len(name)) == 0 {
		return n, name
	}
	return n, ""
}

// repairs are ways in which a text could go on where somebody is at work: what is between end and
// resume is left out, and then, if that is no program, what is open is closed and the rest of the
// line left out, a block is given its body, or all that follows is left out.
func repairs(source string, end, resume int) []string {
	head := source[:end]
	var closers string
	for _, open := range scan(source, end).brackets {
		closers = map[byte]string{'(': ")", '[': "]", '{': "}"}[source[open]] + closers
	}
	line := resume + strings.IndexByte(source[resume:]+"\n", '\n')
	rest := source[min(line, len(source)):]
	shut := head + closers
	return []string{head + source[resume:], shut + rest, shut + ":" + rest, shut + ": pass" + rest, shut + " else None" + rest, shut + "\n", shut + ": pass\n"}
}
