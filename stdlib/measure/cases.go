package measure

import (
	"crypto/sha256"
	"encoding/hex"
	"regexp"
	"slices"
	"strings"
)

// Case is what one test of a source file holds.
type Case struct {
	Name       string
	Assertions int    // places that can fail it, but for those that compare constants
	Digest     string // of its text without comments, space and messages, 16 hexadecimal digits

	// Literals are the numbers, and the texts without their quotes and with their escapes as they
	// are written, each once: the first 100, without what is longer than 200 bytes.
	Literals []string
}

// dialect is how tests look in a language. What a test holds goes from where it begins, with what
// marks it, to where the next begins, or to where the indentation ends; braces are not counted.
type dialect struct {
	endings []string
	begin   func() *regexp.Regexp // its groups are names; the first that has matched counts
	mark    func() *regexp.Regexp // a line before the beginning that belongs to it, nil for none
	test    func() *regexp.Regexp // what one of the marks must be, nil for nothing
	tokens  func() *regexp.Regexp // comments and literals
	indent  bool                  // a block ends where a line is indented no more than its beginning

	function func() *regexp.Regexp // the head of any function; its groups are names
}

// Comments and literals. What may have several lines and is not closed goes to the end of the text:
// so each byte is looked at once.
const (
	slashes    = `//[^\n]*|(?s:/\*.*?(?:\*/|\z))`
	hash       = `#[^\n]*`
	quotes     = `"(?:[^"\\\n]|\\(?s:.))*"|'(?:[^'\\\n]|\\(?s:.))*'`
	triple     = `(?s:""".*?(?:"""|\z)|'''.*?(?:'''|\z))`
	raw        = "`[^`]*(?:`|\\z)"
	template   = "`(?:[^`\\\\]|\\\\(?s:.))*(?:`|\\z)"
	jsRegexp   = `(?m:(?:[(,=:!&|?{;\[]|\breturn)[ \t]*/(?:[^/*\\\[\n]|\\.|\[(?:[^\]\\\n]|\\.)*(?:\]|$))(?:[^/\\\[\n]|\\.|\[(?:[^\]\\\n]|\\.)*(?:\]|$))*(?:/|$))`
	rustQuotes = `(?s:\br##".*?(?:"##|\z)|\br#".*?(?:"#|\z)|\br"[^"]*(?:"|\z)|"(?:[^"\\]|\\.)*(?:"|\z))|'(?:[^'\\\n]|\\[^\n]{1,10}?)'`
)

func dialects() []dialect {
	quoted := "['\"`]([^'\"`]+)['\"`]"
	at := pattern(`^\s*@\w`)
	return []dialect{
		{[]string{".go"}, pattern(`^func ((?:Test|Fuzz|Example)\w*)\(`), nil, nil, pattern(slashes + "|" + quotes + "|" + raw), true, functionsOfGo},
		{[]string{".py"}, pattern(`^\s*(?:async )?def (test\w*|runTest)\(`), at, nil, pattern(hash + "|" + triple + "|" + quotes), true, functionsOfPython},
		{[]string{".js", ".jsx", ".ts", ".tsx", ".mjs", ".cjs", ".mts", ".cts", ".vue", ".svelte"},
			pattern(`\b(?:it|test|specify)(?:\.\w+)*\s*\(\s*` + quoted), nil, nil, pattern(slashes + "|" + quotes + "|" + template + "|" + jsRegexp), false, functionsOfJS},
		{[]string{".rs"}, pattern(`^\s*(?:pub )?(?:async )?fn (\w+)\(`), pattern(`^\s*#\[`),
			pattern(`#\[(?:\w+::)*\w*(?:test|quickcheck)\w*[\](]`), pattern(slashes + "|" + rustQuotes), true, functionsOfRust},
		{[]string{".java", ".kt", ".cs", ".scala", ".groovy", ".swift"},
			pattern(`^\s*(?:@\w+(?:\([^)]*\))?\s+)*(?:(?:public|private|protected|internal|static|async|override|final) )*(?:(?:void|Task|fun|func|def) )\s*` + "`?([\\w ]+)`?" + `\s*\(`), at, nil, pattern(slashes + "|" + triple + "|" + quotes), true, functionsOfJava},
		{[]string{".rb"}, pattern(`^\s*(?:(?:it|test|specify)\s*\(?\s*` + quoted + `|def (test\w*))`), nil, nil, pattern(hash + "|" + quotes), true, functionsOfRuby},
		{[]string{".php"}, pattern(`^\s*(?:public )?function (test\w*)\(`), nil, nil, pattern(slashes + "|" + quotes), true, functionsOfPHP},
		{[]string{".star", ".bzl"}, pattern(`^def (test\w*)\(`), nil, nil, pattern(hash + "|" + triple + "|" + quotes), true, functionsOfPython},
	}
}

