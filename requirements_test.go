package starling_test

import (
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// The five systems that the libraries build have 189 numbered requirements, S0-01 to S4-42. A test
// that would fail without one names it.
var requirements = []int{31, 40, 31, 45, 42}

// uncited are those that no test names yet. The list only gets shorter.
var uncited = strings.Fields(`
`)

// citing tells whether a file is a test, or is played by one.
func citing(path string) bool {
	_, ok := played(filepath.ToSlash(path))
	return ok || strings.HasSuffix(path, "_test.go") && filepath.Dir(path) != "."
}

// citations are what all tests say that run: files that a test plays, and in Go what is in a test
// or is used by one.
func citations(t *testing.T) []string {
	t.Helper()
	var all []string
	for _, pkg := range testsInGo(t) {
		all = append(all, pkg.code(pkg.run...))
	}
	err := filepath.WalkDir(".", func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		if _, ok := played(filepath.ToSlash(path)); !ok {
			return nil
		}
		text, err := os.ReadFile(path)
		all = append(all, saidWhereItRuns(path, string(text)))
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return all
}

var (
	ofSession = regexp.MustCompile(`(?m)^(-- .+ --|skip\b.*|stop\b.*)$`) // where the commands of a session end
	ofTest    = regexp.MustCompile(`(?m)^((#.*\n)*def \w+\(|[^#\s].*$)`) // where a function begins, with the comment above it, or something else does
	isTest    = regexp.MustCompile(`\A(#.*\n)*def test_\w*\(`)           // a function that is called for its name
)

// saidWhereItRuns is what a file that is played says of what runs: of a session its commands, up to
// one that ends it whatever is there; of tests in the language their functions, with the comments
// above.
func saidWhereItRuns(path, text string) string {
	switch {
	case strings.HasSuffix(path, ".txtar"):
		if end := ofSession.FindStringIndex(text); end != nil {
			return text[:end[0]]
		}
	case strings.HasSuffix(path, "_test.star"):
		var said strings.Builder
		begins := ofTest.FindAllStringIndex(text, -1)
		for i, at := range begins {
			end := len(text)
			if i+1 < len(begins) {
				end = begins[i+1][0]
			}
			if part := text[at[0]:end]; isTest.MatchString(part) {
				said.WriteString(part)
			}
		}
		return said.String()
	}
	return text
}

// What does not run says nothing.
func TestCitationsAreOfWhatRuns(t *testing.T) {
	for _, c := range []struct{ path, text, want string }{
		{"a.txtar", "# S0-01\nexec x\n-- f --\n# S0-02\n", "S0-01"},
		{"a.txtar", "# S0-01\nskip 'not now'\n# S0-02\nexec x\n", "S0-01"},
		{"a.txtar", "# S0-01\n[!exec:x] skip\nexec x # S0-02\n", "S0-01 S0-02"},
		{"a_test.star", "# S0-01\n\n# S0-02\n# more\ndef test_a():\n    # S0-03\n    pass\n\ndef other():    # S0-04\n    pass\n", "S0-02 S0-03"},
		{"a_test.star", "X = 1    # S0-01\n\ndef test_b():  # S0-02\n    pass\n# S0-03\n\nY = 2    # S0-04\n", "S0-02 S0-03"},
		{"a.star", "# S0-01\n", "S0-01"},
	} {
		found := regexp.MustCompile(`S0-[0-9]+`).FindAllString(saidWhereItRuns(c.path, c.text), -1)
		if got := strings.Join(found, " "); got != c.want {
			t.Errorf("%q: cites %s, want %s", c.text, got, c.want)
		}
	}
}

// A requirement counts where a test that runs names it.
func TestEveryRequirementIsCited(t *testing.T) {
	id := regexp.MustCompile(`\bS[0-4]-[0-9]{2}\b`)
	cited := map[string]bool{}
	for _, text := range citations(t) {
		for _, found := range id.FindAllString(text, -1) {
			cited[found] = true
		}
	}
	for system, n := range requirements {
		for i := 1; i <= n; i++ {
			name := fmt.Sprintf("S%d-%02d", system, i)
			switch listed := slices.Contains(uncited, name); {
			case !cited[name] && !listed:
				t.Errorf("no test names %s", name)
			case cited[name] && listed:
				t.Errorf("a test names %s: take it off the list", name)
			}
			delete(cited, name)
		}
	}
	for name := range cited {
		t.Errorf("there is no requirement %s", name)
	}
}

// The tables of stdlib/design.md say which tests hold twenty known mistakes off, and which hold
// what was once only claimed: sessions of testdata/cli, tests in Go, and tests in the language. All
// of them are there.
func TestKnownMistakesHaveTests(t *testing.T) {
	page, err := os.ReadFile(filepath.Join("stdlib", "design.md"))
	if err != nil {
		t.Fatal(err)
	}
	names := testNames(t)
	for heading, rows := range map[string]int{"## Which mistakes of others are tests here?": 20, "## Which of our claims were shallow, and what holds them now?": 38} {
		_, table, _ := strings.Cut(string(page), heading)
		table, _, _ = strings.Cut(table, "\n## ")
		for n := 1; n <= rows; n++ {
			_, row, _ := strings.Cut(table, fmt.Sprintf("\n| %d | ", n))
			row, _, _ = strings.Cut(row, "\n")
			_, tests, _ := strings.Cut(row, " | ")
			named := regexp.MustCompile("`([A-Za-z0-9_]+)`").FindAllStringSubmatch(tests, -1)
			if len(named) == 0 {
				t.Errorf("%s %d has no test", heading, n)
			}
			for _, name := range named {
				if !names[name[1]] {
					t.Errorf("%s %d: there is no test %s", heading, n, name[1])
				}
			}
		}
	}
}

// testNames are the names of all tests: functions in Go and in the language, and sessions.
func testNames(t *testing.T) map[string]bool {
	t.Helper()
	function := regexp.MustCompile(`(?m)^(?:func|def) ([Tt]est\w+)\(`)
	names := map[string]bool{}
	err := filepath.WalkDir(".", func(path string, d fs.DirEntry, err error) error {
		session, found := strings.CutSuffix(d.Name(), ".txtar")
		switch {
		case err != nil || d.IsDir():
			return err
		case found:
			names[session] = true
		case citing(path):
			text, err := os.ReadFile(path)
			for _, f := range function.FindAllStringSubmatch(string(text), -1) {
				names[f[1]] = true
			}
			return err
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return names
}
