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

// Fit breaks lines of a page of help between words, so that they fit a terminal: what goes on
// stands below the text of its column. The lines of examples stay whole, for they are copied.
func (p Paper) Fit(page string) string {
	if p.Width < narrowest {
		return page
	}
	var out strings.Builder
	example := false
	for _, line := range flow(strings.Split(page, "\n")) {
		example = line == "Examples:" || example && line != ""
		if width := min(p.Width, longest); utf8.RuneCountInString(line) > width && !example {
			line = broken(line, width)
		}
		out.WriteString(line + "\n")
	}
	return strings.TrimSuffix(out.String(), "\n")
}

// flow joins the lines of a paragraph, which were broken for whoever reads the source.
func flow(lines []string) (whole []string) {
	goesOn := false
	for _, line := range lines {
		begins := line == "" || strings.HasPrefix(line, " ")
		if goesOn && !begins {
			whole[len(whole)-1] += " " + line
		} else {
			whole = append(whole, line)
		}
		goesOn = !begins && utf8.RuneCountInString(line) >= flowing
	}
	return whole
}

// broken is a line in several.
func broken(line string, width int) string {
	hang := column(line)
	if hang > width/2 {
		hang = indent(line)
	}
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

// column is where the text begins that is broken: behind a first column, or where the line does.
func column(line string) int {
	from := indent(line)
	gap := strings.Index(line[from:], "  ")
	if from == 0 || gap < 0 {
		return from
	}
	return from + gap + indent(line[from+gap:])
}
