package agent_test

import (
	"fmt"
	"os"
	"os/exec"
	"regexp"
	"runtime"
	"strings"
	"testing"
	"time"
)

// outcome is what came of a case: ok, fails for a fault of the program's own, none where there is
// nothing to play; and what is to be said of it.
type outcome struct{ word, note string }

// due is what is known to come of a case.
func (p realProgram) due(name string) outcome {
	switch {
	case p.without[name] != "":
		return outcome{"none", p.without[name]}
	case p.faults[name] != "":
		return outcome{"fails", p.faults[name]}
	}
	return outcome{"ok", p.notes[name]}
}

const programsHead = `# Coding agents that were played

The test that plays coding agents themselves has written this page. Each case is a run of Starling
with the program in this version, against a server of models that do as they are told;
[real_test.go](real_test.go) says what each case is. What *fails* is a fault of the program's own,
which the note names; *none* is nothing that could be played.

`

// playedLine says when and where the page was made.
var playedLine = regexp.MustCompile(`(?m)^Played on .*$`)

func playedOn(t *testing.T) string {
	t.Helper()
	tell := func(program string) string {
		out, err := exec.Command(program, "--version").Output()
		if err != nil {
			t.Fatalf("%s: %v", program, err)
		}
		return strings.TrimSpace(string(out))
	}
	return fmt.Sprintf("Played on %s with Node %s and %s, on %s.",
		time.Now().UTC().Format("2 January 2006"), tell("node"), tell("bwrap"), runtime.GOOS)
}

// programsPage is programs.md.
func programsPage(played string, came func(p realProgram, name string) outcome) string {
	var table, notes strings.Builder
	row := func(first string, cell func(p realProgram) string) {
		table.WriteString("| " + first + " |")
		for _, p := range realPrograms {
			table.WriteString(" " + cell(p) + " |")
		}
		table.WriteString("\n")
	}
	row("case", func(p realProgram) string { return p.name })
	table.WriteString("|" + strings.Repeat("---|", len(realPrograms)+1) + "\n")
	row("*version*", func(p realProgram) string { return p.version })
	numbers := map[string]int{}
	for _, c := range realCases {
		row(c.name, func(p realProgram) string {
			o := came(p, c.name)
			if o.note == "" {
				return o.word
			}
			if numbers[o.note] == 0 {
				numbers[o.note] = len(numbers) + 1
				fmt.Fprintf(&notes, "%d. %s\n", numbers[o.note], o.note)
			}
			return fmt.Sprintf("%s (%d)", o.word, numbers[o.note])
		})
	}
	return programsHead + played + "\n\n" + table.String() + "\n" + notes.String()
}

// The page has the programs, versions and cases that are played, and no others, and says of each
// what is known of it.
func TestProgramsPage(t *testing.T) {
	text, err := os.ReadFile("programs.md")
	if err != nil {
		t.Fatal(err)
	}
	want := programsPage(playedLine.FindString(string(text)), realProgram.due)
	if string(text) != want {
		t.Errorf("programs.md is not of these programs, versions, cases and faults; play them anew:\n"+
			"go test ./stdlib/agent -run Real -real -update -timeout 60m\ngot:\n%s\nwant:\n%s", text, want)
	}
}
