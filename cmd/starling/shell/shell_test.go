package shell

import (
	"os/exec"
	"testing"
)

func TestWord(t *testing.T) {
	for _, test := range []struct{ word, want string }{
		{"tq3f9zk1m5ab/review-gate", "tq3f9zk1m5ab/review-gate"},
		{"@last/gate", "@last/gate"},
		{"a/parallel/x/gate#2", "'a/parallel/x/gate#2'"},
		{"a/!uncertain:http.post", "'a/!uncertain:http.post'"},
		{"ask more", "'ask more'"},
		{"it's", `'it'\''s'`},
		{"", "''"},
		{"~me", "'~me'"},
		{"a~b", "a~b"},
		{"=x", "'=x'"},
		{"--flag=x", "--flag=x"},
		{`{"a":1}`, `'{"a":1}'`},
		{"$HOME `id` \\ \"", "'$HOME `id` \\ \"'"},
		{"zwei\nZeilen", "'zwei\nZeilen'"},
		{"é", "'é'"},
	} {
		if got := Word(test.word); got != test.want {
			t.Errorf("%q: got %s, want %s", test.word, got, test.want)
		}
		if out, err := exec.Command("sh", "-c", "printf %s "+Word(test.word)).Output(); err != nil || string(out) != test.word {
			t.Errorf("%q: a shell reads %q (%v)", test.word, out, err)
		}
	}
}
