package table

import (
	"bytes"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/mattn/go-runewidth"

	"starling/cmd/starling/plain"
)

func someRows(p Paper) *Table {
	t := New(p, "RUN", "STATUS", "STARTED", "NOTES")
	t.Row("k3jc0x7c0x1y", p.State("completed"), p.Time(now().Add(-90*time.Second)), "")
	t.Row("0123456789ab", p.State("suspended"), p.Time(now().Add(-26*time.Hour)), "日本語 a note \x1b[2Jthat is long\nand has two lines, which nobody wants in a list")
	return t
}

func now() time.Time { return time.Date(2026, 11, 24, 12, 0, 0, 0, time.UTC) }

func TestTable(t *testing.T) {
	var b bytes.Buffer
	if err := someRows(Paper{}).Write(plain.Output{To: &b}); err != nil {
		t.Fatal(err)
	}
	if want := "k3jc0x7c0x1y  completed  2026-11-24T11:58:30Z  \n"; !strings.Contains(b.String(), want) || strings.Contains(b.String(), "\x1b") {
		t.Errorf("a file has %q, want %q", b.String(), want)
	}
	p := Paper{Width: 60, Now: now(), Zone: time.UTC}
	want := `RUN           STATUS     STARTED       NOTES
k3jc0x7c0x1y  completed  1m ago
0123456789ab  suspended  Nov 23 10:00  日本語 a note �[2Jth…
`
	b.Reset()
	if err := someRows(p).Write(plain.Output{To: &b}); err != nil || b.String() != want {
		t.Errorf("%v: got\n%swant\n%s", err, b.String(), want)
	}
}

// TestTableQuiet: a file and a terminal have the same, with no heading and nothing cut.
func TestTableQuiet(t *testing.T) {
	for _, p := range []Paper{{Quiet: true}, {Quiet: true, Width: 5, Colours: true, Now: now(), Zone: time.UTC}} {
		for column, want := range []string{"k3jc0x7c0x1y\n0123456789ab\n", "completed\nsuspended\n"} {
			var b bytes.Buffer
			if err := someRows(p).NamedBy(column).Write(plain.Output{To: &b}); err != nil || b.String() != want {
				t.Errorf("%v: got %q, want %q", err, b.String(), want)
			}
		}
		empty, unnamed := New(p, "RUN").Lines(), New(p)
		if unnamed.Row("a", "b"); len(empty) > 0 || unnamed.Lines()[0] != "a" {
			t.Errorf("got %q and %q, want no row, and a", empty, unnamed.Lines())
		}
	}
}

// TestTableFits: no line is wider than the terminal, with colours or without.
func TestTableFits(t *testing.T) {
	colours := regexp.MustCompile("\x1b\\[[0-9]*m")
	for width := 1; width < 200; width += 7 {
		for _, line := range someRows(Paper{Width: width, Colours: true, Now: now(), Zone: time.UTC}).Lines() {
			if w := runewidth.StringWidth(colours.ReplaceAllString(line, "")); w > width {
				t.Errorf("%d columns, want %d at most: %q", w, width, line)
			}
		}
	}
}

// TestFit: a page of help is broken between words, under the text that goes on; examples and what a
// file has are whole.
func TestFit(t *testing.T) {
	page := `Run a script: the file SCRIPT, whose name ends with .star or has a slash, or what was
defined as NAME.

Exit codes:
  0 ok   1 run failed   2 usage

Examples:
  starling run review.star -i data_url=https://example.org/items.json

Flags:
      --key KEY   idempotency KEY: starting again with it gives the same run`
	want := `Run a script: the file SCRIPT, whose
name ends with .star or has a slash, or
what was defined as NAME.

Exit codes:
  0 ok   1 run failed   2 usage

Examples:
  starling run review.star -i data_url=https://example.org/items.json

Flags:
      --key KEY   idempotency KEY:
                  starting again with it
                  gives the same run`
	if got := (Paper{Width: 40}).Fit(page); got != want {
		t.Errorf("got\n%s\nwant\n%s", got, want)
	}
	if got := (Paper{}).Fit(page); got != page {
		t.Errorf("a file has\n%s", got)
	}
}