// Cases lists the tests of a source file in their order, by the ending of its name. A file of
// another language is one case without a name.
//
// An assertion in a comment, in a text, behind a condition that is false as it is written (if
// False, if (0), while 1 > 2, x && false) or behind a return or skip of the test itself is none.
// What this cannot see, for it follows no values: a condition by a variable or the environment, a
// loop that never turns, a function that nothing calls, an exception that is caught, an assertion
// that holds of whatever is measured.
func Cases(name, text string) []Case {
	d, ok := dialectOf(name)
	if !ok {
		d = dialect{tokens: pattern(`(?m)(?:^|[ \t])#[^\n]*`)}
		return []Case{d.caseOf("", d.lines(text))}
	}
	var list []Case
	for _, p := range d.split(text) {
		list = append(list, d.caseOf(p.name, p.lines))
	}
	return list
}

// line is one of a source without comments, or several where a literal goes over more than one.
type line struct {
	text  string
	plain string // its literals are emptied, and there is no space around it
	depth int    // bytes that it is indented by, -1 where it is empty
}

func (d dialect) lines(text string) []line {
	text = strings.ReplaceAll(text, "\v", " ")
	text = d.tokens().ReplaceAllStringFunc(text, func(token string) string {
		if isComment(token) {
			return " "
		}
		return strings.ReplaceAll(token, "\n", "\v")
	})
	var list []line
	for _, t := range strings.Split(text, "\n") {
		rest := strings.TrimLeft(t, " \t\v")
		l := line{t, strings.TrimSpace(d.tokens().ReplaceAllStringFunc(rest, emptied)), len(t) - len(rest)}
		if l.plain == "" {
			l.depth = -1
		}
		list = append(list, l)
	}
	return list
}

func isComment(token string) bool {
	token = strings.TrimLeft(token, " \t")
	return token[0] == '#' || strings.HasPrefix(token, "//") || strings.HasPrefix(token, "/*")
}

// emptied is a literal without what it holds; what a regular expression stands behind is kept.
func emptied(token string) string {
	before, _, ok := strings.Cut(token, "/")
	if ok && (strings.HasPrefix(token, "return") || !strings.ContainsAny(token[:1], "\"'`r")) {
		return before + `""`
	}
	return `""`
}

// piece is a test of a text.
type piece struct {
	name  string
	lines []line
}

func (d dialect) split(text string) []piece {
	var list []piece
	lines := d.lines(text)
	name, from, margin, marks := "", -1, 0, -1
	end := func(i int) {
		if from >= 0 {
			list = append(list, piece{name, own(lines[from:i], margin)})
		}
		from = -1
	}
	for i, l := range lines {
		if l.depth < 0 {
			continue
		}
		marked := d.mark != nil && d.mark().MatchString(l.text)
		if m := d.begin().FindStringSubmatch(l.text); m != nil {
			head := i
			if marks >= 0 {
				head = marks
			}
			end(head)
			if d.test == nil || d.anyTest(lines[head:i]) {
				name, from, margin = first(m[1:]...), head, l.depth
			}
			marks = -1
			continue
		}
		switch {
		case marked && marks < 0:
			marks = i
		case !marked && l.depth <= lines[max(marks, 0)].depth:
			marks = -1
		}
		if d.indent && l.depth <= margin && !closes(l.plain) && from >= 0 {
			end(i)
		}
	}
	end(len(lines))
	return list
}

