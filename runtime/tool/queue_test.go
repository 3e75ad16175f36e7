package tool

import (
	"maps"
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"

	"starling/runtime"
)

// The categories that are accepted are those that the library files things under.
func TestCategoriesOfTheLibrary(t *testing.T) {
	text, err := os.ReadFile("../../stdlib/knowledge_files.star")
	if err != nil {
		t.Fatal(err)
	}
	table := regexp.MustCompile(`(?s)\nCATEGORIES = \{\n(.*?)\n\}`).FindStringSubmatch(string(text))
	if table == nil {
		t.Fatal("the library has no CATEGORIES")
	}
	var names []string
	there := map[string][]string{}
	row := regexp.MustCompile(`"(\w+)": \[(.*)\]`)
	for _, m := range row.FindAllStringSubmatch(table[1], -1) {
		names = append(names, m[1])
		there[m[1]] = strings.Split(strings.ReplaceAll(m[2], `"`, ""), ", ")
	}
	if !maps.EqualFunc(there, Categories(), slices.Equal) {
		t.Errorf("the library has %v, and accepted are %v", there, Categories())
	}
	if got := strings.Join(names, ", "); got != categoryNames {
		t.Errorf("the library has %s, and told are %s", got, categoryNames)
	}
}

func TestTopics(t *testing.T) {
	for _, good := range []string{"TLS", "Где", "C++", "../x"} { // a way out of the folder is the library's to refuse
		if err := checkTopic(good); err != nil {
			t.Errorf("%q is refused: %v", good, err)
		}
	}
	for _, bad := range []string{"", " ", "***", "A\n## B", "A\rB"} {
		if refused := runtime.AsRefusal(checkTopic(bad)); refused.Kind != runtime.ErrBadInput || !strings.Contains(refused.Message, "want one line with a word in it") {
			t.Errorf("%q: got %s %q", bad, refused.Kind, refused.Message)
		}
	}
}

func TestCategories(t *testing.T) {
	for _, good := range []string{"patterns", " Pattern ", "GOTCHAS", "library"} {
		if err := checkCategory(good); err != nil {
			t.Errorf("%q is refused: %v", good, err)
		}
	}
	for category, help := range map[string]string{
		"": "", "recipes": "", "patern": `did you mean "pattern"?`, "../patterns": `did you mean "patterns"?`,
	} {
		refused := runtime.AsRefusal(checkCategory(category))
		if refused.Kind != runtime.ErrBadInput || refused.Help != help ||
			!strings.Contains(refused.Message, categoryNames) {
			t.Errorf("%q: got %s %q, help %q", category, refused.Kind, refused.Message, refused.Help)
		}
	}
}
