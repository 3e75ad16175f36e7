package live

import (
	"io"
	"os"
	"regexp"
	"testing"
)

// TestScreenErasesByLines: a screen that is full is never erased at once from its first line on,
// for tmux keeps in its history what is: a frame for each line that a script prints.
func TestScreenErasesByLines(t *testing.T) {
	r, w, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	s := newScreen(w, func(string) (string, bool) { return "", false })
	for _, f := range []struct {
		above, lines  []string
		width, height int
	}{
		{nil, []string{"a", "b"}, 80, 3},
		{[]string{"said"}, []string{"a", "c"}, 80, 3},
		{nil, []string{"a", "c"}, 40, 3},
		{nil, []string{"a"}, 40, 3},
	} {
		s.draw(f.above, f.lines, f.width, f.height)
	}
	s.close()
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	text, err := io.ReadAll(r)
	if err != nil {
		t.Fatal(err)
	}
	if at := regexp.MustCompile("\x1b\\[\\d+A\x1b\\[J").FindIndex(text); at != nil {
		t.Errorf("it goes up and erases all below in %q", text)
	}
}
