package window

import (
	"fmt"
	"strings"
	"unicode/utf8"

	"go.starlark.net/starlark"
)

const (
	around  = 3   // lines before and behind one with a word that is asked for
	maxLine = 200 // characters of a line of a file that is cut
)

// cut makes excerpts that take at most this many characters: lines around the words, then the file
// from its beginning.
func (f *part) cut(room int, words []string) {
	taken := make([]bool, len(f.lines)+2) // by number; the ends are never taken
	for _, n := range f.wanted(words) {
		if taken[n] {
			continue
		}
		cost := quoted(short(f.lines[n-1]))
		if !taken[n-1] && !taken[n+1] {
			cost += f.frame // an excerpt of its own
		}
		if cost > room {
			break
		}
		room -= cost
		taken[n] = true
	}
	for first := 1; first <= len(f.lines); first++ {
		if !taken[first] {
			continue
		}
		last := first
		var text strings.Builder
		for ; taken[last]; last++ {
			text.WriteString(short(f.lines[last-1]))
		}
		f.excerpts = append(f.excerpts, f.excerpt(first, last-1, text.String()))
		first = last
	}
	if len(f.excerpts) == 0 {
		f.excerpts = []starlark.Value{f.excerpt(0, 0, "")}
	}
}

// wanted are the numbers of all lines from 1, the most wanted first; some are there twice.
func (f *part) wanted(words []string) []int {
	var order []int
	for i, line := range f.lines {
		if !mentions(line, words) {
			continue
		}
		for n := max(i+1-around, 1); n <= min(i+1+around, len(f.lines)); n++ {
			order = append(order, n)
		}
	}
	for n := range f.lines {
		order = append(order, n+1)
	}
	return order
}

func mentions(line string, words []string) bool {
	line = strings.ToLower(line)
	for _, w := range words {
		if strings.Contains(line, w) {
			return true
		}
	}
	return false
}

// short is a line, or its beginning and how much is missing.
func short(line string) string {
	n := utf8.RuneCountInString(line)
	if n <= maxLine {
		return line
	}
	return string([]rune(line)[:maxLine]) + fmt.Sprintf("… [%d more characters]\n", n-maxLine)
}

// quoted is how many characters a text takes within another in JSON.
func quoted(text string) int { return length(starlark.String(text)) - 2 }
