package measure

import (
	"strconv"
	"strings"
)

var (
	ifs    = pattern(`^(?:\}\s*)?(?:else\s+)?(?:if|elif|elsif|while|for)\b\s*(.*)$`)
	leaves = pattern(
		`^(?:return(?:\s+(?:None|nil|null|undefined|true|false|True|False|Ok\(\(\)\)))?\s*;?$|` +
			`(?:return\s+)?(?:this|t|ctx|context)\.skip\(|\w+\.Skip(?:f|Now)?\(|` +
			`pytest\.skip\(|self\.skipTest\(|raise (?:unittest\.)?(?:case\.)?SkipTest\b)`)
	joints    = pattern(`^(?:[&|=!<>+\-*/%.,?)]|(?:and|or|is|in|not)\s)`)
	truths    = pattern(`^(?:true|True|1)$`)
	falsities = pattern(`^(?:false|False|FALSE|0|None|null|nil|undefined|"")$`)
	numbers   = pattern(`^([0-9]{1,9})\s*(===?|!==?|<=?|>=?)\s*([0-9]{1,9})$`)
)

// reached is what a test comes to: neither what a condition hides that never holds, nor what comes
// behind a statement of its own that leaves it. A statement belongs to the test itself where it is
// indented as the first of its lines is.
func reached(lines []line) []line {
	var list []line
	margin, body := -1, -1 // where the test begins, and how its own statements are indented
	off, braced := -1, false
	for _, l := range lines {
		if l.depth < 0 || off >= 0 && !resumes(l, off, braced) {
			braced = braced || strings.HasPrefix(l.plain, "{")
			continue
		}
		off = -1
		switch {
		case margin < 0:
			margin = l.depth
		case body < 0 && l.depth > margin:
			body = l.depth
		}
		if leaves().MatchString(l.plain) {
			if l.depth == body {
				off, braced = margin, false
			}
			continue
		}
		condition, behind, ok := conditionOf(l.plain)
		if !ok || !never(condition) {
			list = append(list, l)
			continue
		}
		if braced = strings.Count(behind, "{") > strings.Count(behind, "}"); braced || behind == "" {
			off = l.depth
		}
	}
	return list
}

// resumes tells whether a line stands behind the block that began at a depth.
func resumes(l line, off int, braced bool) bool {
	if braced {
		return l.depth <= off && strings.HasPrefix(l.plain, "}")
	}
	return l.depth <= off && !strings.HasPrefix(l.plain, "{")
}

// conditionOf takes the head of a block apart; behind is what comes on its line, without a colon.
func conditionOf(plain string) (condition, behind string, ok bool) {
	m := ifs().FindStringSubmatch(plain)
	if m == nil {
		return "", "", false
	}
	opened, parens := strings.CutPrefix(m[1], "(")
	if inside, whole := untilClosed(opened); whole && parens {
		behind = strings.TrimSpace(m[1][len(inside)+2:])
		if !joints().MatchString(behind) {
			return inside, strings.TrimSpace(strings.TrimPrefix(behind, ":")), true
		}
	}
	if at := strings.IndexAny(m[1], "{:"); at >= 0 {
		return m[1][:at], strings.TrimSpace(strings.TrimPrefix(m[1][at:], ":")), true
	}
	return m[1], "", true
}

// never tells whether a condition is false whatever is measured, always whether it is true.
func never(condition string) bool  { return settled(condition, false) }
func always(condition string) bool { return settled(condition, true) }

// settled tells whether one part decides. Where "and" and "or" are mixed it says no.
func settled(condition string, as bool) bool {
	condition = strings.NewReplacer(" and ", "&&", " or ", "||").Replace(strings.TrimSpace(condition))
	for range 3 {
		inside, whole := untilClosed(strings.TrimPrefix(condition, "("))
		if whole && len(inside)+2 == len(condition) {
			condition = strings.TrimSpace(inside)
		}
	}
	decides, other := "&&", "||"
	if as {
		decides, other = other, decides
	}
	found := false
	for _, part := range strings.Split(condition, decides) {
		if strings.Contains(part, other) || strings.Count(part, "(") != strings.Count(part, ")") {
			return false
		}
		value, known := valueOf(strings.TrimSpace(part))
		found = found || known && value == as
	}
	return found
}

// valueOf is what a literal, or a comparison of two numbers, is as a condition.
func valueOf(text string) (value, known bool) {
	negated := false
	for _, no := range []string{"!", "not "} {
		if rest, ok := strings.CutPrefix(text, no); ok {
			text, negated = strings.TrimSpace(rest), !negated
		}
	}
	switch m := numbers().FindStringSubmatch(text); {
	case truths().MatchString(text):
		return !negated, true
	case falsities().MatchString(text):
		return negated, true
	case m != nil && !negated:
		a, _ := strconv.Atoi(m[1])
		b, _ := strconv.Atoi(m[3])
		return compared(a, b, m[2]), true
	}
	return false, false
}

func compared(a, b int, op string) bool {
	switch op[0] {
	case '!':
		return a != b
	case '<':
		return a < b || a == b && len(op) > 1
	case '>':
		return a > b || a == b && len(op) > 1
	}
	return a == b
}
