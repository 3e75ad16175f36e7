package measure

import (
	"crypto/sha256"
	"encoding/hex"
	"path"
	"regexp"
	"slices"
	"strings"
)

// Case is what one test of a source file holds.
type Case struct {
	Name       string
	Assertions int    // places that can fail it, but for those that compare constants
	Digest     string // of its text without comments and empty lines, 16 hexadecimal digits
}

// dialect is how tests look in a language. What a test holds goes from where it begins to where the
// next begins, or to where the indentation ends; braces are not counted.
type dialect struct {
	endings []string
	begin   func() *regexp.Regexp // its groups are names; the first that has matched counts
	comment string
	indent  bool // a block ends where a line is indented no more than its beginning
}

func dialects() []dialect {
	quoted := "['\"`]([^'\"`]+)['\"`]"
	return []dialect{
		{[]string{".go"}, pattern(`^func ((?:Test|Fuzz|Example)\w*)\(`), "//", true},
		{[]string{".py"}, pattern(`^\s*(?:async )?def (test\w*|runTest)\(`), "#", true},
		{[]string{".js", ".jsx", ".ts", ".tsx", ".mjs", ".cjs", ".mts", ".cts", ".vue", ".svelte"},
			pattern(`\b(?:it|test|specify)(?:\.\w+)*\s*\(\s*` + quoted), "//", false},
		{[]string{".rs"}, pattern(`^\s*(?:pub )?(?:async )?fn (\w+)\(`), "//", true},
		{[]string{".java", ".kt", ".cs", ".scala", ".groovy", ".swift"},
			pattern(`^\s*(?:@\w+(?:\([^)]*\))?\s+)*(?:(?:public|private|protected|internal|static|async|override|final) )*(?:(?:void|Task|fun|func|def) )\s*` + "`?([\\w ]+)`?" + `\s*\(`), "//", true},
		{[]string{".rb"}, pattern(`^\s*(?:(?:it|test|specify)\s*\(?\s*` + quoted + `|def (test\w*))`), "#", true},
		{[]string{".php"}, pattern(`^\s*(?:public )?function (test\w*)\(`), "//", true},
		{[]string{".star", ".bzl"}, pattern(`^def (test\w*)\(`), "#", true},
	}
}

// Cases lists the tests of a source file in their order, by the ending of its name. A file of
// another language is one case without a name.
func Cases(name, text string) []Case {
	lines := strings.Split(text, "\n")
	for _, d := range dialects() {
		if slices.Contains(d.endings, strings.ToLower(path.Ext(name))) {
			return d.cases(lines)
		}
	}
	return []Case{caseOf("", lines, "#")}
}

func (d dialect) cases(lines []string) []Case {
	var list []Case
	name, from, margin := "", -1, 0
	end := func(i int) {
		if from >= 0 {
			list = append(list, caseOf(name, lines[from:i], d.comment))
		}
		from = -1
	}
	for i, line := range lines {
		rest := strings.TrimLeft(line, " \t")
		own := len(line) - len(rest)
		if m := d.begin().FindStringSubmatch(line); m != nil {
			end(i)
			name, from, margin = first(m[1:]...), i, own
			continue
		}
		closes := strings.HasPrefix(rest, "}") || strings.HasPrefix(rest, ")") || strings.HasPrefix(rest, "end")
		if d.indent && rest != "" && own <= margin && !closes && from >= 0 && !strings.HasPrefix(rest, "{") {
			end(i)
		}
	}
	end(len(lines))
	return list
}

func caseOf(name string, lines []string, comment string) Case {
	c := Case{Name: name}
	sum := sha256.New()
	for _, line := range lines {
		line = strings.TrimSpace(line)
		if line == "" || strings.HasPrefix(line, comment) {
			continue
		}
		sum.Write([]byte(line + "\n"))
		line, _, _ = strings.Cut(line, " "+comment)
		c.Assertions += assertionsOf(line)
	}
	c.Digest = hex.EncodeToString(sum.Sum(nil))[:16]
	return c
}

// Words that fail a test when something does not hold, and those that fail it where they are come to.
var (
	compares = pattern(`\b(?:(?:self\.)?assert\w*!?(?:\.\w+)*|expect\w*|require\.\w+|verify\w*|t\.(?:is|equal|deepEqual|same|ok|true|false|like|match)|ok|is_deeply|cmp_ok)\s*(\(|\s|$)`)
	fails    = pattern(`\b(?:t\.(?:Error|Errorf|Fatal|Fatalf|Fail|FailNow|throws)|self\.fail|pytest\.(?:raises|fail|warns)|raise|throw|panic!?|unreachable!|fail|exit [1-9]|cmp\.Diff)\b|\.should\b|\bshould\w*\b|#\[should_panic`)
	literal  = pattern(`^(?:[-+]?[0-9][\w.]*|"[^"]*"|'[^']*'|true|false|True|False|None|null|nil|undefined|not False|not True|!false|!true)?$`)
)

// assertionsOf counts in a line what can fail its test.
func assertionsOf(line string) int {
	n := len(fails().FindAllStringIndex(line, -1))
	for _, at := range compares().FindAllStringSubmatchIndex(line, -1) {
		if !constant(line[at[0]:], line[at[2]:at[1]]) {
			n++
		}
	}
	return n
}

// constant tells whether an assertion is about literals only, such as assertTrue(True). Arguments on
// further lines are taken for something.
func constant(call, opens string) bool {
	_, arguments, parens := strings.Cut(call, "(")
	if !strings.HasPrefix(opens, "(") {
		_, arguments, _ = strings.Cut(call, " ") // a statement: assert True
		parens = false
	}
	if parens {
		whole := false
		if arguments, whole = untilClosed(arguments); !whole {
			return false
		}
	}
	for _, a := range strings.FieldsFunc(arguments, func(r rune) bool { return r == ',' }) {
		if !literal().MatchString(strings.TrimSpace(a)) && !same(a) {
			return false
		}
	}
	return true
}

// same tells of a comparison of two literals, or of a thing with itself.
func same(text string) bool {
	for _, op := range []string{"===", "==", " is "} {
		if a, b, ok := strings.Cut(text, op); ok {
			a, b = strings.TrimSpace(a), strings.TrimSpace(b)
			return a == b || literal().MatchString(a) && literal().MatchString(b)
		}
	}
	return false
}

// untilClosed is what stands before the parenthesis that closes the one before it.
func untilClosed(text string) (string, bool) {
	depth := 1
	for i := range len(text) {
		switch text[i] {
		case '(':
			depth++
		case ')':
			if depth--; depth == 0 {
				return text[:i], true
			}
		}
	}
	return text, false
}
