package pdf

import (
	"bytes"
	"fmt"
	"slices"
	"strings"

	"github.com/go-text/typesetting/font"
	"github.com/go-text/typesetting/font/opentype"
)

// outline is the procedure of a glyph (9.6.5.1): its width, and its outline as a path that is
// filled. A glyph without one, such as a blank, draws nothing.
func outline(face *font.Face, id font.GID, width float32) []byte {
	var out bytes.Buffer
	path, _ := face.GlyphDataOutline(id)
	left, bottom, right, top := box(path.Segments)
	fmt.Fprintf(&out, "%s 0 %s %s %s %s d1\n", unit(width), unit(left), unit(bottom), unit(right), unit(top))
	var at opentype.SegmentPoint
	for _, s := range path.Segments {
		p := s.ArgsSlice()
		switch s.Op {
		case opentype.SegmentOpMoveTo:
			fmt.Fprintf(&out, "%s m\n", place(p[0]))
		case opentype.SegmentOpLineTo:
			fmt.Fprintf(&out, "%s l\n", place(p[0]))
		case opentype.SegmentOpQuadTo: // PDF has curves of the third degree only
			fmt.Fprintf(&out, "%s %s %s c\n", place(toward(at, p[0])), place(toward(p[1], p[0])), place(p[1]))
		case opentype.SegmentOpCubeTo:
			fmt.Fprintf(&out, "%s %s %s c\n", place(p[0]), place(p[1]), place(p[2]))
		}
		at = p[len(p)-1]
	}
	if len(path.Segments) > 0 {
		out.WriteString("f\n")
	}
	return out.Bytes()
}

// toward is the point two thirds of the way to a control point: the control point of the third
// degree.
func toward(from, control opentype.SegmentPoint) opentype.SegmentPoint {
	return opentype.SegmentPoint{X: from.X + (control.X-from.X)*2/3, Y: from.Y + (control.Y-from.Y)*2/3}
}

// box bounds a path by the points that make it.
func box(path []opentype.Segment) (left, bottom, right, top float32) {
	for i, s := range path {
		for j, p := range s.ArgsSlice() {
			if i == 0 && j == 0 {
				left, bottom, right, top = p.X, p.Y, p.X, p.Y
			}
			left, bottom, right, top = min(left, p.X), min(bottom, p.Y), max(right, p.X), max(top, p.Y)
		}
	}
	return left, bottom, right, top
}

func place(p opentype.SegmentPoint) string { return unit(p.X) + " " + unit(p.Y) }

// unit is a coordinate in the units of a font.
func unit(v float32) string { return strings.TrimSuffix(fmt.Sprintf("%.1f", v), ".0") }

// toUnicode is the CMap that says what the codes of a font mean (9.10.3), in sections of a hundred.
func toUnicode(glyphs []glyph) []byte {
	var rows []string
	for i, g := range glyphs {
		if g.text != "" {
			rows = append(rows, fmt.Sprintf("<%02X> <%s>\n", i, utf16Hex(g.text)))
		}
	}
	var out bytes.Buffer
	out.WriteString("/CIDInit /ProcSet findresource begin\n12 dict begin\nbegincmap\n" +
		"/CIDSystemInfo << /Registry (Adobe) /Ordering (UCS) /Supplement 0 >> def\n" +
		"/CMapName /Adobe-Identity-UCS def\n/CMapType 2 def\n1 begincodespacerange\n<00> <FF>\nendcodespacerange\n")
	for section := range slices.Chunk(rows, 100) {
		fmt.Fprintf(&out, "%d beginbfchar\n%sendbfchar\n", len(section), strings.Join(section, ""))
	}
	out.WriteString("endcmap\nCMapName currentdict /CMap defineresource pop\nend\nend\n")
	return out.Bytes()
}
