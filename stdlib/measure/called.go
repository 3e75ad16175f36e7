package measure

import (
	"maps"
	"path"
	"slices"
	"strings"
)

// Called is what a test holds, and what it calls that can fail it.
type Called struct {
	Case
	Helped int // how often it names a function, of its file or of one beside it, that can fail it
}

// CasesWith lists the tests of a source file as Cases does, and counts the functions that they name
// and that can fail them: those of the file itself and of the texts beside it, in the same
// language, which assert something or name one that does. A function that is called as an assertion
// is (assertSum, expectSum, verifySum) counts as one only if it can fail.
func CasesWith(name, text string, beside []string) []Called {
	d, ok := dialectOf(name)
	if !ok || d.function == nil {
		return alone(Cases(name, text))
	}
	h := helpers{}
	for _, t := range append([]string{text}, beside...) {
		h.read(d, t)
	}
	h.spread()
	var list []Called
	for _, c := range d.split(text) {
		list = append(list, h.called(d, c.name, c.lines))
	}
	return list
}

func alone(cases []Case) []Called {
	var list []Called
	for _, c := range cases {
		list = append(list, Called{Case: c})
	}
	return list
}

// helpers are the functions of some texts by name, and whether they can fail who calls them. Of
// several with a name one that can is enough.
type helpers map[string]*helper

type helper struct {
	fails bool
	lines []line // what its bodies come to
}

// read finds the functions of a text. A body goes to where the indentation of its head comes again;
// what stands behind the head on its line belongs to it.
func (h helpers) read(d dialect, text string) {
	lines := d.lines(text)
	for i, l := range lines {
		m := d.function().FindStringSubmatchIndex(l.plain)
		if m == nil {
			continue
		}
		name, head := "", l
		for g := 2; g < len(m); g += 2 {
			if m[g] >= 0 {
				name = l.plain[m[g]:m[g+1]]
			}
		}
		if slices.Contains(keywords, name) {
			continue
		}
		head.plain = l.plain[m[1]:]
		body := append([]line{head}, reached(append([]line{{depth: l.depth}}, bodyOf(lines[i+1:], l.depth)...))...)
		if h[name] == nil {
			h[name] = &helper{}
		}
		h[name].lines = append(h[name].lines, body...)
	}
}

// keywords look like the head of a function in some languages.
var keywords = []string{"if", "for", "while", "switch", "catch", "return", "function", "new", "else"}

func bodyOf(lines []line, depth int) []line {
	for i, l := range lines {
		if l.depth >= 0 && l.depth <= depth && !strings.HasPrefix(l.plain, "{") {
			return lines[:i]
		}
	}
	return lines
}

// spread finds which functions can fail: who asserts, and then who names one that does.
func (h helpers) spread() {
	names := slices.Sorted(maps.Keys(h))
	for _, name := range names {
		h[name].fails = slices.ContainsFunc(h[name].lines, func(l line) bool {
			return assertionsOf(h.without(l.plain, isAssertion)) > 0
		})
	}
	for more := true; more; {
		more = false
		for _, name := range names {
			if f := h[name]; !f.fails && slices.ContainsFunc(f.lines, func(l line) bool { return h.named(l.plain, name) > 0 }) {
				f.fails, more = true, true
			}
		}
	}
}

// called counts what can fail a test.
func (h helpers) called(d dialect, name string, lines []line) Called {
	c := Called{Case: d.caseOf(name, lines)}
	c.Assertions = 0
	hollow := func(name string) bool { return isAssertion(name) && !h[name].fails }
	for i, l := range reached(lines) {
		plain := l.plain
		if i > 0 || !d.indent { // the head of a function of its own names nobody
			plain = d.function().ReplaceAllString(plain, "")
		}
		c.Assertions += assertionsOf(h.without(plain, hollow))
		c.Helped += h.named(plain, name)
	}
	return c
}

// isAssertion tells of a name that counts as an assertion wherever it is called.
func isAssertion(name string) bool {
	return assertive().MatchString(name)
}

var (
	assertive = pattern(`^(?:assert|expect|verify)`)
	uses      = pattern(`([\w$]+)(\s*[(,)])`)
)

// without is a line without the names of those functions of which that holds.
func (h helpers) without(plain string, of func(name string) bool) string {
	return uses().ReplaceAllStringFunc(plain, func(use string) string {
		if m := uses().FindStringSubmatch(use); h[m[1]] != nil && of(m[1]) {
			return m[2]
		}
		return use
	})
}

// named counts the functions that can fail and that a line calls or hands on, but for the one that
// it stands in and those that count as assertions.
func (h helpers) named(plain, in string) int {
	n := 0
	for _, m := range uses().FindAllStringSubmatch(plain, -1) {
		if f := h[m[1]]; f != nil && f.fails && m[1] != in && !isAssertion(m[1]) {
			n++
		}
	}
	return n
}

func dialectOf(name string) (dialect, bool) {
	all := dialects()
	i := slices.IndexFunc(all, func(d dialect) bool {
		return slices.Contains(d.endings, strings.ToLower(path.Ext(name)))
	})
	if i < 0 {
		return dialect{}, false
	}
	return all[i], true
}

// Where functions begin, by what stands on the line without space around it and with its literals
// emptied.
var (
	functionsOfGo     = pattern(`^func (?:\([^)]*\) )?(\w+)(?:\[[^\]]*\])?\(`)
	functionsOfPython = pattern(`^(?:async )?def (\w+)\(`)
	functionsOfJS     = pattern(`^(?:export )?(?:default )?(?:async )?function\s*\*?\s*([\w$]+)\s*\(` +
		`|^(?:export )?(?:const|let|var) ([\w$]+)\s*(?::[^=]+)?=\s*(?:async )?(?:function\b|\([^()]*\)[^=()]*=>|[\w$]+\s*=>)` +
		`|^(?:module\.)?exports\.([\w$]+)\s*=\s*(?:async )?(?:function\b|\([^()]*\)\s*=>|[\w$]+\s*=>)` +
		`|^([\w$]+):\s*(?:async )?(?:function\b|\([^()]*\)\s*=>)` +
		`|^(?:static )?(?:async )?([\w$]+)\s*\([^()]*\)[^=()]*\{`)
	functionsOfRust = pattern(`^(?:pub(?:\([^)]*\))? )?(?:async )?fn (\w+)[(<]`)
	functionsOfJava = pattern(`^(?:(?:public|private|protected|internal|static|async|override|final|suspend|fun|func|def) )+` +
		`(?:[\w<>\[\],.?]+ )?(\w+)\s*\(|^(?:void|boolean|int|long|String|Task) (\w+)\s*\([^;]*$`)
	functionsOfRuby = pattern(`^def (?:self\.)?(\w+)`)
	functionsOfPHP  = pattern(`^(?:(?:public|private|protected|static) )*function (\w+)\(`)
)
