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
		all = append(all, string(text))
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return all
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

// The table of stdlib/design.md says which tests hold twenty known mistakes off: sessions of
// testdata/cli, tests in Go, and tests in the language. All of them are there.
func TestKnownMistakesHaveTests(t *testing.T) {
	page, err := os.ReadFile(filepath.Join("stdlib", "design.md"))
	if err != nil {
		t.Fatal(err)
	}
	_, table, _ := strings.Cut(string(page), "## Which mistakes of others are tests here?")
	names := testNames(t)
	for n := 1; n <= 20; n++ {
		_, row, _ := strings.Cut(table, fmt.Sprintf("\n| %d | ", n))
		row, _, _ = strings.Cut(row, "\n")
		named := regexp.MustCompile("`([A-Za-z0-9_]+)`").FindAllStringSubmatch(row, -1)
		if len(named) == 0 {
			t.Errorf("mistake %d has no test", n)
		}
		for _, name := range named {
			if !names[name[1]] {
				t.Errorf("mistake %d: there is no test %s", n, name[1])
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
