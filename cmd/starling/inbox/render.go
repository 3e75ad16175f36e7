package inbox

import (
	"bytes"
	"encoding/json"
	"fmt"
	"regexp"
	"strings"

	"go.starlark.net/starlark"

	"starling/cmd/starling/form"
	"starling/cmd/starling/listing"
	"starling/lang/contract"
)

// What is drawn of a value at most: more is not read on a screen.
const (
	mostBytes = 256 << 10
	mostLines = 4000
)

// render lays out what a gate is about: a text, with its Markdown or as a diff, a record field by
// field, anything else as JSON.
func render(data json.RawMessage, width int) (rows []string) {
	d := drawing{}
	v, err := contract.FromJSON(data)
	switch known := listing.ReviewOf(data); {
	case known.Entry != "" && known.File != "": // of what is known: the entry, and what is proposed
		d.text(known.Shown(), "")
	case len(data) == 0 || v == starlark.None:
		return nil
	case err != nil:
		d.text(string(data), "")
	default:
		d.value(v)
	}
	for i, line := range d.lines {
		rows = append(rows, wrap(width, line...)...)
		if len(rows) > mostLines || i == len(d.lines)-1 && d.left > 0 {
			left := fmt.Sprintf("… there is more: %s in all; inbox --json has it", size(len(data)))
			return append(rows[:min(len(rows), mostLines)], wrap(width, span{left, dim})...)
		}
	}
	return rows
}

// size is a number of bytes for people.
func size(n int) string {
	if n < 10<<10 {
		return fmt.Sprintf("%d bytes", n)
	}
	return fmt.Sprintf("%d KiB", n>>10)
}

// drawing gathers lines.
type drawing struct {
	lines [][]span
	taken int // bytes
	left  int // bytes that were too many
}

func (d *drawing) line(spans ...span) {
	d.lines = append(d.lines, spans)
}

// room is as much of a text as may still be drawn.
func (d *drawing) room(text string) string {
	if over := d.taken + len(text) - mostBytes; over > 0 {
		d.left += over
		text = strings.ToValidUTF8(text[:len(text)-over], "")
	}
	d.taken += len(text)
	return clean(text)
}

func (d *drawing) value(v starlark.Value) {
	if text, ok := starlark.AsString(v); ok {
		d.text(text, "")
		return
	}
	record, ok := v.(*starlark.Dict)
	if !ok {
		d.json(v, "")
		return
	}
	for _, item := range record.Items() {
		name, _ := starlark.AsString(item[0])
		d.field(name, item[1])
	}
}

// field is a field of the record: its name, and what stands there beside it or below.
func (d *drawing) field(name string, v starlark.Value) {
	key := span{oneLine(d.room(name)) + ":", blue}
	text, isText := starlark.AsString(v)
	_, isDict := v.(*starlark.Dict)
	list, isList := v.(*starlark.List)
	switch {
	case form.Secret(name):
		d.line(key, span{" " + hidden, dim})
	case isText && !strings.Contains(text, "\n"):
		d.line(append([]span{key, {" ", usual}}, inline(d.room(text))...)...)
	case isText:
		d.line(key)
		d.text(text, "  ")
	case isDict, isList && list.Len() > 0:
		d.line(key)
		d.json(v, "  ")
	default:
		written, err := contract.ToJSON(v)
		if err != nil {
			written = []byte(v.String())
		}
		d.line(key, span{" " + d.room(string(written)), usual})
	}
}

// hidden is drawn in place of what is for nobody's eyes.
const hidden = "•••"

// member is a line of JSON with the name of a member.
func member() *regexp.Regexp { return regexp.MustCompile(`^(\s*)("(?:[^"\\]|\\.)*")(: )(.*)$`) }

func (d *drawing) json(v starlark.Value, indent string) {
	text, err := contract.ToJSON(v)
	var b bytes.Buffer
	if err != nil || json.Indent(&b, text, indent, "  ") != nil {
		d.text(v.String(), indent)
		return
	}
	named := member()
	for line := range strings.SplitSeq(indent+d.room(b.String()), "\n") {
		m := named.FindStringSubmatch(line)
		if m == nil {
			d.line(span{line, usual})
			continue
		}
		if form.Secret(strings.Trim(m[2], `"`)) && !strings.ContainsAny(m[4][:min(1, len(m[4]))], "[{") {
			m[4] = hidden
		}
		d.line(span{m[1], usual}, span{m[2], blue}, span{m[3] + m[4], usual})
	}
}

// isDiff tells whether a text is a unified diff.
func isDiff(text string) bool {
	return regexp.MustCompile(`(?m)^(diff --git |--- .*\n\+\+\+ |@@ -\d+(,\d+)? \+\d+)`).MatchString(text)
}

func (d *drawing) text(text, indent string) {
	diff, fenced := isDiff(text[:min(len(text), mostBytes)]), false
	for line := range strings.SplitSeq(d.room(text), "\n") {
		if diff {
			d.line(span{indent, usual}, span{line, diffStyle(line)})
			continue
		}
		fence := strings.HasPrefix(strings.TrimSpace(line), "```")
		fenced = fenced != fence
		if fence || fenced {
			d.line(span{indent + line, cyan})
			continue
		}
		d.line(append([]span{{indent, usual}}, markdown(line)...)...)
	}
}

func diffStyle(line string) style {
	switch {
	case strings.HasPrefix(line, "+++"), strings.HasPrefix(line, "---"), strings.HasPrefix(line, "diff "), strings.HasPrefix(line, "index "):
		return bold
	case strings.HasPrefix(line, "@@"):
		return cyan
	case strings.HasPrefix(line, "+"):
		return green
	case strings.HasPrefix(line, "-"):
		return red
	}
	return usual
}

// markdown is a line of text with its marks drawn. All that it says is still there, the addresses
// of links too: somebody decides upon it.
func markdown(line string) []span {
	text := strings.TrimLeft(line, " ")
	indent := line[:len(line)-len(text)]
	hashes := len(text) - len(strings.TrimLeft(text, "#"))
	switch {
	case hashes > 0 && hashes <= 6 && strings.HasPrefix(text[hashes:], " "):
		return []span{{indent + text[hashes+1:], bold}}
	case strings.HasPrefix(text, "> "):
		return []span{{indent + "│ " + text[2:], dim}}
	case strings.HasPrefix(text, "- ["):
		return append([]span{{indent, usual}}, inline(text)...)
	case strings.HasPrefix(text, "- "), strings.HasPrefix(text, "* "):
		return append([]span{{indent + "• ", usual}}, inline(text[2:])...)
	}
	return append([]span{{indent, usual}}, inline(text)...)
}

// emphasis finds code, what is strong and what is stressed.
func emphasis() *regexp.Regexp {
	return regexp.MustCompile("`([^`]+)`|\\*\\*([^* ][^*]*)\\*\\*|\\b_([^_ ][^_]*)_\\b")
}

// unmarked is a line of text without its marks.
func unmarked(line string) (text string) {
	for _, s := range inline(line) {
		text += s.text
	}
	return text
}

func inline(text string) (spans []span) {
	if !strings.ContainsAny(text, "`*_") || len(text) > 8<<10 {
		return []span{{text, usual}}
	}
	at := 0
	for _, m := range emphasis().FindAllStringSubmatchIndex(text, -1) {
		spans = append(spans, span{text[at:m[0]], usual})
		for group, s := range []style{cyan, bold, italic} {
			if from, to := m[2*group+2], m[2*group+3]; from >= 0 {
				spans = append(spans, span{text[from:to], s})
			}
		}
		at = m[1]
	}
	return append(spans, span{text[at:], usual})
}
