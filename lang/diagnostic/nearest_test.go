package diagnostic_test

import (
	"strings"
	"testing"

	"starling/lang/diagnostic"
)

func TestNearest(t *testing.T) {
	list := []string{"append", "clear", "extend", "index", "insert", "pop", "remove"}
	tests := []struct {
		word       string
		candidates []string
		want       string
	}{
		{"agnet", []string{"gate", "agent", "handoff"}, "agent"},
		{"high", []string{"CRITICAL", "HIGH", "LOW"}, "HIGH"}, // case is folded
		{"isalpha", []string{"is_alpha"}, "is_alpha"},         // and '_' dropped
		{"appnd", list, "append"},
		{"popp", list, "pop"},
		{"insrtt", list, "insert"},
		{"abcd", []string{"abxy"}, ""},             // 2 is not below (4+1)/2 = 2
		{"abc", []string{"abx"}, "abx"},            // 1 is below (3+1)/2 = 2
		{"a", []string{"b", "A"}, "A"},             // only an equal folded letter is near to one letter
		{"ab", []string{"ax"}, ""},                 // 1 is not below (2+1)/2 = 1
		{"cart", []string{"card", "care"}, "card"}, // the first of equals
		{"kitten", []string{"sitting", "mitten"}, "mitten"},
		{"über", []string{"uber"}, "uber"}, // distance in bytes: 2 of 5
		{"", []string{"a", ""}, ""},
		{"_", []string{"_"}, ""},
		{"x", nil, ""},
	}
	for _, test := range tests {
		got, ok := diagnostic.Nearest(test.word, test.candidates)
		if got != test.want || ok != (test.want != "") {
			t.Errorf("Nearest(%q, %q) = %q, %v, want %q", test.word, test.candidates, got, ok, test.want)
		}
	}
}

func TestDidYouMean(t *testing.T) {
	if got := diagnostic.DidYouMean("flot", []string{"float"}); got != `did you mean "float"?` {
		t.Errorf("got %q", got)
	}
	if got := diagnostic.DidYouMean("zebra", []string{"float"}); got != "" {
		t.Errorf("got %q, want no hint", got)
	}
}

func TestMeant(t *testing.T) {
	for word, want := range map[string]string{"gaet": "gate", "shwo": "show", "--hlep": "--help", "lgos": "logs"} {
		got := diagnostic.Meant(word, []string{"get", "stop", "logs", "show", "gate", "--help"})
		if got != `did you mean "`+want+`"?` {
			t.Errorf("%s: %s, want %s", word, got, want)
		}
	}
}

func TestNearestOfLongWords(t *testing.T) {
	long := strings.Repeat("a", 999)
	if _, ok := diagnostic.Nearest(long, []string{"a", "b"}); ok {
		t.Error("a word of one letter is near to one of 999")
	}
	if _, ok := diagnostic.Nearest(long+"aa", []string{long + "a"}); ok {
		t.Error("a word of 1,001 bytes has a nearest one")
	}
	if got, ok := diagnostic.Nearest(long, []string{long + "b"}); !ok || got != long+"b" {
		t.Error("one letter more is not near")
	}
}
