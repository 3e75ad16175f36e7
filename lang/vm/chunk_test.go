package vm_test

import (
	"os"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"go.starlark.net/syntax"
)

// chunk is a part of a chunked file: a program, and the errors it must end with. Chunks are
// separated by lines "---"; a comment ### "regexp" on a line says that an error matching it is
// reported there. This is go.starlark.net's own format of tests.
type chunk struct {
	file string
	line int    // of its first line
	text string // padded with newlines, so that positions are those in the file
	want map[int]*regexp.Regexp
}

func readChunks(t testing.TB, file string) []chunk {
	t.Helper()
	data, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	var chunks []chunk
	line := 1
	for text := range strings.SplitSeq(string(data), "\n---\n") {
		c := chunk{file: file, line: line, text: strings.Repeat("\n", line-1) + text, want: make(map[int]*regexp.Regexp)}
		for l := range strings.SplitSeq(text, "\n") {
			if _, after, ok := strings.Cut(l, "###"); ok {
				c.want[line] = expectation(t, file, line, after)
			}
			line++
		}
		line++
		chunks = append(chunks, c)
	}
	return chunks
}

func expectation(t testing.TB, file string, line int, quoted string) *regexp.Regexp {
	t.Helper()
	pattern, err := strconv.Unquote(strings.TrimSpace(quoted))
	if err != nil {
		t.Fatalf("%s:%d: not a quoted regexp: %s", file, line, quoted)
	}
	return regexp.MustCompile(pattern)
}

// options are those that a chunk names in comments such as "# option:recursion".
func (c chunk) options() syntax.FileOptions {
	has := func(name string) bool { return strings.Contains(c.text, "option:"+name) }
	return syntax.FileOptions{
		Set:               has("set"),
		While:             has("while"),
		TopLevelControl:   has("toplevelcontrol"),
		GlobalReassign:    has("globalreassign"),
		LoadBindsGlobally: has("loadbindsglobally"),
		Recursion:         has("recursion"),
	}
}

// check compares the error that ended the chunk, if any, with what the chunk wants.
func (c chunk) check(t *testing.T, line int, msg string) {
	t.Helper()
	if line != 0 {
		want := c.want[line]
		switch {
		case want == nil:
			t.Errorf("%s:%d: unexpected error: %s", c.file, line, msg)
		case !want.MatchString(msg):
			t.Errorf("%s:%d: error %q does not match %q", c.file, line, msg, want)
		}
	}
	for l, want := range c.want {
		if l != line {
			t.Errorf("%s:%d: expected an error matching %q", c.file, l, want)
		}
	}
}
