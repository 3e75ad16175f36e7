// Package pdf makes PDF files of plain text in any writing system: one column on pages of A4, in
// fonts that are in the file.
//
//	file, err := pdf.Make(ctx, pdf.Document{Title: "On gannets", Body: text}, pdf.Folders())
//
// Text is shaped by HarfBuzz's rules (github.com/go-text/typesetting): letters of Arabic join,
// syllables of Indic scripts are put together, Hebrew runs from right to left, lines break where
// Unicode says (UAX 14). Each paragraph is set in the first font that has all its characters; Go
// Regular, which comes along, is the first of all, so that Latin, Greek and Cyrillic need no font
// that is installed and are the same bytes everywhere. A character that no font has is an error
// that names it with its script: nothing is left out, and nothing stands in its place.
//
// The outlines of the glyphs that are used are in the file as fonts of Type 3 (ISO 32000-1, 9.6.5),
// since that takes those of TrueType and of PostScript fonts alike; what each glyph means stands
// beside it, so that text can be searched and copied. Bitmaps and colours, such as those of emoji,
// are not drawn: a font that has nothing else is not looked at. Text is horizontal, hyphens are not
// added, and there are no styles.
//
// Equal documents and equal fonts make equal bytes: the file has no time and no name of a machine.
package pdf