// own leaves out the lines at the end that close what is around a test that is indented by margin:
// a group or a class, whose last test would be another one when one is added behind it.
func own(lines []line, margin int) []line {
	for n := len(lines); n > 1; n-- {
		last := lines[n-1]
		closer := last.plain == "end" || strings.Trim(last.plain, "})];, ") == ""
		if last.depth >= margin || last.depth >= 0 && !closer {
			return lines[:n]
		}
	}
	return lines[:1]
}

func (d dialect) anyTest(marks []line) bool {
	return slices.ContainsFunc(marks, func(l line) bool { return d.test().MatchString(l.text) })
}

// closes tells of a line that belongs to the block before it.
func closes(plain string) bool {
	return strings.ContainsAny(plain[:1], "})]{") || strings.HasPrefix(plain, "end")
}

func (d dialect) caseOf(name string, lines []line) Case {
	c := Case{Name: name}
	var body strings.Builder
	for _, l := range lines {
		body.WriteString(l.text + "\n")
	}
	sum := sha256.Sum256([]byte(d.compact(body.String())))
	c.Digest = hex.EncodeToString(sum[:])[:16]
	c.Literals = d.literalsOf(lines)
	for _, l := range reached(lines) {
		c.Assertions += assertionsOf(l.plain)
	}
	return c
}

const (
	maxLiterals = 100
	maxLiteral  = 200 // bytes
)

// digits are a number that no letter stands before, such as that of a name.
var digits = pattern(`(?:^|[^\w.])(\d[\w.]*)`)

// quoted is a text of a language that is not known.
var quoted = pattern(quotes)

func (d dialect) literalsOf(lines []line) (found []string) {
	add := func(literal string) {
		if literal != "" && len(literal) <= maxLiteral && len(found) < maxLiterals && !slices.Contains(found, literal) {
			found = append(found, literal)
		}
	}
	tokens := d.tokens
	if d.endings == nil {
		tokens = quoted
	}
	for _, l := range lines {
		for _, token := range tokens().FindAllString(l.text, -1) {
			if !isComment(token) {
				add(unquoted(token))
			}
		}
		for _, m := range digits().FindAllStringSubmatch(l.plain, -1) {
			add(strings.TrimRight(m[1], "."))
		}
	}
	return found
}

// unquoted is what stands between the quotes of a literal.
func unquoted(token string) string {
	token = strings.TrimLeft(token, "r#")
	if len(token) < 2 || !strings.ContainsAny(token[:1], "\"'`") {
		return "" // a regular expression
	}
	quote := token[:1]
	if strings.HasPrefix(token, strings.Repeat(quote, 3)) {
		quote = token[:3]
	}
	text := strings.TrimRight(strings.TrimPrefix(token, quote), "#")
	return strings.ReplaceAll(strings.TrimSuffix(text, quote), "\v", "\n")
}

// compact is a text without space outside of its literals, without the comma behind the last of
// several things and without messages: neither how it is laid out nor how it is told says anything.
func (d dialect) compact(text string) string {
	inside := strings.NewReplacer(" ", "\x01", "\t", "\x02", "\v", "\x03", "(", "\x04", ")", "\x05", ",", "\x06")
	text = d.tokens().ReplaceAllStringFunc(text, inside.Replace)
	return withoutMessages(strings.ReplaceAll(strings.Join(strings.Fields(text), ""), ",)", ")"))
}

