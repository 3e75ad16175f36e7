package repl

import (
	"strings"
	"testing"
)

// TestPasted writes what a terminal sends in one piece, and cut at each place but after an escape
// that may be a key.
func TestPasted(t *testing.T) {
	for _, test := range []struct{ name, sent, want string }{
		{"keys", "x = 1\ry\n", "x = 1\ry\n"},
		{"arrows", "\x1b[Aa\x1b[2~", "\x1b[Aa\x1b[2~"},
		{"a line", pasteBegin + "x = 1" + pasteEnd + "\r", "x = 1\r"},
		{"its end", pasteBegin + "x = 1\r" + pasteEnd + "\r", "x = 1\r"},
		{"lines", pasteBegin + "if x:\r\r  y\r\n\r\n  z\n\n" + pasteEnd + "\r", "if x:↵↵  y↵↵  z\r"},
		{"tabs", pasteBegin + "if x:\r\ty" + pasteEnd, "if x:↵⇥y"},
		{"no keys", pasteBegin + "a\x04\x1b[Ab\x7f\x1b[200~" + pasteEnd, "a[Ab[200~"},
		{"twice", pasteBegin + "a\r" + pasteEnd + pasteBegin + "\rb" + pasteEnd, "a↵b"},
		{"no end", pasteBegin + "a\r\x03b\r", "a\x03b\r"},
	} {
		t.Run(test.name, func(t *testing.T) {
			for cut := range len(test.sent) {
				if cut > 0 && test.sent[cut-1] == '\x1b' {
					continue
				}
				var got strings.Builder
				p := pasted{to: &got}
				done := false
				for _, part := range []string{test.sent[:cut], test.sent[cut:]} {
					d, err := p.write([]byte(part))
					if err != nil {
						t.Fatal(err)
					}
					done = done || d
				}
				if got.String() != test.want || done != strings.ContainsAny(test.want, "\r\n\x03") {
					t.Errorf("cut at %d: got %q, %t; want %q", cut, got.String(), done, test.want)
				}
			}
		})
	}
}
