package pdf

import (
	"bytes"
	"compress/zlib"
	"fmt"
	"math"
	"strconv"
	"strings"
	"unicode/utf16"

	"github.com/go-text/typesetting/di"
	"github.com/go-text/typesetting/font"
	"github.com/go-text/typesetting/shaping"
)

// writer makes the file, whose form is that of ISO 32000-1. Its objects are numbered as they are
// made: the catalogue is 1, the list of pages 2, the resources that all pages share 3.
type writer struct {
	title    string
	pages    []*bytes.Buffer // what is drawn on each
	fonts    []*type3
	of       map[*font.Face]*type3 // the newest of each face: a Type 3 font has 256 codes
	codes    map[glyph]code
	out      bytes.Buffer
	places   []int // of the objects in the file, by number less one
	deflated *zlib.Writer
}

// glyph is one of a face that stands for a text. The same one that stands for another has a code of
// its own, so that each code has one meaning.
type glyph struct {
	face *font.Face
	id   font.GID
	text string
}

type code struct {
	font int // index in fonts
	char byte
}

// type3 is a font in the file: up to 256 glyphs of a face.
type type3 struct {
	index  int
	face   *font.Face
	glyphs []glyph
}

const (
	catalogue = 1 + iota
	pageList
	resources
	firstFree
)

func newWriter(title string) *writer {
	return &writer{title: title, of: map[*font.Face]*type3{}, codes: map[glyph]code{},
		places: make([]int, firstFree-1), deflated: zlib.NewWriter(nil)}
}

func (w *writer) page() { w.pages = append(w.pages, &bytes.Buffer{}) }

// run draws shaped text on the last page. Where a glyph is not one character, as in Indic scripts,
// the whole says what it stands for. From right to left the glyphs say it, since readers turn round
// what they find from left to right.
func (w *writer) run(run *shaping.Output, text []rune, x, y float64, size int) {
	out := w.pages[len(w.pages)-1]
	simple := true
	backwards := run.Direction == di.DirectionRTL
	for _, g := range run.Glyphs {
		simple = simple && (backwards || g.RunesCount() == 1 && g.GlyphsCount() == 1)
	}
	if !simple {
		fmt.Fprintf(out, "/Span <</ActualText %s>> BDC\n", utf16Text(string(text[run.Runes.Offset:run.Runes.Offset+run.Runes.Count])))
	}
	w.glyphs(out, run, text, x, y, size)
	if !simple {
		fmt.Fprintln(out, "EMC")
	}
}

// glyphs shows the glyphs of a run. The pen goes on by the width of each; only where a glyph is to
// be elsewhere is it moved, by a number in thousandths of the size (9.4.3).
func (w *writer) glyphs(out *bytes.Buffer, run *shaping.Output, text []rune, x, y float64, size int) {
	const near = 0.05 // points
	penX, penY, font, before := 0.0, math.Inf(1), -1, -1
	for _, g := range run.Glyphs {
		meaning := ""
		if at := g.TextIndex(); at != before {
			meaning, before = string(text[at:at+g.RunesCount()]), at
		}
		c := w.code(glyph{run.Face, g.GlyphID, meaning})
		toX, toY := x+points(g.XOffset), y+points(g.YOffset)
		if c.font != font || toY != penY {
			if font >= 0 {
				fmt.Fprint(out, ">] TJ ET\n")
			}
			fmt.Fprintf(out, "BT /F%d %d Tf %s %s Td [<", c.font, size, number(toX), number(toY))
			penX, penY, font = toX, toY, c.font
		} else if math.Abs(toX-penX) > near {
			by := math.Round((penX - toX) * 1000 / float64(size))
			fmt.Fprintf(out, ">%.0f<", by)
			penX -= by * float64(size) / 1000
		}
		fmt.Fprintf(out, "%02x", c.char)
		penX += float64(run.Face.HorizontalAdvance(g.GlyphID)) * float64(size) / float64(run.Face.Upem())
		x += points(g.Advance)
	}
	if font >= 0 {
		fmt.Fprint(out, ">] TJ ET\n")
	}
}

func (w *writer) code(g glyph) code {
	if c, known := w.codes[g]; known {
		return c
	}
	f := w.of[g.face]
	if f == nil || len(f.glyphs) == 256 {
		f = &type3{index: len(w.fonts), face: g.face}
		w.fonts, w.of[g.face] = append(w.fonts, f), f
	}
	c := code{f.index, byte(len(f.glyphs))}
	f.glyphs = append(f.glyphs, g)
	w.codes[g] = c
	return c
}

