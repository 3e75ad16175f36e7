package pdf_test

import (
	"bytes"
	"encoding/binary"
	"testing"
	"unicode"

	"github.com/go-text/typesetting/font"
	"golang.org/x/text/unicode/norm"
)

// characters are those of a script that a font has, without those that are written otherwise when
// they are composed.
func characters(t *testing.T, ttf []byte, script *unicode.RangeTable) (all []rune) {
	t.Helper()
	f, err := font.ParseTTF(bytes.NewReader(ttf))
	if err != nil {
		t.Fatal(err)
	}
	for r := range rune(0x3000) {
		if _, found := f.NominalGlyph(r); found && unicode.Is(script, r) && norm.NFC.String(string(r)) == string(r) {
			all = append(all, r)
		}
	}
	return all
}

// withLetters is a font whose characters are a blank, the digits and others from a first one on:
// what it draws for these are the glyphs of A, B, C and on. So tests need no font that is
// installed.
func withLetters(t *testing.T, ttf []byte, first rune, count int) []byte {
	t.Helper()
	f, err := font.ParseTTF(bytes.NewReader(ttf))
	if err != nil {
		t.Fatal(err)
	}
	var groups []byte // of a table of the format 12: first, last and glyph of each
	n := uint32(0)
	add := func(from rune, drawn rune, count int) {
		for i := range rune(min(count, 26)) {
			glyph, _ := f.NominalGlyph(drawn + i)
			groups = binary.BigEndian.AppendUint32(groups, uint32(from+i))
			groups = binary.BigEndian.AppendUint32(groups, uint32(from+i))
			groups = binary.BigEndian.AppendUint32(groups, uint32(glyph))
			n++
		}
	}
	add(' ', ' ', 1)
	add('0', '0', 10)
	add(first, 'A', count)
	cmap := []byte{0, 0, 0, 1, 0, 3, 0, 10, 0, 0, 0, 12, 0, 12, 0, 0}
	cmap = binary.BigEndian.AppendUint32(cmap, uint32(16+len(groups)))
	cmap = binary.BigEndian.AppendUint32(cmap, 0)
	cmap = binary.BigEndian.AppendUint32(cmap, n)
	cmap = append(cmap, groups...)
	out := append(bytes.Clone(ttf), cmap...)
	for i := range int(binary.BigEndian.Uint16(out[4:])) {
		if entry := out[12+16*i:]; string(entry[:4]) == "cmap" {
			binary.BigEndian.PutUint32(entry[8:], uint32(len(ttf)))
			binary.BigEndian.PutUint32(entry[12:], uint32(len(cmap)))
		}
	}
	return out
}
