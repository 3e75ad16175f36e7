package cli

import (
	"os"
	"os/exec"
	"os/user"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// TestTutorial does what docs/tutorial.md says, in its order and in an empty folder: files are
// written as they stand there, commands are typed, and what comes back is what the page shows, but
// for ids, times, the user's name, and the order of what goes on side by side.
func TestTutorial(t *testing.T) {
	me, err := user.Current()
	if err != nil {
		t.Fatal(err)
	}
	page := strings.ReplaceAll(document(t, "docs/tutorial.md"), "local:you", "local:"+me.Username)
	dir := sitDown(t)
	if err := os.Remove(filepath.Join(dir, "agents.star")); err != nil {
		t.Fatal(err)
	}
	typed := 0
	for _, block := range pageBlock.FindAllStringSubmatch(page, -1) {
		if block[1] != "console" {
			name := blockName.FindStringSubmatch(block[2])
			if name == nil {
				t.Fatalf("docs/tutorial.md: this block does not begin with the name of its file:\n%s", block[2])
			}
			if err := os.WriteFile(filepath.Join(dir, name[1]), []byte(block[2]), 0o600); err != nil {
				t.Fatal(err)
			}
			continue
		}
		for _, s := range consoleSteps("```console\n" + block[2]) {
			typed++
			cmd := exec.Command("sh", "-c", s.command)
			cmd.Dir = dir
			got, _ := cmd.CombinedOutput() // a run that suspends exits with 3
			if got, want := told(string(got)), told(s.output); !slices.Equal(got, want) {
				t.Fatalf("$ %s\ngot:\n%s\ndocs/tutorial.md shows:\n%s", s.command, strings.Join(got, ""), strings.Join(want, ""))
			}
		}
	}
	if typed < 20 {
		t.Errorf("docs/tutorial.md shows %d commands, want a session", typed)
	}
}

var (
	pageBlock = regexp.MustCompile("(?s)```([a-z]+)\n(.*?)```")
	blockName = regexp.MustCompile(`^# ([a-z_]+\.[a-z]+)\n`)
)

// told is what a command has said, by lines, without what differs from one time to the next.
func told(text string) []string {
	for _, each := range []struct {
		changing *regexp.Regexp
		stands   string
	}{
		{took, ""},
		{regexp.MustCompile(`\b[0-9a-z]{12}\b`), "RUN"},
		{regexp.MustCompile(`\b20[0-9-]+T[0-9:.]+Z\b`), "TIME"},
		{regexp.MustCompile(`\b[0-9.]+m?s\b`), "LONG"},
		{regexp.MustCompile(`  +`), "  "},
	} {
		text = each.changing.ReplaceAllString(text, each.stands)
	}
	return sortedLines(text)
}
