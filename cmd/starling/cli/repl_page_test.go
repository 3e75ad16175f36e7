package cli

import (
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// TestReplPage types what docs/repl.md shows after its prompts, in one session; what comes back is
// what the page shows, but for ids.
func TestReplPage(t *testing.T) {
	dir := sitDown(t)
	page := document(t, "docs/repl.md")
	agents := namedBlock.FindStringSubmatch(page)
	if err := os.WriteFile(filepath.Join(dir, agents[2]), []byte(agents[1]), 0o600); err != nil {
		t.Fatal(err)
	}
	var typed, want []string
	for _, block := range regexp.MustCompile("(?s)```\n(>>> .*?)```").FindAllStringSubmatch(page, -1) {
		for line := range strings.Lines(block[1]) {
			line = strings.TrimSuffix(line, "\n")
			switch prompt := line[:min(len(line), 4)]; {
			case prompt == ">>> " || prompt == "... ":
				typed = append(typed, line[4:])
			case line == "...":
				typed = append(typed, "")
			default:
				want = append(want, line)
			}
		}
	}
	if len(typed) < 15 {
		t.Fatalf("docs/repl.md shows %d lines that are typed", len(typed))
	}
	cmd := exec.Command("starling", "repl", "--fake", agents[2])
	cmd.Dir, cmd.Stdin = dir, strings.NewReader(strings.Join(typed, "\n")+"\n")
	out, err := cmd.CombinedOutput()
	if err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	ids := regexp.MustCompile(`\b[0-9a-z]{12}\b`)
	lines := strings.Split(strings.TrimSuffix(ids.ReplaceAllString(string(out), "ID"), "\n"), "\n")
	got := strings.Join(lines[1:len(lines)-1], "\n") // without its greeting and what to type to go on
	if shown := ids.ReplaceAllString(strings.Join(want, "\n"), "ID"); got != shown {
		t.Errorf("got:\n%s\n\ndocs/repl.md shows:\n%s", got, shown)
	}
}
