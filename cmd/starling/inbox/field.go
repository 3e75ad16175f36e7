package inbox

import (
	"slices"
	"strings"
	"unicode"

	tea "charm.land/bubbletea/v2"
	"github.com/mattn/go-runewidth"

	"starling/cmd/starling/plain"
)

// A field is text that somebody types, of one line or several.
type field struct {
	text []rune
	at   int // of the cursor
}

func (f *field) set(text string) { f.text, f.at = []rune(text), len([]rune(text)) }

// insert takes what was typed or pasted. What has no shape is not text.
func (f *field) insert(text string) {
	runes := []rune(plain.Text(strings.NewReplacer("\r\n", "\n", "\r", "\n").Replace(text)))
	runes = slices.DeleteFunc(runes, func(r rune) bool { return r == unicode.ReplacementChar })
	f.text = slices.Insert(f.text, f.at, runes...)
	f.at += len(runes)
}

// press does what a key does to the text. It tells whether the key is one of those that edit.
func (f *field) press(k tea.KeyPressMsg) bool {
	switch k.Keystroke() {
	case "left", "ctrl+b":
		f.at = f.before()
	case "right", "ctrl+f":
		f.at = f.behind()
	case "home", "ctrl+a":
		f.at = f.lineStart()
	case "end", "ctrl+e":
		f.at = f.lineEnd()
	case "alt+left", "alt+b", "ctrl+left":
		f.at = f.wordStart()
	case "backspace", "ctrl+h":
		f.remove(f.before(), f.at)
	case "delete", "ctrl+d":
		f.remove(f.at, f.behind())
	case "ctrl+u":
		f.remove(f.lineStart(), f.at)
	case "ctrl+k":
		f.remove(f.at, f.lineEnd())
	case "ctrl+w", "alt+backspace":
		f.remove(f.wordStart(), f.at)
	case "alt+enter", "ctrl+j", "shift+enter":
		f.insert("\n")
	default:
		if k.Text == "" || k.Mod&(tea.ModCtrl|tea.ModAlt) != 0 {
			return false
		}
		f.insert(k.Text)
	}
	return true
}

func (f *field) remove(from, to int) {
	f.text, f.at = slices.Delete(f.text, from, to), from
}

// before and behind step over a letter with the marks that it carries.
func (f *field) before() int {
	at := max(0, f.at-1)
	for at > 0 && f.text[at] != '\n' && runewidth.RuneWidth(f.text[at]) == 0 {
		at--
	}
	return at
}

func (f *field) behind() int {
	at := min(len(f.text), f.at+1)
	for at < len(f.text) && f.text[at] != '\n' && runewidth.RuneWidth(f.text[at]) == 0 {
		at++
	}
	return at
}

func (f *field) lineStart() int {
	at := f.at
	for at > 0 && f.text[at-1] != '\n' {
		at--
	}
	return at
}

func (f *field) lineEnd() int {
	at := f.at
	for at < len(f.text) && f.text[at] != '\n' {
		at++
	}
	return at
}

func (f *field) wordStart() int {
	at := f.at
	for at > 0 && unicode.IsSpace(f.text[at-1]) {
		at--
	}
	for at > 0 && !unicode.IsSpace(f.text[at-1]) {
		at--
	}
	return at
}

// rise moves the cursor up by lines of the text, or down where n is negative. It is false where
// there is no such line.
func (f *field) rise(n int) bool {
	start, column := f.lineStart(), f.at-f.lineStart()
	was := f.at
	if n > 0 {
		if start == 0 {
			return false
		}
		f.at = start - 1
		f.at = f.lineStart()
	} else {
		f.at = f.lineEnd()
		if f.at == len(f.text) {
			f.at = was
			return false
		}
		f.at++
	}
	f.at = min(f.at+column, f.lineEnd())
	return true
}

// rows lays the text out in rows of a width, at most so many of them: those around the cursor. It
// gives the place of the cursor among them. A secret is drawn as dots.
func (f *field) rows(width, most int, secret bool) (rows []string, x, y int) {
	width = max(width, 2)
	row, taken, marks := strings.Builder{}, 0, 0
	fold := func() {
		rows = append(rows, row.String())
		row.Reset()
		taken = 0
	}
	for i := 0; i <= len(f.text); i++ {
		if i == f.at {
			x, y = taken, len(rows)
		}
		if i == len(f.text) {
			break
		}
		r := f.text[i]
		switch {
		case r == '\n':
			fold()
			continue
		case secret:
			r = '•'
		case r == '\t':
			r = ' '
		case r < ' ' || r > '~': // it may have stood there before, from whomever
			r = []rune(plain.Text(string(r)))[0]
		}
		w := runewidth.RuneWidth(r)
		if marks++; w > 0 {
			marks = 0
		} else if marks > maxMarks {
			continue
		}
		if taken+w > width-1 { // the last column is for the cursor
			fold()
			if i == f.at {
				x, y = 0, len(rows)
			}
		}
		row.WriteRune(r)
		taken += w
	}
	fold()
	from := max(0, min(y-most/2, len(rows)-most))
	return rows[from:min(len(rows), from+most)], x, y - from
}
