package effect_test

import (
	"maps"
	"strings"
	"testing"

	"starling/lang/effect"
)

// What is a label and what is none, as apimachinery's validation of Kubernetes has it.
func TestLabelSyntax(t *testing.T) {
	long, domain := strings.Repeat("a", 63), strings.Repeat("a.", 126)+"a"
	for _, label := range []string{"team=web", "a=", "1=2", "A-b_c.d=E-f_g.h", "example.org/team=web", "a/b=c", long + "=" + long, domain + "/x=y"} {
		if ls, err := effect.ParseLabels([]string{label}); err != nil || ls.String() != label {
			t.Errorf("%s: got %v %v", label, ls, err)
		}
	}
	for label, want := range map[string]string{
		"team":                 "NAME=VALUE",
		"=x":                   "at least one letter or digit",
		"a/=x":                 "at least one letter or digit",
		"/a=x":                 "domain",
		"A.org/a=x":            "domain",
		"a_b/c=x":              "domain",
		"a/b/c=x":              `the label name "a/b/c"`,
		domain + "a/x=y":       "domain",
		"-a=x":                 "a letter or a digit first and last",
		"a.=x":                 "a letter or a digit first and last",
		"größe=x":              "letters, digits",
		"a=x y":                `the value "x y" of the label a`,
		"a=x=y":                `the value "x=y" of the label a`,
		"a=_":                  "a letter or a digit first and last",
		long + "a=x":           "at most 63",
		"a=" + long + "a":      "at most 63",
		"a=x,b=y":              "the value",
		"a=\x00":               "the value",
		strings.Repeat("a", 5): "NAME=VALUE",
	} {
		if ls, err := effect.ParseLabels([]string{label}); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: got %v %v, want an error with %s", label, ls, err, want)
		}
	}
	if _, err := effect.ParseLabels([]string{"a=1", "b=2", "a=3"}); err == nil || !strings.Contains(err.Error(), "twice") {
		t.Errorf("got %v for a label with two values", err)
	}
	many := effect.Labels{}
	for i := range effect.MaxLabels + 1 {
		many["a"+string(rune('A'+i))] = "x"
	}
	if err := many.Check(); err == nil {
		t.Error("more labels than there may be are taken")
	}
}

// Labels come back as they were, written as a text and as a dict, the empty value too.
func TestLabelsAreKept(t *testing.T) {
	for _, text := range []string{"", "a=", "a=1,b=,c.d/e=f"} {
		ls := effect.ReadLabels(text)
		v, err := ls.Payload().View()
		if err != nil || ls.String() != text || !maps.Equal(effect.LabelsOf(v), ls) {
			t.Errorf("%q: got %q and %v (%v)", text, ls, effect.LabelsOf(v), err)
		}
	}
}
