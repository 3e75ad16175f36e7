package contract

import (
	"regexp/syntax"
	"strconv"
	"strings"
	"unicode"
)

// Contracts write patterns in RE2, JSON Schema in ECMA-262. They look alike and differ where it
// hurts: flags such as (?i), classes such as \pL or [[:alpha:]], \s, the dot, \z. So a pattern is
// not passed on as text. It is parsed, and written again with the few constructs that mean the same
// in both: literal runes, classes of ranges, groups, repetition, alternatives, ^ $ \b \B.

// ecmaPattern is the pattern that matches, in ECMA-262 with the u flag, the strings that source
// matches whole in RE2.
func ecmaPattern(source string) string {
	tree, err := syntax.Parse(source, syntax.Perl)
	if err != nil {
		panic(err) // it has been compiled before
	}
	var b strings.Builder
	b.WriteString("^")
	if tree.Op == syntax.OpAlternate {
		writeGroup(&b, tree)
	} else {
		writeECMA(&b, tree)
	}
	b.WriteString("$")
	return b.String()
}

// writeECMA writes one node of the syntax tree.
func writeECMA(b *strings.Builder, re *syntax.Regexp) {
	switch re.Op {
	case syntax.OpNoMatch:
		b.WriteString(`[^\s\S]`)
	case syntax.OpEmptyMatch:
		b.WriteString(`(?:)`)
	case syntax.OpLiteral:
		writeLiteral(b, re)
	case syntax.OpCharClass:
		writeClass(b, re.Rune)
	case syntax.OpAnyChar:
		b.WriteString(`[\s\S]`)
	case syntax.OpAnyCharNotNL:
		b.WriteString(`[^\n]`)
	case syntax.OpBeginText:
		b.WriteString(`^`)
	case syntax.OpEndText:
		b.WriteString(`$`)
	case syntax.OpBeginLine:
		b.WriteString(`(?:^|(?<=\n))`)
	case syntax.OpEndLine:
		b.WriteString(`(?:$|(?=\n))`)
	case syntax.OpWordBoundary:
		b.WriteString(`\b`)
	case syntax.OpNoWordBoundary:
		b.WriteString(`\B`)
	case syntax.OpCapture:
		writeGroup(b, re.Sub[0])
	case syntax.OpStar, syntax.OpPlus, syntax.OpQuest, syntax.OpRepeat:
		writeRepeat(b, re)
	case syntax.OpConcat:
		for _, sub := range re.Sub {
			writePart(b, sub)
		}
	case syntax.OpAlternate:
		for i, sub := range re.Sub {
			if i > 0 {
				b.WriteByte('|')
			}
			writeECMA(b, sub)
		}
	}
}

// writeGroup writes a node so that it is one operand. Groups never capture: nobody asks for the
// parts.
func writeGroup(b *strings.Builder, re *syntax.Regexp) {
	b.WriteString("(?:")
	writeECMA(b, re)
	b.WriteByte(')')
}

// writePart writes a member of a sequence, in a group if it would fall apart without.
func writePart(b *strings.Builder, re *syntax.Regexp) {
	if re.Op == syntax.OpAlternate {
		writeGroup(b, re)
	} else {
		writeECMA(b, re)
	}
}

// writeRepeat leaves greediness out: a whole match is the same either way.
func writeRepeat(b *strings.Builder, re *syntax.Regexp) {
	sub := re.Sub[0]
	switch {
	case sub.Op == syntax.OpCharClass, sub.Op == syntax.OpCapture, sub.Op == syntax.OpAnyChar,
		sub.Op == syntax.OpAnyCharNotNL, sub.Op == syntax.OpLiteral && len(sub.Rune) == 1:
		writeECMA(b, sub)
	default:
		writeGroup(b, sub)
	}
	switch re.Op {
	case syntax.OpStar:
		b.WriteByte('*')
	case syntax.OpPlus:
		b.WriteByte('+')
	case syntax.OpQuest:
		b.WriteByte('?')
	default:
		b.WriteString(repeatCount(re.Min, re.Max))
	}
}

func repeatCount(low, high int) string {
	switch {
	case low == high:
		return "{" + strconv.Itoa(low) + "}"
	case high < 0:
		return "{" + strconv.Itoa(low) + ",}"
	}
	return "{" + strconv.Itoa(low) + "," + strconv.Itoa(high) + "}"
}

// writeLiteral writes runes; under (?i) each becomes the class of its case variants.
func writeLiteral(b *strings.Builder, re *syntax.Regexp) {
	for _, r := range re.Rune {
		variants := []rune{r, r}
		if re.Flags&syntax.FoldCase != 0 {
			for v := unicode.SimpleFold(r); v != r; v = unicode.SimpleFold(v) {
				variants = append(variants, v, v)
			}
		}
		if len(variants) > 2 {
			writeClass(b, variants)
		} else {
			writeRune(b, r)
		}
	}
}

// writeClass writes pairs of first and last runes; a class that goes on to the last rune there is,
// as what it lacks.
func writeClass(b *strings.Builder, pairs []rune) {
	if n := len(pairs); n == 0 || pairs[n-1] != unicode.MaxRune {
		b.WriteByte('[')
	} else {
		b.WriteString("[^")
		pairs = gaps(pairs)
	}
	for i := 0; i < len(pairs); i += 2 {
		writeRange(b, pairs[i], pairs[i+1])
	}
	b.WriteByte(']')
}

// gaps is what lies before and between the pairs.
func gaps(pairs []rune) []rune {
	var between []rune
	next := rune(0)
	for i := 0; i < len(pairs); i += 2 {
		if pairs[i] > next {
			between = append(between, next, pairs[i]-1)
		}
		next = pairs[i+1] + 1
	}
	return between
}

// writeRange writes one or two runes as they are, more as a range.
func writeRange(b *strings.Builder, first, last rune) {
	writeClassRune(b, first)
	if last > first+1 {
		b.WriteByte('-')
	}
	if last > first {
		writeClassRune(b, last)
	}
}

func writeClassRune(b *strings.Builder, r rune) {
	if r == '-' {
		b.WriteString(`\-`)
		return
	}
	writeRune(b, r)
}

// writeRune escapes what has a meaning, and control characters; all else stands for itself.
func writeRune(b *strings.Builder, r rune) {
	switch {
	case strings.ContainsRune(`^$\.*+?()[]{}|`, r):
		b.WriteByte('\\')
		b.WriteRune(r)
	case r < ' ' || r == 0x7f:
		b.WriteString(`\x` + strconv.FormatInt(int64(r)+0x100, 16)[1:])
	default:
		b.WriteRune(r)
	}
}
