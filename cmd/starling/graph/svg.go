package graph

import (
	"fmt"
	"html"
	"io"
	"strings"

	"github.com/mattn/go-runewidth"
)

// The measures of a picture, in pixels.
const (
	column  = 7.0 // of text
	heavy   = 8.5 // of bold text
	row     = 17.0
	padding = 12.0
	apart   = 26.0 // between a node and the one after it
	beside  = 16.0 // between a node and the one beside it
	titled  = 26.0 // the head of a box
	broad   = 1400 // what goes on side by side and is broader stands in several rows
)

// rectangle is a node with its place.
type rectangle struct {
	node       *Node
	x, y, w, h float64
	below      []*rectangle
}

// measured is a node with what is below it, each at its place within the one above.
func measured(n *Node) *rectangle {
	r := &rectangle{node: n}
	for i, line := range n.words() {
		letter := column
		if i == 0 && n.box() {
			letter = heavy
		}
		r.w = max(r.w, float64(runewidth.StringWidth(line))*letter+2*padding)
	}
	if !n.box() {
		r.w, r.h = max(r.w, 96), float64(len(n.words()))*row+padding
		if n.Kind == "gate" {
			r.w += 2 * padding
		}
		return r
	}
	head := titled + float64(len(n.words())-1)*row
	r.below = make([]*rectangle, len(n.Nodes))
	for i, below := range n.Nodes {
		r.below[i] = measured(below)
	}
	w, h := arrange(r.below, n.Fans, padding, head)
	r.w, r.h = max(r.w, w+2*padding), head+h+padding
	if !n.Fans {
		for _, b := range r.below {
			b.x = (r.w - b.w) / 2
		}
	}
	return r
}

// arrange gives rectangles their places from a corner on, and tells how much room they take.
func arrange(list []*rectangle, fans bool, x, y float64) (w, h float64) {
	if fans {
		return abreast(list, x, y)
	}
	for i, r := range list {
		r.x, r.y = x, y+h
		w, h = max(w, r.w), h+r.h
		if i < len(list)-1 {
			h += apart
		}
	}
	return w, h
}

// abreast gives rectangles their places side by side, in as many rows as they need.
func abreast(list []*rectangle, x, y float64) (w, h float64) {
	left, deep := 0.0, 0.0
	for _, r := range list {
		if left > 0 && left+r.w > broad {
			left, h, deep = 0, h+deep+beside, 0
		}
		r.x, r.y = x+left, y+h
		w, deep = max(w, left+r.w), max(deep, r.h)
		left += r.w + beside
	}
	return w, h + deep
}

// svg writes a graph as a picture. It follows the reader's choice of light or dark.
func (g *Graph) svg(w io.Writer) error {
	all := measured(&Node{Kind: "all", Name: g.Title, State: g.State, Nodes: append([]*Node{}, g.Nodes...)})
	var b strings.Builder
	fmt.Fprintf(&b, `<svg xmlns="http://www.w3.org/2000/svg" width="%.0f" height="%.0f" viewBox="0 0 %[1]g %[2]g" font-family="system-ui, sans-serif" font-size="13">`+"\n", all.w+2, all.h+2)
	fmt.Fprintf(&b, "<title>%s</title>\n%s\n", escaped(g.Title), style)
	fmt.Fprint(&b, `<g transform="translate(1 1)">`+"\n")
	all.draw(&b, 0, 0)
	b.WriteString("</g>\n</svg>\n")
	_, err := io.WriteString(w, b.String())
	return err
}

// style are the colours, those of a run drawn as Mermaid too.
const style = `<style>
svg { background: #fff; color: #222 } text { fill: #222 } .note { fill: #666 }
.box { fill: #00000008; stroke: #bbb } .step { fill: #f4f4f4; stroke: #888 } .arrow { stroke: #888; fill: none; marker-end: url(#to) } #to path { fill: #888 }
.done { fill: #d8f5d8; stroke: #2e7d32 } .open { fill: #fff3c4; stroke: #b7791f } .busy { fill: #d6e9ff; stroke: #1f5fa8 } .bad { fill: #ffd9d6; stroke: #b3261e } .gone { fill: #eee; stroke: #777 }
@media (prefers-color-scheme: dark) { svg { background: #16181c } text { fill: #e6e6e6 } .note { fill: #a0a0a0 } .box { fill: #ffffff0a; stroke: #555 } .step { fill: #262a31; stroke: #777 }
.done { fill: #173d1b } .open { fill: #4a3a0c } .busy { fill: #12304f } .bad { fill: #4d1614 } .gone { fill: #2a2a2a } }
</style>
<defs><marker id="to" viewBox="0 0 8 8" refX="7" refY="4" markerWidth="7" markerHeight="7" orient="auto"><path d="M0 0 8 4 0 8z"/></marker></defs>`

// draw draws a rectangle whose corner is at a place, and what is below it.
func (r *rectangle) draw(b *strings.Builder, x, y float64) {
	x, y = x+r.x, y+r.y
	r.shape(b, x, y)
	for i, below := range r.below {
		below.draw(b, x, y)
		if i == 0 || r.node.Fans {
			continue
		}
		above := r.below[i-1]
		fmt.Fprintf(b, `<path class="arrow" d="M%.1f %.1f V%.1f"/>`+"\n", x+r.w/2, y+above.y+above.h, y+below.y)
	}
}

// shape draws the outline of a node with its words.
func (r *rectangle) shape(b *strings.Builder, x, y float64) {
	kind := class(r.node.State)
	switch {
	case r.node.box():
		fmt.Fprintf(b, `<rect class="box %s" x="%.1f" y="%.1f" width="%.1f" height="%.1f" rx="8"/>`+"\n", outline(r.node), x, y, r.w, r.h)
		for i, line := range r.node.words() {
			look := ` class="note" font-size="12"`
			if i == 0 {
				look = ` font-weight="600"`
			}
			fmt.Fprintf(b, `<text x="%.1f" y="%.1f"%s>%s</text>`+"\n", x+padding, y+row+float64(i)*row, look, escaped(line))
		}
		return
	case r.node.Kind == "gate":
		fmt.Fprintf(b, `<path class="step %s" d="M%.1f %.1f h%.1f l12 %.1f l-12 %.1f h-%.1f l-12 -%.1f z"/>`+"\n",
			kind, x+padding, y, r.w-2*padding, r.h/2, r.h/2, r.w-2*padding, r.h/2)
	default:
		fmt.Fprintf(b, `<rect class="step %s" x="%.1f" y="%.1f" width="%.1f" height="%.1f" rx="6"/>`+"\n", kind, x, y, r.w, r.h)
	}
	for i, line := range r.node.words() {
		note := ""
		if i > 0 {
			note = ` class="note" font-size="12"`
		}
		fmt.Fprintf(b, `<text x="%.1f" y="%.1f" text-anchor="middle"%s>%s</text>`+"\n", x+r.w/2, y+row+float64(i)*row, note, escaped(line))
	}
}

// outline is the style of a box: what may be done again, or not at all, is dashed, and a branch
// that has failed is red.
func outline(n *Node) string {
	switch {
	case n.Kind == "loop" || n.Kind == "choice":
		return `" stroke-dasharray="5 4`
	case n.Kind == "branch":
		return class(n.State)
	}
	return ""
}

// stroke is the colour of a class, where there is no style sheet.
func stroke(class string) string {
	switch class {
	case "done":
		return "#2e7d32"
	case "open":
		return "#b7791f"
	case "busy":
		return "#1f5fa8"
	case "bad":
		return "#b3261e"
	}
	return "#777777"
}

func escaped(text string) string { return html.EscapeString(text) }
