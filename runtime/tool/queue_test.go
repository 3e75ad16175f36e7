package tool

import (
	"context"
	"maps"
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"

	"starling/lang"
	"starling/lang/check"
	"starling/lang/vm"
	"starling/runtime"
	"starling/stdlib"
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

// unattended is an engine in which nothing is defined; it keeps what it is to start.
type unattended struct {
	runtime.Engine
	runtime.Definitions
	started runtime.StartRequest
}

func (e *unattended) Defined(context.Context, string) ([]runtime.Definition, error) {
	return nil, runtime.Refuse(runtime.ErrUnknownDefinition, "", "nothing is defined")
}

func (e *unattended) Start(_ context.Context, r runtime.StartRequest) (*runtime.Run, error) {
	e.started = r
	return &runtime.Run{}, nil
}

// A12: what comes with Starling is sound, and is not checked each time somebody remembers
// something: that takes ten times as long as to start it. A desk without an environment cannot.
func TestOursIsSound(t *testing.T) {
	env := stdlib.Environment(stdlib.Options{Natives: vm.Natives()})
	for _, name := range []string{RememberWorker, KnowledgeChanges, KnowledgeQuestions} {
		e := &unattended{}
		d := &Desk{Engine: e, Library: stdlib.Library, Prepare: func(*runtime.StartRequest) error { return nil }}
		if _, err := d.StartKnown(t.Context(), name, "k"); err != nil || e.started.Script != name || e.started.Key != "k" {
			t.Fatalf("%s: %v, started as %q under %q", name, err, e.started.Script, e.started.Key)
		}
		b, err := lang.Decode(e.started.Bundle)
		if err != nil {
			t.Fatal(err)
		}
		if err := lang.Check(b, env, check.Project{}).Err(); err != nil {
			t.Errorf("%s: %v", name, err)
		}
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
