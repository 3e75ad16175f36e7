package cli

import "testing"

func TestLinesThatAreLeftOut(t *testing.T) {
	for _, test := range []struct {
		text string
		most int
		want string
	}{
		{"one\ntwo\n", 8, "one\ntwo\n"},
		{"one\ntwo\n", 7, "one\n… 1 more lines in F\n"},
		{"one\ntwo\nthree", 5, "one\n… 2 more lines in F\n"},
		{"a line without an end", 5, "… 1 more lines in F\n"},
		{"one\n", -1, "… 1 more lines in F\n"},
	} {
		if got := cutLines(test.text, test.most, "F"); got != test.want {
			t.Errorf("%q, %d: got %q, want %q", test.text, test.most, got, test.want)
		}
	}
}
