package cli

import (
	"strings"
	"testing"
)

// commandsFor are the commands that docs/database.md shows for one of the three ways, below the
// sentence that begins so. What they start with & comes without it.
func commandsFor(t *testing.T, begin string) (commands []string) {
	t.Helper()
	_, page, _ := strings.Cut(document(t, "docs/database.md"), "\n"+begin)
	_, block, _ := strings.Cut(page, "```sh\n")
	block, _, _ = strings.Cut(block, "```")
	for line := range strings.Lines(block) {
		command, _, _ := strings.Cut(line, "#")
		commands = append(commands, strings.TrimRight(command, " &\n"))
	}
	if len(commands) < 2 {
		t.Fatalf("docs/database.md shows %q below %q, want two commands", commands, begin)
	}
	return commands
}

// asksForReview is a review as small as can be.
const asksForReview = `
def main():
    return gate("review", options = ["approve", "reject"]).choice
`

// typesReview types the commands that begin a review and approve it, as they are printed.
func (m *machine) typesReview(commands []string) {
	m.t.Helper()
	for i, want := range []int{3, 0} {
		args := strings.Fields(commands[i])
		if args[0] != "starling" {
			m.t.Fatalf("%q is no command of starling", commands[i])
		}
		said := m.wants(want, args[1:]...)
		if i == 1 && !strings.Contains(said, "approve") {
			m.t.Errorf("$ %s\n%s", commands[i], said)
		}
	}
	m.wants(0, "wait", "@last", "--timeout", "30s")
	if said := m.wants(0, "show", "@last", "--json"); !strings.Contains(said, `"output":"approve"`) {
		m.t.Errorf("it came to %s", said)
	}
}

// What the page shows for a store in a folder does what it says.
func TestCommandsForFolder(t *testing.T) {
	newMachine(t, map[string]string{"review.star": asksForReview}).typesReview(commandsFor(t, "In a folder,"))
}
