package table

import (
	"strings"
	"unicode/utf8"
)

const (
	narrowest = 30  // columns below which a terminal breaks the lines as it can
	longest   = 100 // columns of a line that is read with ease
	flowing   = 80  // columns of a line that goes on in the next one, rather than ends
)

// Fit breaks lines of a page of help or of Markdown between words, so that they fit a terminal:
// what goes on stands below the text of its column. The lines of examples and code stay whole, for
// they are copied, and so do the rows of tables.
func (p Paper) Fit(page string) string {
	if p.Width < narrowest {
		return page
	}
	width := min(p.Width, longest)
	var out strings.Builder
	for _, l := range flow(strings.Split(page, "\n")) {
		if !l.whole && utf8.RuneCountInString(l.text) > width {
			l.text = broken(l.text, width)
		}
		out.WriteString(l.text + "\n")
	}
	return strings.TrimSuffix(out.String(), "\n")
}

type line struct {
	text  string
	whole bool // stays as it is
}

// flow joins the lines of a paragraph, which were broken for whoever reads the source.
func flow(texts []string) (lines []line) {
	example, fenced, goesOn := false, false, false
	for _, text := range texts {
		example = text == "Examples:" || example && text != ""
		fence := strings.HasPrefix(text, "```")
		fenced = fenced != fence
		l := line{text, example || fenced || fence || strings.HasPrefix(text, "|")}
		begins := l.whole || text == "" || strings.ContainsRune(" #-", rune(text[0]))
		if goesOn && !begins {
			lines[len(lines)-1].text += " " + text
		} else {
			lines = append(lines, l)
		}
		goesOn = !l.whole && !strings.HasPrefix(text, " ") && utf8.RuneCountInString(text) >= flowing
	}
	return lines
}

// broken is a line in several.
func broken(line string, width int) string {
	hang := column(line, width*3/5)
	var out strings.Builder
	at := hang // column
	out.WriteString(line[:hang])
	for rest := line[hang:]; rest != ""; {
		gap := indent(rest)
		word, _, _ := strings.Cut(rest[gap:], " ")
		n := utf8.RuneCountInString(word)
		if at > hang && at+gap+n > width {
			out.WriteString("\n" + strings.Repeat(" ", hang) + word)
			at = hang + n
		} else {
			out.WriteString(rest[:gap] + word)
			at += gap + n
		}
		rest = rest[gap+len(word):]
	}
	return out.String()
}

func indent(line string) int { return len(line) - len(strings.TrimLeft(line, " ")) }

// column is where the text begins that is broken: behind the last column that ends before most, or
// where the line does. An item of a list goes on below its text.
func column(line string, most int) int {
	if strings.HasPrefix(line, "- ") {
		return len("- ")
	}
	at := indent(line)
	for from := at; at > 0; {
		gap := strings.Index(line[from:], "  ")
		if gap < 0 {
			break
		}
		from += gap + indent(line[from+gap:])
		if from > most {
			break
		}
		at = from
	}
	return at
}
