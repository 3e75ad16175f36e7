package diagnostic_test

import (
	"strings"
	"testing"

	"starling/lang/diagnostic"
)

// In the sources below the range is what stands between « and ».
func mark(t *testing.T, marked string) (source string, start, end int) {
	t.Helper()
	before, rest, ok := strings.Cut(marked, "«")
	inside, after, ok2 := strings.Cut(rest, "»")
	if !ok || !ok2 {
		t.Fatalf("no range is marked in %q", marked)
	}
	return before + inside + after, len(before), len(before) + len(inside)
}

func TestRender(t *testing.T) {
	long := strings.Repeat("abcdefghi ", 20)
	tests := []struct{ name, marked, want string }{
		{"a range", "x = «foo» + 1", `
f:1:5: bad
  | x = foo + 1
  |     ^^^
`},
		{"one column when the range is empty", "x = «»foo", `
f:1:5: bad
  | x = foo
  |     ^
`},
		{"past the end of the line", "x = (1,«»\ny = 2", `
f:1:8: bad
  | x = (1,
  |        ^
`},
		{"a later line, and CRLF", "x = 1\r\n  «y»\r\n", `
f:2:3: bad
  |   y
  |   ^
`},
		{"a range over several lines ends with the first", "f(«a,\nb»)", `
f:1:3: bad
  | f(a,
  |   ^^
`},
		{"tabs go to the next stop", "\ta\t«b»", `
f:1:4: bad
  |     a   b
  |         ^
`},
		{"wide runes take two cells", "s = \"漢字\" + «名»", `
f:1:12: bad
  | s = "漢字" + 名
  |              ^^
`},
		{"a combining rune takes none", "s = \"e\u0301\" + «x»", `
f:1:12: bad
  | s = "e` + "\u0301" + `" + x
  |           ^
`},
		{"what does not print is replaced", "s = \"\x1b[31m\x00\u202e\xff\" + «x»", `
f:1:18: bad
  | s = "` + "\ufffd[31m\ufffd\ufffd\ufffd" + `" + x
  |                  ^
`},
		{"a long line, at its start", "«abc»defghi " + long, `
f:1:1: bad
  | abcdefghi abcdefghi abcdefghi abcdefghi abcdefghi abcdefghi abcdefghi abcdefghi abcdefghi abcdef…
  | ^^^
`},
		{"a long line, in the middle", long + "«XYZ» " + long, `
f:1:201: bad
  | …i abcdefghi abcdefghi abcdefghi XYZ abcdefghi abcdefghi abcdefghi abcdefghi abcdefghi abcdefghi …
  |                                  ^^^
`},
		{"a long line, at its end", long + "«»", `
f:1:201: bad
  | …i abcdefghi abcdefghi abcdefghi
  |                                  ^
`},
		{"a range longer than the window", "xx«" + long + "»", `
f:1:3: bad
  | xxabcdefghi abcdefghi abcdefghi abcdefghi abcdefghi abcdefghi abcdefghi abcdefghi abcdefghi abcd…
  |   ^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^
`},
		{"an empty line has no snippet", "x\n«»\ny", `
f:2:1: bad
`},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			source, start, end := mark(t, test.marked)
			d := diagnostic.Diagnostic{Message: "bad"}.At("f", source, start, end)
			if got := "\n" + d.Render(); got != test.want {
				t.Errorf("got:%swant:%s", got, test.want)
			}
			if back := diagnostic.Offset(source, d.Line, d.Col); back != start {
				t.Errorf("Offset(%d, %d) = %d, want %d", d.Line, d.Col, back, start)
			}
		})
	}
}

func TestRenderGotWantHint(t *testing.T) {
	d := diagnostic.Diagnostic{
		Message: "unexpected word", Got: `"int"`, Want: `":"`, Hint: "a field is written name: type",
	}.At("", "{a int}", 3, 6)
	want := `1:4: unexpected word: got "int", want ":"
  | {a int}
  |    ^^^
  = help: a field is written name: type
`
	if got := d.Render(); got != want {
		t.Errorf("got:\n%swant:\n%s", got, want)
	}
}

func TestAtClamps(t *testing.T) {
	for _, r := range [][2]int{{-5, -1}, {-1, 99}, {99, 5}, {3, 1}} {
		d := diagnostic.Diagnostic{Message: "bad"}.At("f", "abc", r[0], r[1])
		if d.Line != 1 || d.Col < 1 || d.Col > 4 || d.EndCol < d.Col || d.EndCol > 4 {
			t.Errorf("At(%d, %d) = %d:%d-%d, outside of the line", r[0], r[1], d.Line, d.Col, d.EndCol)
		}
	}
}

func TestAtLeavesOutEndlessLines(t *testing.T) {
	d := diagnostic.Diagnostic{Message: "bad"}.At("f", strings.Repeat("x", 10_000), 9_000, 9_001)
	if got := d.Render(); got != "f:1:9001: bad\n" {
		t.Errorf("got %q", got)
	}
}

func TestOffsetOutside(t *testing.T) {
	source := "ab\ncd"
	tests := []struct{ line, col, want int }{{1, 1, 0}, {2, 2, 4}, {1, 99, 2}, {2, 99, 5}, {9, 1, 5}, {0, 0, 0}}
	for _, test := range tests {
		if got := diagnostic.Offset(source, test.line, test.col); got != test.want {
			t.Errorf("Offset(%d, %d) = %d, want %d", test.line, test.col, got, test.want)
		}
	}
}

// Whatever is in a line, rendering keeps to its shape: no control characters, two lines under the
// message, carets within the window.
func FuzzRender(f *testing.F) {
	f.Add("x = foo", 4, 7)
	f.Add("\t\x1b漢\u0301\xff\r\n", 0, 3)
	f.Fuzz(func(t *testing.T, source string, start, end int) {
		d := diagnostic.Diagnostic{Message: "bad"}.At("f", source, start, end)
		lines := strings.Split(strings.TrimSuffix(d.Render(), "\n"), "\n")
		if len(lines) != 1 && len(lines) != 3 {
			t.Fatalf("%d lines: %q", len(lines), lines)
		}
		if len(lines) == 3 && (!strings.HasSuffix(lines[2], "^") || len(lines[2]) > 104) {
			t.Fatalf("carets: %q", lines[2])
		}
		for _, r := range strings.Join(lines, "") {
			if r < ' ' || r == 0x7f {
				t.Fatalf("control character %q", r)
			}
		}
	})
}
