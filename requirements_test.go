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

// The five systems that the libraries build have 189 numbered requirements, S0-01 to S4-42. A test that would fail without one names it.
var requirements = []int{31, 40, 31, 45, 42}

// uncited are those that no test names yet. The list only gets shorter.
var uncited = strings.Fields(`
S4-27
`)

// citing tells whether a file is a test, or is played by one.
func citing(path string) bool {
	return strings.HasSuffix(path, "_test.go") && path != "requirements_test.go" || strings.HasSuffix(path, "_test.star") || strings.HasPrefix(filepath.ToSlash(path), "testdata/")
}

func TestEveryRequirementIsCited(t *testing.T) {
	id := regexp.MustCompile(`\bS[0-4]-[0-9]{2}\b`)
	cited := map[string]bool{}
	err := filepath.WalkDir(".", func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() || !citing(path) {
			return err
		}
		text, err := os.ReadFile(path)
		for _, found := range id.FindAllString(string(text), -1) {
			cited[found] = true
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
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
