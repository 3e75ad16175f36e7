package lang_test

import (
	"strings"
	"testing"

	"starling/lang"
)

// TestNoTextExhaustsTheStack: a script as large as scripts may be, of whatever is nested in itself,
// is read or refused; the process lives.
func TestNoTextExhaustsTheStack(t *testing.T) {
	env := environment()
	for name, c := range map[string]struct{ head, open, middle, closing string }{
		"parentheses":    {"x = ", "(", "1", ")"},
		"open ones":      {"x = ", "(", "", ""},
		"lists":          {"x = ", "[", "", "]"},
		"dicts":          {"x = ", "{1:", "1", "}"},
		"signs":          {"x = ", "-", "1", ""},
		"nots":           {"x = ", "not ", "1", ""},
		"lambdas":        {"x = ", "lambda:", "1", ""},
		"conditions":     {"x = ", "1 if 1 else ", "1", ""},
		"comprehensions": {"x = ", "[1 for x in ", "[]", "]"},
		"calls":          {"x = ", "len(", "1", ")"},
		"chained calls":  {"x = len", "", "", "()"},
		"indices":        {"x = 1", "", "", "[0]"},
		"indices inside": {"x = ", "a[", "0", "]"},
		"attributes":     {"x = 1", "", "", ".a"},
		"sums":           {"x = 1", "", "", "+1"},
		"powers of not":  {"x = 1", "", "", " and 1"},
		"assignments":    {"", "a = ", "1", ""},
		"targets":        {"", "(", "a", ",)"},
		"ifs":            {"", "if 1: ", "pass", ""},
		"elifs":          {"if 1: pass\n", "elif 1: pass\n", "", ""},
	} {
		t.Run(name, func(t *testing.T) {
			n := (lang.MaxSource - 100) / (len(c.open) + len(c.closing))
			f := files{"main.star": c.head + strings.Repeat(c.open, n) + c.middle + strings.Repeat(c.closing, n) + "\n"}
			bundle, err := lang.Read("main.star", f.read, nil)
			if err == nil {
				_, err = lang.Compile(bundle, env)
			}
			if err == nil {
				t.Error("it is taken")
			}
		})
	}
}

// TestDeepBlocks: the same of blocks, whose text grows with the square of their depth.
func TestDeepBlocks(t *testing.T) {
	for _, line := range []string{"if 1:", "for x in []:", "def f():"} {
		var text strings.Builder
		for depth := 0; text.Len() < lang.MaxSource-4000; depth++ {
			text.WriteString(strings.Repeat(" ", depth) + line + "\n")
		}
		f := files{"main.star": text.String()}
		bundle, err := lang.Read("main.star", f.read, nil)
		if err == nil {
			_, err = lang.Compile(bundle, environment())
		}
		if err == nil {
			t.Errorf("%s: it is taken", line)
		}
	}
}
