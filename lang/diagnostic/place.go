package diagnostic

import (
	"strings"
	"unicode/utf8"
)

// longestLine is the longest line that a diagnostic carries, in bytes. Longer ones are machines'
// work, such as a megabyte of JSON; they would cost more than their snippet tells.
const longestLine = 8 << 10

// At returns d placed at source[start:end], byte offsets, in file: it sets File, Line, Col, EndCol
// and Text. Offsets outside the source are brought to its ends; a range that goes on to further
// lines ends with the first. Text stays empty when the line is longer than 8 KB.
func (d Diagnostic) At(file, source string, start, end int) Diagnostic {
	start = min(max(start, 0), len(source))
	end = min(max(end, start), len(source))
	from, to := lineBounds(source, start)

	d.File = file
	d.Text = ""
	if to-from <= longestLine {
		d.Text = source[from:to]
	}
	d.Line = 1 + strings.Count(source[:from], "\n")
	d.Col = 1 + utf8.RuneCountInString(source[from:start])
	d.EndCol = d.Col
	if stop := min(end, to); stop > start {
		d.EndCol += utf8.RuneCountInString(source[start:stop])
	}
	return d
}

// lineBounds is the line around an offset, without its "\n" or "\r\n".
func lineBounds(source string, offset int) (from, to int) {
	from = strings.LastIndexByte(source[:offset], '\n') + 1
	to = len(source)
	if i := strings.IndexByte(source[offset:], '\n'); i >= 0 {
		to = offset + i
	}
	if to > from && source[to-1] == '\r' {
		to--
	}
	return from, to
}

// Offset is the inverse of At: the byte offset in source of a line and column (1-based, in runes).
// A column past its line's end gives the end of the line, a line past the last the end of the
// source.
func Offset(source string, line, col int) int {
	at := 0
	for ; line > 1; line-- {
		i := strings.IndexByte(source[at:], '\n')
		if i < 0 {
			return len(source)
		}
		at += i + 1
	}
	for ; col > 1 && at < len(source) && source[at] != '\n'; col-- {
		_, size := utf8.DecodeRuneInString(source[at:])
		at += size
	}
	return at
}
