package main

import (
	"io"
	"strings"
	"unicode"
)

// plain writes text for a terminal. What scripts print, agents reply and gates ask is somebody else's text: an escape sequence in it would act on the reader's
// terminal, a carriage return could hide what stands before it. Such runes are shown as the replacement rune. Each Write must hold whole runes.
type plain struct{ w io.Writer }

func (p plain) Write(text []byte) (int, error) {
	if _, err := io.WriteString(p.w, strings.Map(shown, string(text))); err != nil {
		return 0, err
	}
	return len(text), nil
}

// shown is how a rune is shown: those that have no shape, save line breaks, tabs and what joins letters and emoji, as one that says so.
func shown(r rune) rune {
	const joiner, nonJoiner = '\u200d', '\u200c'
	switch {
	case r == '\n', r == '\t', r == joiner, r == nonJoiner, unicode.IsGraphic(r):
		return r
	}
	return unicode.ReplacementChar
}
