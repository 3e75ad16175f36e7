package lang_test

import (
	"errors"
	"fmt"
	"os"
	"strings"
	"testing"

	"starling/lang"
	"starling/lang/check"
	"starling/lang/diagnostic"
)

// Of the wrong example of each rule just that is said, of the right one nothing.
func TestRulesAreShown(t *testing.T) {
	for _, r := range check.Rules() {
		t.Run(r.Kind, func(t *testing.T) {
			if !strings.HasSuffix(r.Doc, ".") || r.Wrong == "" || r.Right == "" {
				t.Fatalf("it has no sentence or no examples: %+v", r)
			}
			wrong := kindsOf(r.Wrong)
			if len(wrong) == 0 {
				t.Errorf("nothing is said of\n%s", r.Wrong)
			}
			for _, d := range wrong {
				if d.Kind != r.Kind {
					t.Errorf("of the wrong example is said\n%s", d.Render())
				}
			}
			if right := kindsOf(r.Right); len(right) > 0 {
				t.Errorf("of the right example is said\n%s", right.Render())
			}
		})
	}
}

// kindsOf is what check says of an example.
func kindsOf(example string) diagnostic.List {
	c := parseCase(example)
	var more strings.Builder
	for i := range 33_000 {
		fmt.Fprintf(&more, "    v%d = 1\n", i)
	}
	c.files["main.star"] = strings.ReplaceAll(c.files["main.star"], "    …\n", more.String())
	b, err := lang.Read("main.star", c.files.read, library)
	if err == nil {
		_, err = lang.Compile(b, specEnvironment())
	}
	var list diagnostic.List
	if !errors.As(err, &list) {
		list = lang.Check(b, specEnvironment(), c.known)
	}
	return list
}

// rulesPage is the page that shows all rules.
const rulesPage = "../docs/checks.md"

// The page says what the table says; -rewrite writes it.
func TestRulesPage(t *testing.T) {
	var b strings.Builder
	b.WriteString("# What check says\n\nWhat `starling check` says names its kind, `[KIND]`. `starling check --explain KIND` prints one of\n" +
		"these. `# check: ignore KIND because REASON`, on the line or above it, says that it is meant.\n" +
		"`check --fix` writes what is certain, `check --diff` shows it.\n")
	for _, r := range check.Rules() {
		fmt.Fprintf(&b, "\n## %s\n\n%s", r.Kind, wrapped(r.Page()))
	}
	if *rewrite {
		if err := os.WriteFile(rulesPage, []byte(b.String()), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	page, err := os.ReadFile(rulesPage)
	if err != nil || string(page) != b.String() {
		t.Errorf("%s is not what the rules say (%v); go test ./lang -run TestRulesPage -rewrite writes it", rulesPage, err)
	}
}

// wrapped breaks the lines of prose; those of examples are indented.
func wrapped(page string) string {
	var b strings.Builder
	for line := range strings.Lines(page) {
		const width = 100
		for !strings.HasPrefix(line, "    ") && len(line) > width {
			i := strings.LastIndexByte(line[:width+1], ' ')
			b.WriteString(line[:i] + "\n")
			line = line[i+1:]
		}
		b.WriteString(line)
	}
	return b.String()
}
