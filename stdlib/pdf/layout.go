package pdf

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/go-text/typesetting/di"
	"github.com/go-text/typesetting/font"
	"github.com/go-text/typesetting/language"
	"github.com/go-text/typesetting/shaping"
	"golang.org/x/image/math/fixed"
	"golang.org/x/text/unicode/bidi"
	"golang.org/x/text/unicode/norm"
)

// Points of a page of A4, and of what is on it.
const (
	pageWidth, pageHeight = 595, 842
	margin                = 56
	column                = pageWidth - 2*margin
	bodySize, titleSize   = 10, 16
	leading               = 1.2 // of the size, where the fonts of a line need no more
)

// Document is what a file is made of. Both are plain text: a line break ends a paragraph, a form
// feed a page, and tabs are four blanks. An empty title is none.
type Document struct{ Title, Body string }

// MaxText bounds the text of a document in bytes.
const MaxText = 256 << 10

// Make is the file of a document, in fonts of the folders where Go Regular does not suffice. Its
// error is a [*MissingError] for what no font has, and that of ctx where it ends. It is used
// concurrently.
func Make(ctx context.Context, d Document, folders []string) (file []byte, err error) {
	// Texts come from agents and fonts from anywhere: what the library does not survive is no end
	// of this process.
	defer func() {
		if p := recover(); p != nil {
			file, err = nil, fmt.Errorf("the text cannot be set in these fonts: %v", p)
		}
	}()
	title, body := strings.NewReplacer("\n", " ", "\f", " ").Replace(prepared(d.Title)), prepared(d.Body)
	faces, err := choose(ctx, []rune(strings.ReplaceAll(title+body, "\f", "")), folders)
	if err != nil {
		return nil, err
	}
	s := &setter{faces: faces, file: newWriter(d.Title)}
	s.page()
	if title != "" {
		s.paragraph(title, titleSize)
		s.y -= titleSize
	}
	for i, page := range strings.Split(body, "\f") {
		if i > 0 {
			s.page()
		}
		for _, text := range strings.Split(strings.TrimSuffix(page, "\n"), "\n") {
			if err := ctx.Err(); err != nil {
				return nil, err
			}
			s.paragraph(text, bodySize)
		}
	}
	return s.file.bytes()
}

// prepared is a text in composed characters, which most fonts have.
func prepared(text string) string {
	return norm.NFC.String(strings.NewReplacer("\r\n", "\n", "\r", "\n", "\u2028", "\n", "\u2029", "\n", "\t", "    ").Replace(text))
}

// setter puts paragraphs onto pages.
type setter struct {
	faces    []*font.Face
	file     *writer
	y        float64 // of the last line's foot, from the foot of the page
	segments shaping.Segmenter
	shaper   shaping.HarfbuzzShaper
	wrapper  shaping.LineWrapper
}

func (s *setter) page() {
	s.file.page()
	s.y = pageHeight - margin
}

func (s *setter) paragraph(text string, size int) {
	if text == "" {
		s.y -= leading * float64(size)
		return
	}
	runes, direction := []rune(text), direction(text)
	in := shaping.Input{Text: runes, RunEnd: len(runes), Direction: direction, Size: fixed.I(size), Language: language.NewLanguage("und")}
	var runs []shaping.Output
	for _, run := range s.segments.Split(in, s.fonts(runes)) {
		runs = append(runs, s.shaper.Shape(run))
	}
	lines, _ := s.wrapper.WrapParagraph(shaping.WrapConfig{Direction: direction}, column, runes, shaping.NewSliceIterator(runs))
	for _, line := range lines {
		s.line(line, runes, direction, size)
	}
}

// direction is that of the first letter that has one (UAX 9, P2).
func direction(text string) di.Direction {
	for _, r := range text {
		switch p, _ := bidi.LookupRune(r); p.Class() {
		case bidi.L:
			return di.DirectionLTR
		case bidi.R, bidi.AL:
			return di.DirectionRTL
		}
	}
	return di.DirectionLTR
}

// preferring is a map of fonts: the preferred one, or else the first that has a character.
type preferring []*font.Face

// ResolveFace gives the font for a character; some font has it, or it needs none.
func (p preferring) ResolveFace(r rune) *font.Face {
	for _, f := range p {
		if glyph, found := f.NominalGlyph(r); found && glyph != 0 {
			return f
		}
	}
	return p[0]
}

// fonts are those for a paragraph: the first that has all of it, or else all.
func (s *setter) fonts(text []rune) shaping.Fontmap {
	for _, f := range s.faces {
		if len(lacking(f, text)) == 0 {
			return preferring{f}
		}
	}
	return preferring(s.faces)
}

// line puts a line below the last one. Its runs are in the order in which they are read.
func (s *setter) line(line shaping.Line, text []rune, direction di.Direction, size int) {
	height, width := leading*float64(size), 0.0
	for _, run := range line {
		height = max(height, points(run.LineBounds.Ascent-run.LineBounds.Descent))
		width += points(run.Advance)
	}
	if s.y -= height; s.y < margin {
		s.page()
		s.y -= height
	}
	slices.SortStableFunc(line, func(a, b shaping.Output) int { return int(a.VisualIndex - b.VisualIndex) })
	x := float64(margin)
	if direction == di.DirectionRTL {
		x += column - width
	}
	for _, run := range line {
		s.file.run(&run, text, x, s.y, size)
		x += points(run.Advance)
	}
}

func points(v fixed.Int26_6) float64 { return float64(v) / 64 }
