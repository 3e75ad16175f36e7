package main

import (
	"strings"
	"testing"
)

func TestPlain(t *testing.T) {
	for _, test := range []struct{ text, want string }{
		{"Grüße, 世界\n\tx\u00a0y\n", "Grüße, 世界\n\tx\u00a0y\n"},
		{"\x1b[31mred\x1b]0;title\a", "\ufffd[31mred\ufffd]0;title\ufffd"},
		{"paid\rowes", "paid\ufffdowes"},
		{"a\u202eb\u0085c\x7f", "a\ufffdb\ufffdc\ufffd"},
		{"\xff", "\ufffd"},
		{"👩\u200d💻 می\u200cخواهم", "👩\u200d💻 می\u200cخواهم"},
	} {
		var b strings.Builder
		if n, err := (plain{&b}).Write([]byte(test.text)); err != nil || n != len(test.text) || b.String() != test.want {
			t.Errorf("%q: got %q, %d, %v; want %q", test.text, b.String(), n, err, test.want)
		}
	}
}
