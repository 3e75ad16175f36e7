package stdlib

import (
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/aymanbagabas/go-udiff"
	"go.starlark.net/starlark"

	"starling/lang/effect"
)

// textModule is what pipelines do to prompts and reports. Lengths and widths are code points.
func textModule() []*effect.Builtin {
	return []*effect.Builtin{
		{
			FullName: "text.dedent", Result: "string",
			Doc:    "Remove the indentation that all lines share, and the line break that the text begins with. Lines of spaces alone become empty.",
			Params: []effect.Param{{Name: "text", Type: "string", Doc: "Such as a prompt in three quotes inside a function."}},
			Pure:   func(c *effect.Call) (starlark.Value, error) { return starlark.String(dedent(c.Text("text", ""))), nil },
		},
		{
			FullName: "text.indent", Result: "string", Doc: "Put a prefix before each line that is not empty.",
			Params: []effect.Param{
				{Name: "text", Type: "string", Doc: "The lines."},
				{Name: "prefix", Type: "string", Default: `"    "`, Doc: "What to put before them."},
			},
			Size: func(c *effect.Call) (int64, error) {
				text, prefix := c.Text("text", ""), c.Text("prefix", "    ")
				return int64(len(text)) + int64(strings.Count(text, "\n")+1)*int64(len(prefix)) + 24, nil
			},
			Pure: textIndent,
		},
		{
			FullName: "text.wrap", Result: "string", Doc: "Break lines at spaces so that they fit a width. Line breaks stay, and a word that is too long has a line of its own.",
			Params: []effect.Param{
				{Name: "text", Type: "string", Doc: "The text."},
				{Name: "width", Type: "int", Least: 1, Most: 1 << 20, Default: "80", Doc: "Code points that a line may have."},
			},
			Pure: textWrap,
		},
		{
			FullName: "text.truncate", Result: "string", Doc: "Cut a text that is longer than allowed.",
			Params: []effect.Param{
				{Name: "text", Type: "string", Doc: "The text."},
				{Name: "length", Type: "int", Most: 1 << 30, Doc: "Code points that may be left, the end included."},
				{Name: "end", Type: "string", Default: `"…"`, Doc: "What to put where it was cut."},
			},
			Pure: textTruncate,
		},
		{
			FullName: "text.slug", Result: "string", Doc: "Make a text fit to name a step: small letters, digits and hyphens; what has none of them gives an empty text.",
			Params: []effect.Param{{Name: "text", Type: "string", Doc: "Such as a title."}},
			Pure: func(c *effect.Call) (starlark.Value, error) {
				text := c.Text("text", "")
				c.Steps += int64(len(text)) >> 2
				return starlark.String(slug(text)), nil
			},
		},
		{
			FullName: "text.diff", Result: "string", Doc: "The lines in which two texts differ, as a unified diff; empty for equal texts.",
			Params: []effect.Param{
				{Name: "a", Type: "string", Doc: "The text before."},
				{Name: "b", Type: "string", Doc: "The text after."},
				{Name: "from_name", Type: "string", Default: `"a"`, Doc: "What the text before is called."},
				{Name: "to_name", Type: "string", Default: `"b"`, Doc: "What the text after is called."},
			},
			Size: func(c *effect.Call) (int64, error) {
				a, b := c.Text("a", ""), c.Text("b", "")
				return 2*int64(len(a)+len(b)) + 32*int64(strings.Count(a, "\n")+strings.Count(b, "\n")) + 200, nil
			},
			Pure: textDiff,
		},
	}
}

func dedent(text string) string {
	lines := strings.Split(strings.TrimPrefix(text, "\n"), "\n")
	margin, known := "", false
	for i, line := range lines {
		rest := strings.TrimLeft(line, " \t")
		if rest == "" {
			lines[i] = ""
			continue
		}
		own := line[:len(line)-len(rest)]
		if !known {
			margin, known = own, true
		}
		margin = margin[:commonPrefix(margin, own)]
	}
	for i := range lines {
		lines[i] = strings.TrimPrefix(lines[i], margin)
	}
	return strings.Join(lines, "\n")
}

func commonPrefix(a, b string) int {
	n := 0
	for n < len(a) && n < len(b) && a[n] == b[n] {
		n++
	}
	return n
}

func textIndent(c *effect.Call) (starlark.Value, error) {
	prefix := c.Text("prefix", "    ")
	var b strings.Builder
	for line := range strings.Lines(c.Text("text", "")) {
		if line != "\n" {
			b.WriteString(prefix)
		}
		b.WriteString(line)
	}
	return starlark.String(b.String()), nil
}

func textWrap(c *effect.Call) (starlark.Value, error) {
	width, err := c.Count("width", 80)
	if err != nil {
		return nil, err
	}
	var b strings.Builder
	for i, line := range strings.Split(c.Text("text", ""), "\n") {
		if i > 0 {
			b.WriteByte('\n')
		}
		wrapLine(&b, line, width)
	}
	return starlark.String(b.String()), nil
}

func wrapLine(b *strings.Builder, line string, width int) {
	if utf8.RuneCountInString(line) <= width {
		b.WriteString(line)
		return
	}
	used := 0
	for word := range strings.FieldsSeq(line) {
		n := utf8.RuneCountInString(word)
		switch {
		case used > 0 && used+1+n > width:
			b.WriteByte('\n')
			used = 0
		case used > 0:
			b.WriteByte(' ')
			used++
		}
		b.WriteString(word)
		used += n
	}
}

func textTruncate(c *effect.Call) (starlark.Value, error) {
	text, end := c.Text("text", ""), c.Text("end", "…")
	length, err := c.Count("length", 0)
	if err != nil {
		return nil, err
	}
	if utf8.RuneCountInString(text) <= length {
		return starlark.String(text), nil
	}
	keep := length - utf8.RuneCountInString(end)
	if keep < 0 {
		return nil, wrong(c, "length", "got %d, want at least the %d code points of end", length, length-keep)
	}
	for i := range text {
		if keep == 0 {
			return starlark.String(text[:i] + end), nil
		}
		keep--
	}
	return starlark.String(text), nil
}

func slug(text string) string {
	return strings.Join(strings.FieldsFunc(strings.ToLower(text), func(r rune) bool {
		return r > unicode.MaxASCII || !unicode.IsLetter(r) && !unicode.IsDigit(r)
	}), "-")
}

func textDiff(c *effect.Call) (starlark.Value, error) {
	c.Steps += int64(len(c.Text("a", ""))+len(c.Text("b", ""))) >> 1 // it tries up to some hundred ways through both
	return starlark.String(udiff.Unified(c.Text("from_name", "a"), c.Text("to_name", "b"), c.Text("a", ""), c.Text("b", ""))), nil
}