// number is a coordinate in hundredths of a point.
func number(v float64) string { return strconv.FormatFloat(v, 'f', 2, 64) }

// utf16Text is a text string (7.9.2.2), in hexadecimal digits.
func utf16Text(text string) string { return "<FEFF" + utf16Hex(text) + ">" }

func utf16Hex(text string) string {
	var b []byte
	for _, unit := range utf16.Encode([]rune(text)) {
		b = fmt.Appendf(b, "%04X", unit)
	}
	return string(b)
}

// bytes is the whole file.
func (w *writer) bytes() ([]byte, error) {
	w.out.WriteString("%PDF-1.7\n%\xe2\xe3\xcf\xd3\n")
	var kids, shared strings.Builder
	for _, p := range w.pages {
		content, err := w.stream(p.Bytes())
		if err != nil {
			return nil, err
		}
		fmt.Fprintf(&kids, "%d 0 R ", w.object("<< /Type /Page /Parent %d 0 R /MediaBox [0 0 %d %d] /Resources %d 0 R /Contents %d 0 R >>",
			pageList, pageWidth, pageHeight, resources, content))
	}
	for i, f := range w.fonts {
		n, err := w.font(f)
		if err != nil {
			return nil, err
		}
		fmt.Fprintf(&shared, "/F%d %d 0 R ", i, n)
	}
	w.put(catalogue, "<< /Type /Catalog /Pages %d 0 R >>", pageList)
	w.put(pageList, "<< /Type /Pages /Count %d /Kids [ %s] >>", len(w.pages), kids.String())
	w.put(resources, "<< /Font << %s>> >>", shared.String())
	info := w.object("<< /Title %s /Producer (Starling) >>", utf16Text(w.title))
	start := w.out.Len()
	fmt.Fprintf(&w.out, "xref\n0 %d\n0000000000 65535 f \n", len(w.places)+1)
	for _, place := range w.places {
		fmt.Fprintf(&w.out, "%010d 00000 n \n", place)
	}
	fmt.Fprintf(&w.out, "trailer << /Size %d /Root %d 0 R /Info %d 0 R >>\nstartxref\n%d\n%%%%EOF\n", len(w.places)+1, catalogue, info, start)
	return w.out.Bytes(), nil
}

// put writes the object of a number that was kept for it.
func (w *writer) put(n int, format string, args ...any) {
	w.places[n-1] = w.out.Len()
	fmt.Fprintf(&w.out, "%d 0 obj\n"+format+"\nendobj\n", append([]any{n}, args...)...)
}

// object writes an object and gives its number.
func (w *writer) object(format string, args ...any) int {
	w.places = append(w.places, 0)
	w.put(len(w.places), format, args...)
	return len(w.places)
}

// stream writes a stream, compressed, and gives its number.
func (w *writer) stream(content []byte) (int, error) {
	var packed bytes.Buffer
	w.deflated.Reset(&packed)
	if _, err := w.deflated.Write(content); err != nil {
		return 0, err
	}
	if err := w.deflated.Close(); err != nil {
		return 0, err
	}
	return w.object("<< /Filter /FlateDecode /Length %d >>\nstream\n%s\nendstream", packed.Len(), packed.Bytes()), nil
}

// font writes a Type 3 font: its glyphs, and what they mean.
func (w *writer) font(f *type3) (int, error) {
	var procedures, names, widths strings.Builder
	written := map[font.GID]bool{}
	for _, g := range f.glyphs {
		width := f.face.HorizontalAdvance(g.id)
		fmt.Fprintf(&names, "/g%d ", g.id)
		widths.WriteString(unit(width) + " ")
		if written[g.id] {
			continue
		}
		written[g.id] = true
		n, err := w.stream(outline(f.face, g.id, width))
		if err != nil {
			return 0, err
		}
		fmt.Fprintf(&procedures, "/g%d %d 0 R ", g.id, n)
	}
	meaning, err := w.stream(toUnicode(f.glyphs))
	if err != nil {
		return 0, err
	}
	unit := strconv.FormatFloat(1/float64(f.face.Upem()), 'f', 8, 64)
	return w.object("<< /Type /Font /Subtype /Type3 /Name /F%d /FontBBox [0 0 0 0] /FontMatrix [%s 0 0 %s 0 0] /Resources << >>\n"+
		"/FirstChar 0 /LastChar %d /Widths [ %s]\n/Encoding << /Type /Encoding /Differences [ 0 %s] >>\n/CharProcs << %s>> /ToUnicode %d 0 R >>",
		f.index, unit, unit, len(f.glyphs)-1, widths.String(), names.String(), procedures.String(), meaning), nil
}
