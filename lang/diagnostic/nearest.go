package diagnostic

import (
	"slices"
	"strings"
	"unicode"
)

// longestWord is the longest word, in bytes, that is looked up.
const longestWord = 1000

// Nearest is the candidate that a misspelled word most likely meant, and whether there is one: the
// first of those at the least Levenshtein distance, taken in bytes after folding case and dropping
// '_', if that distance is below (len+1)/2 of the folded word. It is the rule of go.starlark.net's
// internal/spell, letter for letter, because our messages are compared with those of the reference.
// One liberty: a word of more than longestWord bytes has none, since the work grows with the square
// of its length and such a word is no slip of the finger.
func Nearest(word string, candidates []string) (string, bool) {
	if len(word) > longestWord {
		return "", false
	}
	word = fold(word)
	nearest, found := "", false
	bound := (len(word) + 1) / 2
	for _, c := range candidates {
		if d := distance(word, fold(c), bound); d < bound {
			nearest, found, bound = c, true, d
		}
	}
	return nearest, found
}

// DidYouMean is the hint `did you mean "x"?` for the nearest candidate, empty when none is near.
func DidYouMean(word string, candidates []string) string {
	if c, ok := Nearest(word, candidates); ok {
		return `did you mean "` + c + `"?`
	}
	return ""
}

// Meant is [DidYouMean] for messages that no script sees, which are free to be better: two letters
// in the wrong order are one slip of the fingers and come first, where [Nearest] takes them for
// two.
func Meant(word string, candidates []string) string {
	if i := slices.IndexFunc(candidates, func(c string) bool { return swapped(fold(word), fold(c)) }); i >= 0 {
		return `did you mean "` + candidates[i] + `"?`
	}
	return DidYouMean(word, candidates)
}

// swapped tells whether two words differ in the order of two letters that stand side by side.
func swapped(x, y string) bool {
	if len(x) != len(y) || len(x) > longestWord {
		return false
	}
	for i := range len(x) - 1 {
		if x[i] != y[i] {
			return x[i] == y[i+1] && x[i+1] == y[i] && x[i+2:] == y[i+2:]
		}
	}
	return false
}

func fold(s string) string {
	return strings.Map(func(r rune) rune {
		if r == '_' {
			return -1
		}
		return unicode.ToLower(r)
	}, s)
}

// distance is the Levenshtein distance of two byte strings, or any number of at least bound when it
// is not below bound (so that a long word against a long list costs little). One row of the
// classical table is kept.
func distance(x, y string, bound int) int {
	if diff := len(x) - len(y); max(diff, -diff) >= bound {
		return bound
	}
	row := make([]int, len(y)+1)
	for j := range row {
		row[j] = j
	}
	for i := range len(x) {
		diagonal, least := row[0], i+1
		row[0] = i + 1
		for j := range len(y) {
			substitution := diagonal
			if x[i] != y[j] {
				substitution++
			}
			diagonal = row[j+1]
			row[j+1] = min(substitution, row[j]+1, row[j+1]+1)
			least = min(least, row[j+1])
		}
		if least >= bound {
			return bound
		}
	}
	return row[len(y)]
}