// withoutMessages leaves out the text that an assertion of Rust ends with, and what is put into it.
func withoutMessages(text string) string {
	var b strings.Builder
	for {
		at := rustAsserts().FindStringSubmatchIndex(text)
		if at == nil {
			b.WriteString(text)
			return b.String()
		}
		b.WriteString(text[:at[1]])
		text = text[at[1]:]
		wanted := 1
		if at[2] >= 0 {
			wanted = 2
		}
		arguments, whole := untilClosed(text)
		if kept := beforeMessage(arguments, wanted); whole && kept < len(arguments) {
			b.WriteString(arguments[:kept])
			text = text[len(arguments):]
		}
	}
}

// beforeMessage is how long the arguments are that are compared: a text behind them is the message.
// Where types are among them nothing tells their commas from others.
func beforeMessage(arguments string, wanted int) int {
	depth := 0
	for i, c := range arguments {
		switch c {
		case '(', '[', '{':
			depth++
		case ')', ']', '}':
			depth--
		case ',':
			if depth > 0 {
				continue
			}
			if wanted--; wanted == 0 && arguments[i+1:] != "" && arguments[i+1] == '"' && !strings.Contains(arguments[:i], "::<") {
				return i
			}
		}
	}
	return len(arguments)
}

var rustAsserts = pattern(`\bassert(_eq|_ne)?!\(`)

// Words that fail a test when something does not hold, and those that fail it where they are come
// to.
var (
	compares = pattern(`\b(?:(?:self\.)?assert\w*!?(?:\.\w+)*|expect\w*|require\.\w+|verify\w*|t\.(?:is|equal|deepEqual|same|ok|true|false|like|match)|ok|is_deeply|cmp_ok)\s*(\(|\s|$)`)
	fails    = pattern(`\b(?:t\.(?:Error|Errorf|Fatal|Fatalf|Fail|FailNow|throws)|self\.fail|pytest\.(?:raises|fail|warns)|raise|throw|panic!?|unreachable!|fail|exit [1-9]|cmp\.Diff)\b|\.should\b|\bshould\w*\b|#\[should_panic`)
	further  = pattern(`^(?:\.\w+)+\(`)
	literal  = pattern(`^(?:[-+]?[0-9][\w.]*|"[^"]*"|'[^']*'|true|false|True|False|None|null|nil|undefined|not False|not True|!false|!true)?$`)
)

// assertionsOf counts in a line what can fail its test.
func assertionsOf(line string) int {
	n := len(fails().FindAllStringIndex(line, -1))
	for _, at := range compares().FindAllStringSubmatchIndex(line, -1) {
		if !constant(line[at[0]:min(len(line), at[0]+maxCall)], line[at[2]:at[1]]) {
			n++
		}
	}
	return n
}

// constant tells whether an assertion is about literals only, such as assertTrue(True) or
// expect(1).toBe(1). Arguments on further lines are taken for something.
func constant(call, opens string) bool {
	if !strings.HasPrefix(opens, "(") {
		_, arguments, _ := strings.Cut(call, " ") // a statement: assert True
		return literals(arguments)
	}
	for parens := true; parens; {
		_, arguments, _ := strings.Cut(call, "(")
		inside, whole := untilClosed(arguments)
		if !whole || !literals(inside) {
			return false
		}
		call = arguments[len(inside)+1:]
		parens = further().MatchString(call)
	}
	return true
}

// literals tells whether there are only such among arguments, or what holds whatever is measured.
func literals(arguments string) bool {
	for _, a := range strings.FieldsFunc(arguments, func(r rune) bool { return r == ',' }) {
		if !literal().MatchString(strings.TrimSpace(a)) && !same(a) && !always(a) {
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

// maxCall is how many bytes of a call or a condition are looked at.
const maxCall = 4 << 10

// untilClosed is what stands before the parenthesis that closes the one before it.
func untilClosed(text string) (string, bool) {
	depth := 1
	for i := range min(len(text), maxCall) {
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
